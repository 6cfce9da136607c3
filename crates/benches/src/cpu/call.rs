//! Calling a function with 0 to 7 arguments, and returning from it.
//!
//! **Measures:** A direct call of a function that is not inlined and returns at once. Its arguments
//! are placed where the calling convention wants them (registers; the seventh on the stack on
//! x86-64). Nothing waits for the callee, so this is the time until the next call can start: the
//! cost of a call in a program that has other work to do. The callee is one of two:
//! - `leaf` only returns, as an optimised function does.
//! - `frame` sets up a stack frame, stores its arguments there, and removes the frame: what a
//!   compiler makes of an empty function without optimisation, as CSE 221 times it. Each call loads
//!   what the last one stored.
//!
//! **Does not measure:** Indirect calls, or callees that save registers.
//!
//! **Method:** Two assembly loops, one with 64 calls a turn and one with 16. The difference of
//! their turns divided by 48 is one call, and the loop itself drops out. The raw value is the turn
//! of 64.
//!
//! **Pitfalls:**
//! - A compiler inlines the callee, or moves constant arguments out of the loop.
//! - Timing one call with two clock reads reports the clock (CSE 221: 25 to 32 cycles, where this
//!   benchmark gives 4.2 to 4.7).
//! - Below a cycle, the position of the calls in memory matters more than the number of arguments:
//!   0 arguments are no cheaper here than 7.
//!
//! **Sources:** CSE 221 "procedure call". See docs/methods/processor.md#calls.

use crate::work::Done;
use groma_harness::prelude::*;
use groma_harness::sys::arch::{CALLS_LONG, CALLS_MAX_ARGS, CALLS_SHORT, Callee, calls};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Call of a function and return from it, by number of arguments",
        about: about!("call.rs"),
        iteration: "one turn of 64 calls, and one of 16 beside it",
        timing: Timing::Floor,
        outputs: &[
            Output::MAIN.difference_per("long", "short", (CALLS_LONG - CALLS_SHORT) as f64),
            Output::named("long", "One turn of a loop of 64 calls, loop included").detail(),
        ],
        params: &[
            Param::count("args", "integer arguments, 0 to 7")
                .quick(&["0", "7"])
                .standard(&["1", "2", "3", "4", "5", "6"]),
            Param::word("callee", "a function that only returns, or one with a stack frame", &["leaf", "frame"])
                .quick(&["leaf"])
                .full(&["frame"]),
        ],
        target_half_width: 0.02,
        ..Info::new("cpu.call")
    },
    run: Run::Here(run),
};

/// The function that the parameter names.
fn callee(word: &str) -> Callee {
    if word == "frame" { Callee::Frame } else { Callee::Leaf }
}

/// The loops that call it with so many arguments: the long one, and the short one.
fn loops(args: usize, callee: Callee) -> [fn(u64); 2] {
    [calls(args, callee, false), calls(args, callee, true)]
}

fn run(ctx: &mut Ctx) -> Outcome {
    let args = ctx.int("args");
    if args > CALLS_MAX_ARGS as u64 {
        return Err(BenchError::Unsupported(format!("calls have at most {CALLS_MAX_ARGS} arguments here, not {args}")));
    }
    let [long, short] = loops(args as usize, callee(ctx.word("callee")));
    let (in_long, in_short) = (Done::new(), Done::new());
    ctx.measure_variants(&mut [
        Variant::new("long", |iters| {
            long(iters);
            in_long.add(iters);
            Ok(())
        }),
        Variant::new("short", |iters| {
            short(iters);
            in_short.add(iters);
            Ok(())
        }),
    ])?;
    // The numbers passed to the loops: empty functions leave nothing to count. The kernels' own
    // tests check the number of calls.
    in_long.prove_of(ctx, "long", "turns of the long loop, per turn credited");
    in_short.prove_of(ctx, "short", "turns of the short loop, per turn credited");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn eight_arguments_are_refused() {
        let refused = try_out(&BENCH, &[("args", "8")], None).expect_err("no kernel for it");
        assert!(matches!(refused, BenchError::Unsupported(_)), "{refused}");
    }

    #[test]
    fn the_function_called_is_the_one_that_is_named() {
        assert!(matches!(callee("frame"), Callee::Frame));
        assert!(matches!(callee("leaf"), Callee::Leaf));
    }

    /// The long loop makes four times as many calls.
    #[test]
    fn the_long_loop_takes_longer_than_the_short_one() {
        for callee in ["leaf", "frame"] {
            groma_harness::testing::assert_exceeds(1.5, || {
                let tried = try_out(&BENCH, &[("args", "2"), ("callee", callee)], None).expect("calls");
                tried.least_ns("long") / tried.least_ns("short")
            });
        }
    }

    /// Proofs count turns, whatever is called.
    #[test]
    fn every_number_of_arguments_has_loops_of_its_own() {
        let mut all = loops(0, Callee::Leaf).map(|run| run as *const ()).to_vec();
        for args in 1..=CALLS_MAX_ARGS {
            for callee in [Callee::Leaf, Callee::Frame] {
                all.extend(loops(args, callee).map(|run| run as *const ()));
            }
        }
        let many = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), many);
    }
}
