//! A garbage collector's write barrier: a closed page, a refused write, a handler that reopens it.
//!
//! **Measures:** `mprotect` to read-only, the refused write, the signal, `mprotect` back in the
//! handler, and the write. The main value is all of it. `.protect` is the same without the refusal:
//! closing, opening, writing. `.net` is their difference: the refusal, its delivery, and what
//! follows from it.
//!
//! **Does not measure:** Barriers without the kernel, by which most collectors mark a card or
//! compare a pointer in user code, or many pages closed by one call (`vm.protect`).
//!
//! **Method:** Many turns in one short interval. The two loops take turns within a round, so their
//! difference is paired and never clamped. The proof is one refused write for each turn of the
//! first loop, and none in the second.
//!
//! **Pitfalls:**
//! - A page that was never written is not present, and its first write is a fault of another kind
//!   (`vm.fault`), so the page is touched beforehand.
//! - With more than one thread, `mprotect` has to interrupt the other CPUs. Here there is one page
//!   and one thread.
//!
//! **Sources:** Appel and Li 1991 ("prot1", "trap", "unprot" for one page). See
//! docs/methods/operating-system.md#refused-accesses.

use super::PROCESSES;
use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::trap::{Refused, Trap};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Write barrier: protect a page, fault, open it in the handler",
        about: about!("write_barrier.rs"),
        iteration: "two mprotect, one refused write, one signal, one write",
        outputs: &[
            Output::MAIN.series("barrier"),
            Output::named("protect", "the same without being refused: two mprotect and a write").detail(),
            Output::named("net", "the refusal and its delivery: the main value less that without")
                .difference("barrier", "protect"),
        ],
        scaling: PROCESSES,
        interference: Interference::Faults,
        target_half_width: 0.02,
        tier: Tier::Standard,
        ..Info::new("signal.write_barrier")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let trap = Trap::new(Refused::Write, false).context("setting the trap")?;
    let before = trap.taken();
    let mut opened = 0;
    ctx.measure_variants(&mut [
        Variant::new("barrier", |iters| {
            for _ in 0..iters {
                trap.close().context("closing the page")?;
                trap.touch(1);
            }
            Ok(())
        }),
        Variant::new("protect", |iters| {
            for _ in 0..iters {
                trap.close().context("closing the page")?;
                opened += u64::from(trap.open());
                trap.touch_open();
            }
            Ok(())
        }),
    ])?;
    let refused = trap.taken() - before;
    work::once_each(ctx, "writes refused per turn of the barrier", refused, ctx.iterations_of("barrier"));
    work::once_each(ctx, "pages opened per turn of the control", opened, ctx.iterations_of("protect"));
    Ok(())
}
