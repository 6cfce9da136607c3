//! One message there and back between two processes over two pipes.
//!
//! Measures the whole round trip: a write and a read on each side, two wake-ups, and where both sides share a CPU two
//! context switches. Does not measure bandwidth, and never prints half of itself as "one way".
//!
//! Method: each round trip is timed alone (it costs 2 us and more), so that the median is that of undisturbed trips and
//! the tail is seen. The placement of the two sides is part of the result: the same pipe takes several times as long
//! between two CPUs as on one, and a benchmark that leaves it to the scheduler reports a mixture. The proof counts
//! context switches on both sides, the answers of the other side, and its exit code (`trip.rs`).
//!
//! Traps: scheduler placement (lmbench `lat_pipe` 8 against 92 us on one machine); helpers that survive their parent
//! (the other side ends at the end of its pipe, and dies with its parent).
//!
//! Source: lmbench 1996 table 11, lmbench3 `lat_pipe`, Ousterhout 1990 table 3 (`cswitch`: one byte through two pipes).

use super::ends::{Stream, message};
use super::{ONE_PROCESS_EACH, sizes, trip};
use groma_harness::prelude::*;
use groma_harness::sys::io::pipe;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Round trip of a message between two processes over two pipes",
        about: about!("pipe_rtt.rs"),
        iteration: "one round trip: a write and a read on each side",
        timing: Timing::Each,
        params: &[sizes(&["1", "64", "1K", "16K", "64K"])],
        scaling: ONE_PROCESS_EACH,
        placements: &Placement::TWO_SIDED,
        lineage: &["lmbench1996:table11", "lmbench3:lat_pipe", "ousterhout1990:table3", "perf_bench:sched pipe"],
        interference: Interference::Blocking,
        target_half_width: 0.02,
        // 2: the other side reads a message with one call instead of two.
        version: 2,
        ..Info::new("ipc.pipe_rtt")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let pipes = (pipe().context("making a pipe")?, pipe().context("making a pipe")?);
    let (mut here, there) = Stream::ends(pipes.0, pipes.1, message(ctx)?);
    trip::measure(ctx, &mut here, || Ok(there))
}
