//! Atomic operations, fences and the spin-loop hint, on a cache line that no other CPU uses.
//!
//! **Measures:** Instructions that order memory, without contention. By `kind`:
//! - `cas` (compare-and-swap that succeeds), `add` (fetch-and-add) and `swap`: on one word in the
//!   L1 cache, each dependent on the one before, all sequentially consistent.
//! - `fence`, `fence_load`, `fence_store`: fences with nothing outstanding.
//! - `store_fence`: a store, and the fence that lets later loads see it done.
//! - `pause`: the hint of a spin loop.
//! - `counter`, `random`, `cpuid`: reading the CPU's time counter, its random numbers, and its
//!   identity, which in a virtual machine asks the hypervisor.
//!
//! **Does not measure:** Contention between cores (`cpu.contention`).
//!
//! **Method:** 32 instructions in a row in assembly (`cpuid`: one), each on the same word.
//!
//! **Proofs:** The word or a register has counted every operation, in every interval.
//!
//! **Pitfalls:**
//! - A fence without stores before it is cheaper than one behind a store.
//! - `pause` takes 4 to 140 cycles depending on the core, and some hypervisors intercept it.
//! - `lfence` waits for instructions on Intel, and on AMD only if the kernel sets it so.
//!
//! **Sources:** docs/methods/processor.md#atomics-and-fences.

use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::arch::{ADD_TAKES_ONE_CYCLE, CHAIN_UNROLL, add_chain, chain_added};
use groma_harness::sys::atomic::Atomic;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Atomic operation or fence on a line that no other CPU uses",
        about: about!("atomic.rs"),
        iteration: "32 of them (cpuid: one), and 64 additions beside them",
        timing: Timing::Floor,
        outputs: &[
            Output::MAIN.series("each"),
            Output::named("cycles", "The same in cycles").ratio("each", "cycle").quantity(Quantity::Count),
        ],
        params: &[Param::word(
            "kind",
            "what is executed; fences order loads and stores, loads only, or stores only",
            KINDS,
        )
        .quick(&["cas"])
        .standard(&["add", "swap", "fence", "store_fence", "pause", "cpuid"])],
        tier: Tier::Standard,
        target_half_width: 0.02,
        class_tier: Tier::Full,
        ..Info::new("cpu.atomic")
    },
    run: Run::Here(run),
};

const KINDS: &[&str] =
    &["cas", "add", "swap", "fence", "fence_load", "fence_store", "store_fence", "pause", "counter", "random", "cpuid"];

fn run(ctx: &mut Ctx) -> Outcome {
    let mut atomic = Atomic::new(ctx.word("kind")).map_err(BenchError::Unsupported)?;
    let kernel = atomic.kernel();
    ctx.fact("atomic.instruction", kernel.instruction);
    ctx.fact("atomic.isa", kernel.isa);
    let (mut wrong, mut done, mut added) = (0u64, 0, 0);
    let each = |turns| {
        match atomic.run(turns) {
            Some(ops) => done += ops,
            None => wrong += 1,
        }
        Ok(())
    };
    let mut variants = vec![Variant::new("each", each).per_iter(kernel.ops as f64)];
    if ADD_TAKES_ONE_CYCLE {
        let additions = |turns| {
            added += chain_added(add_chain(turns * CHAIN_UNROLL));
            Ok(())
        };
        variants.push(Variant::new("cycle", additions).per_iter(CHAIN_UNROLL as f64));
    }
    ctx.measure_variants(&mut variants)?;
    drop(variants);
    work::once_each(ctx, "operations per operation credited", done, ctx.iterations_of("each") * kernel.ops);
    if ADD_TAKES_ONE_CYCLE {
        work::once_each(ctx, "additions per addition credited", added, ctx.iterations_of("cycle") * CHAIN_UNROLL);
    }
    ctx.prove("intervals in which word or register had not counted all", "0", wrong as f64, 0.0..=0.0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn every_kind_is_counted() {
        let mut here = 0;
        for kind in KINDS {
            match try_out(&BENCH, &[("kind", kind)], None) {
                Ok(tried) => {
                    here += 1;
                    let instruction = Atomic::new(kind).map(|atomic| atomic.kernel().instruction);
                    assert_eq!(tried.result.fact("atomic.instruction"), instruction.ok(), "{kind}");
                    assert!(tried.samples("each") >= 3, "{kind}");
                    tried.proven("intervals in which word or register had not counted all");
                }
                Err(BenchError::Unsupported(why)) => assert!(why.contains(kind), "{why}"),
                Err(stop) => panic!("{kind}: {stop}"),
            }
        }
        // Those that every CPU has.
        assert!(here >= 6);
    }
}
