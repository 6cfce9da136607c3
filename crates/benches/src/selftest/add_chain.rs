//! Known ratios: a chain of dependent additions takes time in proportion to its length.
//!
//! **Measures:** Only the harness: chains of k, 2k and 4k operations have to take 1 : 2 : 4, within
//! 0.2 %.
//!
//! **Method:** Additions of a register to a register in assembly, each of which waits for the one
//! before. The iterations of an interval are one long chain: a core starts the next of several
//! chains while it ends the last, and 2 x 6,400 additions took 0.7 % less time than 12,800 (2-vCPU
//! KVM guest).
//!
//! **Pitfalls:** Lengths are rounded up to whole blocks of 64, so the default ones are multiples of
//! 64.
//!
//! **Sources:** See docs/methods/operating-system.md#self-tests and
//! docs/methods/validation.md#guards.

use groma_harness::prelude::*;
use groma_harness::sys::arch;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Chains of known ratio, to check the harness",
        about: about!("add_chain.rs"),
        iteration: "one chain of dependent additions",
        params: &[Param::count("ops", "dependent additions in the chain")
            .quick(&["6400"])
            .standard(&["12800", "25600"])],
        tier: Tier::Named,
        ..Info::new("selftest.add_chain")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let ops = ctx.int("ops");
    ctx.measure(|iters| {
        arch::add_chain(iters * ops);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn runs_and_scales_with_its_iterations() {
        let tried = try_out(&BENCH, &[("ops", "640")], None).expect("nothing can be missing");
        assert!(tried.samples("") >= 3);
        assert!(tried.proven("time of 2k iterations over time of k") > 1.5);
    }

    #[test]
    fn the_default_lengths_are_whole_blocks() {
        for ops in BENCH.info.params[0].values(Tier::Standard) {
            assert!(ops.parse::<u64>().is_ok_and(|n| n.is_multiple_of(arch::CHAIN_UNROLL)), "{ops}");
        }
    }
}
