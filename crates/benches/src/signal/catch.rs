//! Sending a signal to oneself and catching it: `tgkill`, the handler, and the return from it.
//!
//! **Measures:** An unblocked signal that a thread sends to itself is delivered before the call
//! returns, so one iteration is the call, the frame put on the stack, a handler that counts, and
//! `rt_sigreturn`. The main value is all of it. `.check` is the same call with signal 0, which does
//! everything but send. `.net` is their difference, which is what lmbench prints; there it comes
//! from two runs and is dropped when it is not above zero.
//!
//! **Does not measure:** A signal from another process or CPU, which has to wake or interrupt its
//! target (`signal.rtt`), or one that is taken from a queue without a handler.
//!
//! **Method:** Many signals in one short interval. The two loops take turns within a round, so
//! their difference is paired. The proof is that the handler has counted exactly the signals that
//! were sent.
//!
//! **Pitfalls:**
//! - libc's `raise` is several system calls.
//! - A signal that is already pending is not delivered twice, so signals sent faster than they are
//!   handled would look cheap.
//! - The frame holds the vector registers and grows with them. The largest frame of this CPU is a
//!   fact.
//!
//! **Sources:** lmbench 1996 table 8; lmbench3 `lat_sig catch` (there `kill` of the own process).
//! See docs/methods/operating-system.md#signals.

use super::PROCESSES;
use crate::parts::{self, Composition, Part, Shown, Times};
use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::signals::{self, Target, USER_1};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Sending oneself a signal and catching it",
        about: about!("catch.rs"),
        iteration: "one tgkill, one run of the handler, one rt_sigreturn",
        outputs: &[
            Output::MAIN.series("signal"),
            Output::named("check", "the same call with signal 0: no delivery").detail(),
            Output::named("net", "delivery alone: the main value less that of signal 0").difference("signal", "check"),
        ],
        scaling: PROCESSES,
        composed_of: COMPOSED_OF,
        target_half_width: 0.02,
        ..Info::new("signal.catch")
    },
    run: Run::Here(run),
};

const COMPOSED_OF: &[Composition] = &[Composition {
    of: Shown::of("signal.catch", &[]),
    hardware: &[FRAME],
    parts: &[
        Part::of(1.0, "the call, which sends nothing", Shown::of("signal.catch.check", &[])),
        Part::of(1.0, "rt_sigreturn, as the cheapest call", parts::CALL),
        FRAME,
    ],
    rest: "the signal queued, the state of the vector unit saved and restored, the handler entered",
}];

/// The frame on the stack: written, and read back.
const FRAME: Part = Part::of(0.0, "bytes of the frame, written and read back", parts::COPY)
    .times(Times::Fact(2.0, "signal.largest_frame"));

fn run(ctx: &mut Ctx) -> Outcome {
    signals::count_arrivals(USER_1).context("installing the handler")?;
    if let Some(bytes) = signals::largest_frame() {
        ctx.fact("signal.largest_frame", bytes);
    }
    let me = Target::own();
    let caught_before = signals::caught();
    let (mut errors, mut checked) = (0, 0u64);
    let outcome = ctx.measure_variants(&mut [
        Variant::new("signal", |iters| {
            for _ in 0..iters {
                errors |= me.send(USER_1);
            }
            Ok(())
        }),
        Variant::new("check", |iters| {
            for _ in 0..iters {
                checked += u64::from(me.send(0) == 0);
            }
            Ok(())
        }),
    ]);
    signals::restore_default(USER_1);
    outcome?;
    if errors != 0 {
        return Err(BenchError::Failed("tgkill refused to send a signal to its own thread".to_owned()));
    }
    let caught = signals::caught() - caught_before;
    work::once_each(ctx, "signals caught per signal credited", caught, ctx.iterations_of("signal"));
    work::once_each(ctx, "checks answered per check credited", checked, ctx.iterations_of("check"));
    Ok(())
}
