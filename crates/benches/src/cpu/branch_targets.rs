//! Taken jumps by their number: how many targets the core remembers.
//!
//! **Measures:** The time of a jump that is always taken, in a chain of `branches` jumps, each to
//! the next, that is run again and again. As long as the branch target buffer holds the chain, a
//! jump takes a cycle or two. Beyond, the core finds out only when it decodes the jump, or from a
//! slower second level: the steps in the curve are the capacities.
//!
//! **Does not measure:** Conditional branches and their prediction (`cpu.branch`), or returns
//! (`cpu.return_stack`).
//!
//! **Method:** The code is written at run time: one jump at the start of each `spacing` bytes, and
//! a loop around them all. A chain of dependent additions, one a cycle, runs in turn with it.
//!
//! **Proofs:** The code itself counts its turns. What lies between the jumps traps, so a jump to
//! anywhere else would end the worker.
//!
//! **Pitfalls:**
//! - Jumps close together share entries of the buffer, jumps far apart use up the instruction
//!   cache first: at 64 bytes each takes a line. Compare spacings.
//! - Where each jump leads to the next line, a core that fetches ahead hides some of the cost.
//! - A busy sibling thread has half of the entries.
//!
//! **Sources:** Fog, "The microarchitecture of Intel, AMD and VIA CPUs". See
//! docs/methods/processor.md#code.

use groma_harness::prelude::*;
use groma_harness::sys::code::Code;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "A taken jump, by how many of them take turns",
        about: about!("branch_targets.rs"),
        iteration: "one turn of the chain of jumps, and 64 dependent additions beside it; the value is of one jump",
        timing: Timing::Floor,
        outputs: &[
            Output::MAIN.series("jump"),
            Output::named("cycles", "A jump in cycles of scalar code").ratio("jump", "cycle").quantity(Quantity::Count),
            Output::named("cycle", "One dependent addition beside them: a cycle").detail(),
        ],
        params: &[
            Param::count("branches", "jumps in the chain")
                .takes(Memory::PerMember(256))
                .quick(&["1024"])
                .standard(&["64", "4096", "16384"])
                .full(&["128", "256", "512", "2048", "8192", "32768", "65536"]),
            Param::count("spacing", "bytes from one jump to the next").quick(&["32"]).full(&["16", "64"]),
        ],
        target_half_width: 0.02,
        tier: Tier::Standard,
        class_tier: Tier::Full,
        ..Info::new("cpu.branch_targets")
    },
    run: Run::Here(run),
};

/// The most bytes of code: what a jump reaches on every CPU, and more than any buffer holds.
const MAX_BYTES: u64 = 64 << 20;
/// Spacings, in bytes.
const SPACINGS: [u64; 2] = [8, 4096];

fn run(ctx: &mut Ctx) -> Outcome {
    let (branches, spacing) = (ctx.int("branches"), ctx.int("spacing"));
    let [least, most] = SPACINGS;
    if !(least..=most).contains(&spacing) || !spacing.is_multiple_of(least) {
        return Err(BenchError::Unsupported(format!("a spacing is a multiple of {least} bytes, up to {most}")));
    }
    if branches == 0 || branches > MAX_BYTES / spacing {
        return Err(BenchError::Unsupported(format!("1 to {} jumps {spacing} bytes apart", MAX_BYTES / spacing)));
    }
    let code = super::require_code(Code::jumps(branches as usize, spacing as usize))?;
    super::beside_cycles(ctx, "jump", [branches, 1], |turns| code.run(turns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::{assert_exceeds, try_out};

    #[test]
    fn more_jumps_take_longer() {
        let of = |branches: &str| try_out(&BENCH, &[("branches", branches)], None);
        if let Err(BenchError::Unsupported(why)) = of("64") {
            return println!("skipped: {why}");
        }
        assert_exceeds(4.0, || {
            let [few, many] = ["64", "1024"].map(|count| of(count).expect("jumps").least_ns("jump"));
            many / few
        });
    }

    #[test]
    fn spacings_and_numbers_that_there_are_not_are_refused() {
        for params in [[("branches", "64"), ("spacing", "12")], [("branches", "9000000"), ("spacing", "16")]] {
            let refused = try_out(&BENCH, &params, None).expect_err("no such code");
            assert!(matches!(refused, BenchError::Unsupported(_)), "{refused}");
        }
    }
}
