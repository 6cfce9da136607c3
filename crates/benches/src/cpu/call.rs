//! Calling a function with 0 to 7 arguments, and returning from it.
//!
//! Measures a direct call of a function that is not inlined and only returns, with its arguments put where the system's
//! convention wants them (registers, the seventh on the stack on x86-64). The callee does not use them, and nothing waits
//! for it: this is what calls cost a program that has other work to do, the time until the next can start. Not an
//! indirect call, and no prologue or saved registers.
//!
//! Method: two loops in assembly, one with 64 calls a turn and one with 16; the difference of their turns divided by 48
//! is one call, and the loop itself falls out. The raw value is the turn of 64.
//!
//! Traps: a compiler inlines the callee, or moves constant arguments out of the loop; timing one call with two reads of
//! the clock reports the clock (CSE 221: 25 to 32 cycles, where this gives 4.2 to 4.7). Below a cycle the number of
//! arguments matters less than where the calls happen to lie: 0 arguments are no cheaper here than 7.
//!
//! Source: CSE 221 "procedure call".

use crate::work::Done;
use groma_harness::prelude::*;
use groma_harness::sys::arch::{CALLS_LONG, CALLS_MAX_ARGS, CALLS_SHORT, calls};

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
        params: &[Param::count("args", "integer arguments, 0 to 7")
            .quick(&["0", "7"])
            .standard(&["1", "2", "3", "4", "5", "6"])],
        lineage: &["cse221:procedure_call"],
        target_half_width: 0.02,
        ..Info::new("cpu.call")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let args = ctx.int("args");
    if args > CALLS_MAX_ARGS as u64 {
        return Err(BenchError::Unsupported(format!("calls have at most {CALLS_MAX_ARGS} arguments here, not {args}")));
    }
    let (long, short) = (calls(args as usize, false), calls(args as usize, true));
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
    // What the loops were told: empty functions leave nothing to be counted. That they make so many
    // calls is tested beside them.
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
}
