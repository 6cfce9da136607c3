//! io_uring overhead by the mode of the rings: who does the work of an operation, and when.
//!
//! **Measures:** An operation that does nothing, as `uring.nop`, through rings of another mode:
//! - `deferred`: one thread submits, and the kernel works for it only when it waits
//!   (`IORING_SETUP_DEFER_TASKRUN`, Linux 6.1).
//! - `polled`: a thread of the kernel looks at the ring all the time, and no system call is made
//!   (`IORING_SETUP_SQPOLL`). That thread takes a CPU; the value is what the submitter waits.
//! - `linked`: rings as they are by default, and each operation of a batch begins when the one
//!   before has ended (`IOSQE_IO_LINK`).
//!
//! **Does not measure:** What the polling thread costs while nothing is submitted.
//!
//! **Method:** That of `uring.nop`. Where the kernel polls, the submitter spins until the
//! completions of its batch are there.
//!
//! **Proofs:** Each completion carries the next number. With `polled` hardly any system call was
//! made, else every batch made one.
//!
//! **Pitfalls:** The polling thread gets another CPU of the run. On the submitter's own, which is
//! what a pinned thread gets without asking, a batch took 8 ms: each waits for the scheduler. The
//! thread sleeps after a second without work, and waking it takes a call.
//!
//! **Sources:** The kernel's documentation of `io_uring_setup`. See
//! docs/methods/operating-system.md#io_uring.

use super::BATCH;
use super::nop::measure;
use crate::cpu::cpus_of_the_run;
use groma_harness::prelude::*;
use groma_harness::sys::counters::current_cpu;
use groma_harness::sys::uring::Mode;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "io_uring: an operation that does nothing, by the mode of the rings",
        about: about!("nop_mode.rs"),
        iteration: "one batch, submitted and taken; the value is of one operation",
        params: &[
            BATCH,
            Param::word("mode", "who does the work, and when", &["deferred", "polled", "linked"])
                .quick(&["deferred"])
                .full(&["polled", "linked"]),
        ],
        tier: Tier::Standard,
        ..Info::new("uring.nop_mode")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    match ctx.word("mode") {
        "deferred" => return measure(ctx, Mode::Deferred, false),
        "linked" => return measure(ctx, Mode::Default, true),
        _ => {}
    }
    let own = current_cpu();
    let other = cpus_of_the_run()?.into_iter().find(|cpu| *cpu != own);
    let Some(other) = other else {
        return Err(BenchError::Unsupported("the polling thread takes a second CPU".to_owned()));
    };
    ctx.fact("uring.polling_cpu", other);
    measure(ctx, Mode::Polled(other), false)
}
