//! Asking an `epoll` which of its descriptors can be read.
//!
//! Measures one call that does not wait: the entry into the kernel, a look at the list of those that are ready, and for each
//! of them the question to its file and the copying out of an answer. Those that are not ready cost nothing, however many
//! there are: that is what it is for. Does not measure waiting, waking, nor the making of the set (`ready.epoll_ctl`).
//!
//! Method: many calls in one short interval with a timeout of zero and room for all; each has to find as many ready as there
//! are. Level-triggered: what is ready stays on the list. The things asked about are all made for it. The call is
//! `epoll_pwait` without a mask, which every architecture has. Proofs: the same loop in a child cut off from the kernel, and
//! the answers that came back, one by one.
//!
//! Traps: copies of one descriptor share one queue of waiters (lmbench); a limit of descriptors that is raised as far as it
//! goes, and `denied` beyond. `first` and `last` differ only in which one is on the list.
//!
//! Source: as `ready.select`, one generation later; os-methods 2.12.

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
