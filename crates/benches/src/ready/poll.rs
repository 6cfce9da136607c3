//! Asking with `poll` which of some descriptors are readable.
//!
//! **Measures:** One call that does not wait: the entry into the kernel, 8 bytes copied in for each
//! descriptor, a poll of each file, and each answer copied out.
//!
//! **Does not measure:** Waiting or waking.
//!
//! **Method:** Many calls in one short interval with a time-out of zero; each must report as many
//! descriptors as are ready. All descriptors are made for the benchmark. The call is `ppoll`
//! without a mask, which every architecture has. The proofs are the same loop in a child cut off
//! from the kernel, and the answers of the last call, checked one by one.
//!
//! **Calls:**
//! - `count=4 ready=last`: `poll(`, not `select`
//!
//! **Pitfalls:**
//! - Duplicates of one descriptor share one wait queue (lmbench).
//! - An empty pipe without a writer is at its end, which counts as ready.
//! - The limit of descriptors is raised as far as possible; more than that is `denied`.
//!
//! **Sources:** Those of `ready.select`; libMicro `poll`; will-it-scale `poll1` and `poll2`. See
//! docs/methods/operating-system.md#readiness.

use groma_harness::prelude::*;
use groma_harness::sys::ready::Poll;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "System call: poll over some descriptors, without waiting",
        about: about!("poll.rs"),
        iteration: "one poll",
        params: &[
            super::COUNT.quick(&["100"]).full(&["1", "10", "500", "1000", "10000"]),
            super::KIND,
            super::READY.quick(&["none"]),
        ],
        scaling: super::PROCESSES,
        ..Info::new("ready.poll")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    super::measure(ctx, |fds| Ok(Poll::over(fds)))
}
