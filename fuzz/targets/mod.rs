//! The fuzz targets: functions that take arbitrary bytes and panic when a property of a parser does
//! not hold.
//!
//! Shared by the fuzz crate, where libFuzzer chooses the bytes, and by
//! `crates/groma/tests/corpus.rs`, which replays the corpus on stable.
//!
//! Properties, besides "no panic":
//!
//! - Accepted input can be written again and reads back as the same value.
//! - Accepted input is well-formed by a second, independent definition (exact decimals, glob by
//!   dynamic programming, ...).
//! - No allocation and no loop is proportional to a *number* in the input; libFuzzer's limits on a
//!   single allocation, on memory and on time check that (`fuzz/run`).

mod command_line;
mod machine;
mod protocol;
mod scratch;
mod store;

pub use command_line::{arguments, counts, dd, numbers, select};
pub use machine::{facts, topology};
pub use protocol::{handshake, http, rpc, worker_job, worker_result};
pub use store::{baseline, lmbench, records, store, stream, views};

/// A target: panics when a property does not hold for these bytes.
pub type Target = fn(&[u8]);

/// All targets by name, which is also the name of the binary and the corpus.
pub const ALL: [(&str, Target); 18] = [
    ("worker_job", worker_job),
    ("worker_result", worker_result),
    ("handshake", handshake),
    ("rpc", rpc),
    ("http", http),
    ("numbers", numbers),
    ("arguments", arguments),
    ("dd", dd),
    ("select", select),
    ("counts", counts),
    ("records", records),
    ("store", store),
    ("stream", stream),
    ("baseline", baseline),
    ("lmbench", lmbench),
    ("views", views),
    ("facts", facts),
    ("topology", topology),
];
