//! Load-to-use latency of caches and memory, by the size of the working set.
//!
//! Measures the time from one load to the next that needs its value, by following a closed chain of pointers through a
//! buffer. Two chains answer two questions: `amortised` stays within a group of pages before it goes on to the next, so
//! that address translation is paid once a group: the latency of a cache level or of memory. `included` goes anywhere at
//! every step: what a program with random accesses pays, translation and all. Their difference is the price of
//! translation.
//!
//! Method: the loop is nothing but dependent loads, 64 in a row. Each round is a fresh process with fresh pages (the
//! spread over page placements exceeds the timing noise); the value of a round is the 10th percentile of its intervals,
//! since interference only adds, and the headline the median over rounds. A node is a line in buffers up to the declared
//! size of the last private cache, and 256 bytes beyond: neighbouring lines are fetched in pairs.
//!
//! Traps: strided and page-local chains are prefetched (lmbench's default reports 2 ns at any size today); chains over
//! 4 KiB pages that ignore the TLB invent a cache level; a virtual machine's shared cache is what its neighbours leave.
//!
//! Source: lmbench 1996 table 6 and figure 1, lmbench3 `lat_mem_rd`, CSE 221 "RAM access time".

use groma_harness::model::Params;
use groma_harness::prelude::*;
use groma_harness::sys::arch::CHASE_UNROLL;
use groma_harness::sys::chain::Chain;
use groma_harness::sys::pages::{Map, Policy, page_size};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Load-to-use latency by the size of the working set",
        about: about!("latency.rs"),
        iteration: "64 dependent loads",
        timing: Timing::Floor,
        params: &[
            Param {
                name: "size",
                help: "bytes that the chain spans",
                kind: ParamKind::Size,
                quick: &["16K", "32K", "128K", "512K", "1M", "8M", "64M"],
                default: &[
                    "4K", "8K", "16K", "24K", "32K", "48K", "64K", "96K", "128K", "192K", "256K", "384K", "512K",
                    "768K", "1M", "1.5M", "2M", "3M", "4M", "6M", "8M", "12M", "16M", "24M", "32M", "48M", "64M",
                    "96M", "128M", "256M", "512M",
                ],
                full: &[],
            },
            Param {
                name: "chain",
                help: "address translation: amortised over a group of pages, or included in every load",
                kind: ParamKind::Word(&["amortised", "included"]),
                quick: &["amortised"],
                default: &["amortised", "included"],
                full: &[],
            },
            Param {
                name: "pages",
                help: "base pages or transparent huge pages",
                kind: ParamKind::Word(&["base", "huge"]),
                quick: &[],
                default: &["base"],
                full: &["base", "huge"],
            },
        ],
        lineage: &["lmbench1996:table6", "lmbench1996:figure1", "lmbench3:lat_mem_rd", "cse221:memory_latency"],
        plain,
        width: 0.02,
        ..Info::new("mem.latency")
    },
    run: Run::Here(run),
};

/// A plain run follows the chain with translation at whole octaves only: it has no edges to be found, and each point costs
/// as much as one of the other chain.
fn plain(params: &Params) -> bool {
    params.word("chain") == Some("amortised")
        || params.int("size").is_some_and(|s| s.is_power_of_two() && s >= 32 << 10)
}

/// Loads of one iteration: the unrolled loop once.
const LOADS: u64 = CHASE_UNROLL;

/// Pages in a group: fewer than any first-level TLB of the last ten years reaches (64 and more), more than a prefetcher of
/// regions follows (memory-methods.md M2).
const GROUP_PAGES: usize = 32;
/// Node distance beyond the last private cache (memory-methods.md M2).
const FAR_SPACING: usize = 256;
/// The last private cache where none is declared.
const ASSUMED_PRIVATE: u64 = 1 << 20;
/// Loads of warm-up: a whole lap up to this many nodes, and this many beyond (memory-methods.md M2).
const WARM_LOADS: u64 = 1 << 18;

fn run(ctx: &mut Ctx) -> Outcome {
    let size = ctx.int("size");
    let line = super::line_size();
    let policy = if ctx.word("pages") == "huge" { Policy::Transparent } else { Policy::Base };
    if policy == Policy::Base {
        sys::process::refuse_huge_pages();
    }
    super::check_room(size)?;
    let mut buffer = Map::anonymous(size as usize, policy).doing("mapping the buffer")?;
    buffer.populate();
    if policy == Policy::Transparent
        && let Some(huge) = buffer.huge_bytes()
    {
        ctx.fact("pages.huge_share", format!("{:.3}", huge as f64 / buffer.len() as f64));
    }
    let spacing = if size <= super::private_cache().unwrap_or(ASSUMED_PRIVATE) { line } else { FAR_SPACING };
    let area = &mut buffer[..size as usize];
    let amortised = ctx.word("chain") == "amortised";
    let rng = ctx.rng();
    let chain = if amortised {
        Chain::translation_amortised(area, spacing, GROUP_PAGES, page_size(), |n| rng.below(n))
    } else {
        Chain::translation_included(area, spacing, |n| rng.below(n))
    };
    let mut chain = chain.map_err(Stop::Unsupported)?;
    ctx.fact("chain.nodes", chain.nodes());
    ctx.fact("chain.spacing", spacing);
    chain.walk((chain.nodes() as u64).min(WARM_LOADS));
    ctx.measure_per(LOADS as f64, |iters| {
        chain.walk(iters * LOADS);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::model::Value;
    use groma_harness::testing::try_out;

    #[test]
    fn both_chains_have_a_node_a_line() {
        for chain in ["amortised", "included"] {
            let tried = try_out(&BENCH, &[("size", "16K"), ("chain", chain)], None).expect("16 KiB of memory");
            assert!(tried.samples("") >= 3);
            let nodes = tried.result.facts.iter().find(|f| f.key == "chain.nodes").map(|f| f.value.as_str());
            assert_eq!(nodes, Some((16384 / super::super::line_size()).to_string().as_str()));
        }
    }

    #[test]
    fn a_plain_run_takes_the_translation_chain_at_octaves_only() {
        let point = |size, chain: &str| {
            Params(vec![("size".into(), Value::Int(size)), ("chain".into(), Value::Word(chain.into()))])
        };
        assert!(plain(&point(24 << 10, "amortised")));
        assert!(!plain(&point(24 << 10, "included")));
        assert!(plain(&point(64 << 10, "included")));
    }
}
