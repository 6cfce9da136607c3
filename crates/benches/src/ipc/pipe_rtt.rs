//! Round trip of one message between two processes over two pipes.
//!
//! **Measures:** The whole round trip: a write and a read on each side, two wake-ups, and two
//! context switches where both sides share a CPU.
//!
//! **Does not measure:** Bandwidth, or one-way latency: half of a round trip is never reported as
//! "one way".
//!
//! **Method:** Each round trip is timed alone, since it takes 2 us and more: the median is then
//! that of undisturbed trips, and the tail is visible. The placement of the two sides is part of
//! the result. The same pipe takes several times as long between two CPUs as on one, and a
//! benchmark that leaves placement to the scheduler reports a mixture. The proofs count context
//! switches on both sides and check the peer's answers and its exit code (`trip.rs`).
//!
//! **Pitfalls:**
//! - The scheduler's placement dominates: lmbench `lat_pipe` gave 8 us and 92 us on one machine
//!   (2-vCPU KVM guest, AMD EPYC (Zen 4), Linux 6.18).
//! - Helper processes can outlive their parent. Here the peer ends at the end of its pipe, and dies
//!   with its parent.
//!
//! **Sources:** lmbench 1996 table 11; lmbench3 `lat_pipe`; Ousterhout 1990 table 3 (`cswitch`: one
//! byte through two pipes). See docs/methods/operating-system.md#round-trips.

use super::ends::{Stream, message};
use super::{ONE_PROCESS_EACH, sizes, trip};
use crate::parts::{self, Composition, On, Shown};
use crate::work::FIRST_TRIPS;
use groma_harness::prelude::*;
use groma_harness::sys::io::pipe;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Round trip of a message between two processes over two pipes",
        about: about!("pipe_rtt.rs"),
        iteration: "one round trip: a write and a read on each side",
        timing: Timing::Each,
        outputs: &[Output::MAIN, FIRST_TRIPS],
        params: &[sizes(&["1", "64", "1K", "16K", "64K"])],
        scaling: ONE_PROCESS_EACH,
        placements: &Placement::TWO_SIDED,
        composed_of: COMPOSED_OF,
        interference: Interference::Blocking,
        target_half_width: 0.02,
        // 2: the peer reads a message with one call instead of two.
        version: 2,
        ..Info::new("ipc.pipe_rtt")
    },
    run: Run::Here(run),
};

const COMPOSED_OF: &[Composition] = &[
    Composition {
        of: Shown::of("ipc.pipe_rtt", &[("size", "1")]),
        hardware: &[],
        parts: &[parts::WRITES, parts::READS, parts::SWITCHES, parts::SLEEPS, parts::ADDRESS_SPACES],
        rest: "the pipe: its lock, its buffer, finding out that the other side waits",
    },
    Composition {
        of: Shown::of("ipc.pipe_rtt", &[("size", "1")]).on(On::Two),
        hardware: parts::LINES,
        parts: &[parts::WRITES, parts::READS, parts::WAKE_UPS_FAR],
        rest: "the pipe; below zero where CPUs idle less deeply between trips than between single wake-ups",
    },
];

fn run(ctx: &mut Ctx) -> Outcome {
    let pipes = (pipe().context("making a pipe")?, pipe().context("making a pipe")?);
    let (mut here, there) = Stream::ends(pipes.0, pipes.1, message(ctx)?);
    trip::measure(ctx, &mut here, || Ok(there))
}
