//! Fetching instructions: what one costs by how much code runs around it.
//!
//! **Measures:** The time of an instruction that does nothing, in straight code of `size` bytes
//! that is run again and again: all of it comes from the micro-op cache, the first-level
//! instruction cache, or the caches and memory behind it. The size from which an instruction takes
//! longer is what that level holds. A program whose hot code exceeds a level pays so much for each
//! instruction, whatever it does.
//!
//! **Does not measure:** Jumps (`cpu.branch_targets`), or the decoding of instructions of other
//! lengths: all have four bytes.
//!
//! **Method:** The code is written at run time: as many instructions of four bytes as make up the
//! size, and one loop around them all. A chain of dependent additions, one a cycle, runs in turn
//! with it.
//!
//! **Proofs:** The code itself counts its turns.
//!
//! **Pitfalls:**
//! - Straight code is what prefetchers of instructions are best at, so beyond a level this is the
//!   bandwidth of the next one, not its latency.
//! - Some cores fuse an instruction that does nothing with the one before it.
//! - A busy sibling thread has half of each cache.
//!
//! **Sources:** uarch-bench and Fog measure the like. See docs/methods/processor.md#code.

use groma_harness::prelude::*;
use groma_harness::sys::code::{Code, NOTHING};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Fetching and decoding an instruction, by the size of the code",
        about: about!("code.rs"),
        iteration: "one turn of the code, and 64 dependent additions beside it; the value is of one instruction",
        timing: Timing::Floor,
        outputs: &[
            Output::MAIN.series("code"),
            Output::named("cycles", "An instruction in cycles of scalar code")
                .ratio("code", "cycle")
                .quantity(Quantity::Count),
            Output::named("cycle", "One dependent addition beside them: a cycle").detail(),
        ],
        params: &[Param::size("size", "bytes of code in the loop")
            .takes(Memory::PerMember(1))
            .quick(&["16K"])
            .standard(&["4K", "64K", "1M"])
            .full(&["1K", "2K", "8K", "32K", "128K", "256K", "512K", "2M", "4M", "16M"])],
        target_half_width: 0.02,
        tier: Tier::Standard,
        class_tier: Tier::Full,
        ..Info::new("cpu.code")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let count = ctx.int("size") as usize / NOTHING;
    if count == 0 {
        return Err(BenchError::Unsupported(format!("an instruction has {NOTHING} bytes here")));
    }
    let code = super::require_code(Code::block(count))?;
    ctx.fact("code.bytes", code.bytes());
    super::beside_cycles(ctx, "code", [count as u64, 1], |turns| code.run(turns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::{assert_exceeds, try_out};

    #[test]
    fn more_code_takes_longer() {
        let of = |size: &str| try_out(&BENCH, &[("size", size)], None);
        if let Err(BenchError::Unsupported(why)) = of("4K") {
            return println!("skipped: {why}");
        }
        assert_exceeds(8.0, || {
            let [small, large] = ["4K", "64K"].map(|size| of(size).expect("code").least_ns("code"));
            large / small
        });
    }
}
