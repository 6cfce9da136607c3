//! Loop overhead: one turn of the emptiest counted loop.
//!
//! **Measures:** Counting down and jumping back, and nothing else: what the loop around an
//! operation adds to it.
//!
//! **Does not measure:** The overhead of reading the clock (`clock.read`), which is a separate part
//! of every interval.
//!
//! **Method:** The kind of loop that the benchmarks use, compiled like them, around an empty body
//! that the compiler must keep. The harness never subtracts this overhead. Where it matters (an
//! operation of a few cycles), the operation is repeated within the loop, or the loop runs beside
//! it as a control.
//!
//! **Pitfalls:**
//! - A compiler removes an empty loop or merges turns. Time then does not grow with the number of
//!   turns, or a turn takes a fraction of a cycle.
//! - Some cores run two turns of such a small loop in one cycle. The loop then costs half a cycle
//!   alone, and nothing beside real work.
//!
//! **Sources:** CSE 221 "measurement overhead" (the loop); lmbench3 `loop_o`. See
//! docs/methods/processor.md#loop-cost.

use crate::work::Done;
use groma_harness::prelude::*;
use std::hint::black_box;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "One turn of the emptiest counted loop",
        about: about!("loop.rs"),
        iteration: "one turn",
        timing: Timing::Floor,
        ..Info::new("clock.loop")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let done = Done::new();
    ctx.measure(|iters| {
        done.add(turns(iters));
        Ok(())
    })?;
    done.prove(ctx, "turns of the loop, per turn credited");
    Ok(())
}

/// Not inlined: its code must not depend on its caller.
#[inline(never)]
fn turns(n: u64) -> u64 {
    for _ in 0..n {
        // Opaque to the compiler, and no instruction.
        black_box(());
    }
    n
}
