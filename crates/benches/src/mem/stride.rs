//! Latency of loads at a fixed stride, by working set: one curve per stride.
//!
//! **Measures:** The time from one load to the next that needs its value, along pointers that lie
//! `stride` bytes apart, from the start of the buffer to its end and round again. Drawn over
//! `size`, with a line per stride, it is figure 1 of lmbench 1996.
//!
//! **Does not measure:** The latency of caches and memory: prefetchers follow a fixed stride, so
//! what remains is what a program sees that goes over its data in order. `mem.latency` has the
//! latency.
//!
//! **Method:** That of `mem.latency`, with another order: laps until two agree, then intervals of
//! dependent loads, of which the 10th percentile counts. The last node points to the first; a size
//! that is no multiple of the stride has its last node where the last whole stride begins.
//!
//! **Pitfalls:**
//! - Strides below a line load each line several times.
//! - A stride of a page uses few sets of the first-level cache, so that its edges come early.
//!
//! **Sources:** lmbench 1996 figure 1; lmbench3 `lat_mem_rd` with its strides. See
//! docs/methods/memory.md#fixed-strides.

use super::latency;
use groma_harness::prelude::*;
use groma_harness::sys::chase::Chain;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Latency of loads at a fixed stride, by the size of the working set",
        about: about!("stride.rs"),
        iteration: "64 dependent loads",
        timing: Timing::Floor,
        outputs: latency::OUTPUTS,
        needs: &[Need::EndOfCaches],
        params: &[
            Param::size("size", "working set in bytes").takes(Memory::PerMember(1)).quick(&[
                "4K", "8K", "16K", "32K", "64K", "128K", "256K", "512K", "1M", "2M", "4M", "8M", "16M", "32M", "64M",
                "128M", "256M",
            ]),
            // From a pointer to a page, by powers of two, as the figure has them.
            Param::count("stride", "bytes from one load to the next")
                .quick(&["8", "16", "32", "64", "128", "256", "512", "1024", "2048", "4096"]),
            Param::word(
                "pages",
                "base pages, transparent huge pages or reserved huge pages",
                &["base", "huge", "hugetlb"],
            )
            .quick(&["base"])
            .named(&["huge", "hugetlb"]),
        ],
        target_half_width: 0.05,
        tier: Tier::Named,
        ..Info::new("mem.stride")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let (size, stride) = (ctx.int("size") as usize, ctx.int("stride") as usize);
    let mut buffer = super::buffer(ctx, size)?;
    let mut chain = Chain::strided(&mut buffer[..size], stride).map_err(BenchError::Unsupported)?;
    latency::follow(ctx, &mut chain, stride)
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn a_chain_has_a_node_a_stride() {
        for (size, stride, nodes) in [("64K", "8", "8192"), ("64K", "4096", "16"), ("10000", "64", "157")] {
            let tried = try_out(&BENCH, &[("size", size), ("stride", stride)], None).expect("64 KiB of memory");
            assert_eq!(tried.result.fact("chain.nodes"), Some(nodes));
            assert!(tried.samples("") >= 3);
        }
    }

    #[test]
    fn a_stride_that_is_no_multiple_of_a_pointer_is_refused() {
        let refused = try_out(&BENCH, &[("size", "64K"), ("stride", "12")], None).map(|_| ());
        assert!(matches!(&refused, Err(BenchError::Unsupported(_))), "{refused:?}");
    }
}
