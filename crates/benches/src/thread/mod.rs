//! Threads: creating and joining them.

use groma_harness::model::Family;
use groma_harness::model::family::{Figure, Say, first};
use groma_harness::{BenchError, Benchmark};
use std::io;

mod create_join;
mod create_many;

pub(crate) static ABOUT: Family = Family {
    name: "thread",
    summary: "Creating threads",
    says: Say::Text(
        "creating a thread and waiting for its end costs {}",
        &[Figure::Value(first("thread.create_join"))],
    ),
    rows: &[],
};

pub(crate) const ALL: &[&Benchmark] = listed!("thread");

/// Stack size of a thread, in bytes.
const STACK: usize = 64 << 10;

/// The error for a thread that could not be created. A limit on tasks is a refusal by the system
/// and not a failure of groma.
fn no_thread(what: &str, error: &io::Error) -> BenchError {
    match error.kind() {
        // EAGAIN, from the kernel, or from libc where the kernel said ENOMEM.
        io::ErrorKind::WouldBlock => BenchError::Denied(format!("{what}: {error} (a limit on tasks or memory)")),
        _ => BenchError::from_io(what, error),
    }
}
