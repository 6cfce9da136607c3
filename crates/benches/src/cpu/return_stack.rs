//! Nested calls by their depth: how many return addresses the core remembers.
//!
//! **Measures:** The time of a call with its return, where `depth` functions call each other in a
//! row and then all return. A core predicts returns by a small stack of its own. Up to its size a
//! call and its return cost a few cycles; beyond, the oldest addresses are overwritten, and those
//! returns are mispredicted.
//!
//! **Does not measure:** A single call (`cpu.call`), or recursion, where all return to one place
//! and may be predicted as jumps.
//!
//! **Method:** The code is written at run time: each function counts, calls the next, and returns;
//! a loop calls the first. No two functions are the same, so each return has an address of its own.
//! A chain of dependent additions, one a cycle, runs in turn with it.
//!
//! **Proofs:** The functions count: as many calls as turns times the depth.
//!
//! **Pitfalls:**
//! - Some cores predict a return beyond their stack as an indirect jump, which is right here, where
//!   each function has one caller: then the step is small or missing.
//! - Mitigations against speculation in a hypervisor fill that stack at each exit, which is rare
//!   beside these loops.
//! - A busy sibling thread has half of the stack.
//!
//! **Sources:** Fog, "The microarchitecture of Intel, AMD and VIA CPUs". See
//! docs/methods/processor.md#code.

use groma_harness::prelude::*;
use groma_harness::sys::code::Code;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "A call with its return, by how deeply calls are nested",
        about: about!("return_stack.rs"),
        iteration: "one turn of nested calls, and 64 dependent additions beside it; the value is of one call",
        timing: Timing::Floor,
        outputs: &[
            Output::MAIN.series("call"),
            Output::named("cycles", "A call in cycles of scalar code").ratio("call", "cycle").quantity(Quantity::Count),
            Output::named("cycle", "One dependent addition beside them: a cycle").detail(),
        ],
        params: &[Param::count("depth", "functions that call each other in a row")
            .quick(&["8"])
            .standard(&["16", "32", "64"])
            .full(&["4", "12", "20", "24", "28", "40", "48", "128"])],
        target_half_width: 0.02,
        tier: Tier::Standard,
        class_tier: Tier::Full,
        ..Info::new("cpu.return_stack")
    },
    run: Run::Here(run),
};

/// What a small stack of the system holds, and more than any core remembers.
const MAX_DEPTH: u64 = 4096;

fn run(ctx: &mut Ctx) -> Outcome {
    let depth = ctx.int("depth");
    if !(1..=MAX_DEPTH).contains(&depth) {
        return Err(BenchError::Unsupported(format!("calls are nested 1 to {MAX_DEPTH} deep here")));
    }
    let code = super::require_code(Code::calls(depth as usize))?;
    super::beside_cycles(ctx, "call", [depth, depth], |turns| code.run(turns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::{assert_exceeds, try_out};

    #[test]
    fn deeper_calls_take_longer() {
        let of = |depth: &str| try_out(&BENCH, &[("depth", depth)], None);
        if let Err(BenchError::Unsupported(why)) = of("4") {
            return println!("skipped: {why}");
        }
        assert_exceeds(4.0, || {
            let [few, many] = ["4", "64"].map(|depth| of(depth).expect("calls").least_ns("call"));
            many / few
        });
    }
}
