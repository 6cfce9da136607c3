//! Asking an `epoll` instance which of its descriptors are readable.
//!
//! **Measures:** One call that does not wait: the entry into the kernel, a walk over the ready
//! list, and for each descriptor on it a poll of its file and the copy of an event. Descriptors
//! that are not ready cost nothing, however many there are; that is the purpose of `epoll`.
//!
//! **Does not measure:** Waiting, waking, or building the set (`ready.epoll_ctl`).
//!
//! **Method:** Many calls in one short interval, with a time-out of zero and room for all events;
//! each must report as many descriptors as are ready. The set is level-triggered, so what is ready
//! stays on the list. All descriptors are made for the benchmark. The call is `epoll_pwait` without
//! a mask, which every architecture has. The proofs are the same loop in a child cut off from the
//! kernel, and the events of the last call, checked one by one.
//!
//! **Calls:**
//! - `count=4 ready=last`: `epoll_`, not `poll(`
//!
//! **Pitfalls:**
//! - Duplicates of one descriptor share one wait queue (lmbench).
//! - The limit of descriptors is raised as far as possible; more than that is `denied`.
//! - `first` and `last` differ only in which descriptor is on the list.
//!
//! **Sources:** Those of `ready.select`, one generation later. See
//! docs/methods/operating-system.md#readiness.

use groma_harness::prelude::*;
use groma_harness::sys::ready::Epoll;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "System call: epoll_wait, without waiting, by number",
        about: about!("epoll.rs"),
        iteration: "one epoll_wait",
        params: &[
            super::COUNT.quick(&["100"]).full(&["1", "10", "500", "1000", "10000"]),
            super::KIND,
            super::READY.quick(&["first"]),
        ],
        scaling: super::PROCESSES,
        ..Info::new("ready.epoll")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    super::measure(ctx, |fds| Epoll::over(fds).context("making an epoll"))
}
