//! Random reads per second, with many in flight: lookups in a table that no cache holds.
//!
//! **Measures:** Loads from random lines of a buffer along 16 independent chains. Any line may
//! follow any other, so address translation is included. With `-P N` each worker has a buffer and a
//! CPU of its own, and the sum is what the machine can do.
//!
//! **Does not measure:** How many loads one core overlaps and what limits it (`mem.parallelism`).
//!
//! **Method:** All lines of the buffer in one random order, dealt to the chains in turn; every line
//! is loaded once per lap. Fresh base pages in every round.
//!
//! **Pitfalls:**
//! - A shared cache that holds the buffer: `auto` is eight times the last cache, so that one read
//!   in eight finds its line there at most.
//! - Neighbouring lines are fetched in pairs, which is a cost here, as in every program that reads
//!   at random.
//! - Above 12 chains on x86-64, their addresses are in an array in the L1 cache, which costs a few
//!   cycles per load.
//!
//! **Sources:** lmbench3 `par_mem`. See docs/methods/memory.md#random-reads.

use crate::work;
use groma_harness::Rng;
use groma_harness::prelude::*;
use groma_harness::sys::arch::parallel_chase::PARALLEL_CHASE_UNROLL;
use groma_harness::sys::pages::{Map, Policy, page_size};
use groma_harness::sys::parallel_chase::{Chains, Link, Order};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Random reads per second along many chains at once",
        about: about!("random_read.rs"),
        quantity: Quantity::Rate,
        iteration: "16 loads on each chain",
        timing: Timing::Floor,
        params: &[
            Param::size("size", "bytes of each worker's buffer")
                .takes(Memory::PerMember(1))
                // The caches hold an eighth of it at most, and random reads find that.
                .or_auto(Auto::BeyondCaches(2))
                .quick(&["auto"])
                .full(&["8M", "1G"]),
            Param::count("chains", "independent chains: 1, 2, 4 to 16 in twos, 20, 24, 28, 32, 40, 48 or 64")
                .quick(&["16"])
                .full(&["1", "8", "32", "64"]),
        ],
        group_tier: |_| Tier::Quick,
        target_half_width: 0.03,
        tier: Tier::Standard,
        ..Info::new("mem.random_read")
    },
    run: Run::Here(run),
};

/// A node in every line, on so many chains that go anywhere.
fn link<'a>(buffer: &'a mut [u8], chains: usize, rng: &mut Rng) -> Result<Chains<'a>, String> {
    let mut nodes = Chains::new(buffer, super::line_size(), Order::Anywhere, |n| rng.below(n))?;
    nodes.link(&[Link { offset: 0, chains, ahead: 1, start: 0 }])?;
    Ok(nodes)
}

fn run(ctx: &mut Ctx) -> Outcome {
    let (size, chains) = (ctx.int("size"), ctx.int("chains") as usize);
    sys::process::refuse_huge_pages();
    let mut buffer = Map::anonymous(size as usize, Policy::Base).context("mapping the buffer")?;
    buffer.populate();
    let mut nodes = link(&mut buffer[..size as usize], chains, ctx.rng()).map_err(BenchError::Unsupported)?;
    ctx.fact("chain.nodes", nodes.nodes());
    ctx.fact("chain.in_registers", nodes.kernel(0).in_registers);
    // The pointers were written in address order. A lap finds the entries of the page table in a
    // cache as the loads before left them: without this, the first milliseconds read 2.5 % slower.
    nodes.walk(0, (4 * size as usize / page_size() / chains) as u64);
    let each = PARALLEL_CHASE_UNROLL * chains as u64;
    let mut steps = 0;
    ctx.measure_per(each as f64, |iters| {
        steps += nodes.walk(0, iters * PARALLEL_CHASE_UNROLL);
        Ok(())
    })?;
    work::once_each(ctx, "loads made per load credited", steps * chains as u64, ctx.iterations() * each);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::model::WorkerKind;
    use groma_harness::testing::{try_group, try_out};

    #[test]
    fn a_number_of_chains_without_a_kernel_is_refused() {
        let refused = try_out(&BENCH, &[("size", "1M"), ("chains", "15")], None).expect_err("no kernel");
        assert!(matches!(refused, BenchError::Unsupported(_)), "{refused}");
    }

    #[test]
    fn it_works_as_a_worker_group_of_processes_and_of_threads() {
        for kind in [WorkerKind::Processes, WorkerKind::Threads] {
            let tried = try_group(&BENCH, &[("size", "1M")], None, 2, kind).expect("two workers");
            assert!(tried.samples("") >= 1);
        }
    }

    /// Of 256 places in 256 pages of 4 KiB about 162 pages are seen; a chain that stays in a few
    /// pages for a while shows fewer.
    #[test]
    fn a_chain_goes_anywhere() {
        const PAGES: usize = 256;
        let mut buffer = Map::anonymous(PAGES << 12, Policy::Base).expect("memory");
        buffer.populate();
        let mut nodes = link(&mut buffer[..PAGES << 12], 1, &mut Rng::new(1)).expect("a chain");
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..PAGES {
            nodes.walk(0, PARALLEL_CHASE_UNROLL);
            seen.insert(nodes.position(0, 0) >> 12);
        }
        assert!((130..200).contains(&seen.len()), "{} of {PAGES} pages", seen.len());
    }
}
