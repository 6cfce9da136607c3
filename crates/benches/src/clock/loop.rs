//! What a loop costs: one turn of the emptiest counted loop.
//!
//! Measures counting down and jumping back, and nothing else: what the loop around an operation adds to it. The harness
//! takes nothing off for it anywhere: where it matters (an operation of a few cycles), the operation is repeated within
//! the loop, or the loop is a control beside it.
//!
//! Method: the very kind of loop that the benchmarks are written with, compiled as they are, around a body that is empty
//! but may not be left out.
//!
//! Traps: a compiler removes an empty loop, or does several turns at once (time then does not grow with the turns, or the
//! turn comes out at a fraction of a cycle); some cores do two turns of so small a loop a cycle, so that beside real work
//! it costs nothing and alone it costs half a cycle.
//!
//! Source: CSE 221 "measurement overhead" (the loop), lmbench3 `loop_o`.

use crate::work::Done;
use groma_harness::prelude::*;
use std::hint::black_box;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "One turn of the emptiest counted loop",
        about: about!("loop.rs"),
        iteration: "one turn",
        timing: Timing::Floor,
        lineage: &["cse221:measurement_overhead", "lmbench3:loop_o"],
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

/// Not inlined: its code must not depend on what stands around it.
#[inline(never)]
fn turns(n: u64) -> u64 {
    for _ in 0..n {
        // Nothing that the compiler can see through, and no instruction.
        black_box(());
    }
    n
}
