//! Asking with `poll` which of some descriptors can be read.
//!
//! Measures one call that does not wait: the entry into the kernel, the copying in of 8 bytes for each descriptor, the
//! question to each file, and the copying out of each answer. Does not measure waiting, nor waking.
//!
//! Method: many calls in one short interval with a timeout of zero; each has to find as many ready as there are. The things
//! asked about are all made for it. The call is `ppoll` without a mask, which every architecture has. Proofs: the same loop in
//! a child cut off from the kernel, and the answers that came back, one by one.
//!
//! Traps: copies of one descriptor share one queue of waiters (lmbench); an empty pipe without a writer is at its end, and
//! that is ready, too; a limit of descriptors that is raised as far as it goes, and `denied` beyond.
//!
//! Source: as `ready.select`; libMicro `poll`, will-it-scale `poll1` and `poll2`.

use groma_harness::prelude::*;
use groma_harness::sys::ready::Poll;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "System call: poll over some descriptors, without waiting, by number",
        about: about!("poll.rs"),
        iteration: "one poll",
        params: &[
            super::COUNT.quick(&["100"]).full(&["1", "10", "500", "1000", "10000"]),
            super::KIND,
            super::READY.quick(&["none"]),
        ],
        scaling: super::PROCESSES,
        lineage: &["libmicro:poll", "wis:poll1", "wis:poll2"],
        ..Info::new("ready.poll")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    super::measure(ctx, |fds| Ok(Poll::over(fds)))
}
