//! Load-to-use latency of caches and memory, by working set.
//!
//! **Measures:** The time from one load to the next that needs its value, along a closed chain of
//! pointers through a buffer. The two chains answer two questions:
//! - `amortised` stays within a group of pages before it goes on to the next, so that address
//!   translation is paid once per page: the latency of a cache level or of memory.
//! - `included` jumps anywhere at every step: what a program with random accesses pays, translation
//!   included. The difference of the two is the cost of translation.
//!
//! **Does not measure:** Loads whose addresses are known in advance, of which many are in flight at
//! once (`mem.parallelism`, `mem.random_read`), stores (`mem.access`), or a memory that is busy
//! (`mem.loaded_latency`).
//!
//! **Method:** The loop consists of dependent loads only, 64 in a row. Each round is a fresh
//! process with fresh pages, since the spread over page placements exceeds the timing noise. The
//! value of a round is the 10th percentile of its intervals, since interference only adds time; the
//! headline is the median over rounds. Nodes are a line apart in buffers of up to half the declared
//! last private cache, and 256 bytes apart beyond: as soon as a buffer begins to leave that cache,
//! the neighbours of a missing line are fetched with it.
//!
//! The chain is followed until two laps in a row differ by at most 3 %; only then is it measured.
//! Where no two agree within the time of the round, the size is `unresolved`: it is neither in a
//! cache nor out of it. `first_lap` is the latency of the first lap, or of its first part, after
//! the pointers were written, which is what a program meets that goes over its data once.
//!
//! **Pitfalls:**
//! - Strided and page-local chains are prefetched (lmbench's default reports 2 ns at any size
//!   today, see `mem.stride`), and so are random ones with nodes a line or two apart: on Sapphire
//!   Rapids 256 MiB take 55, 93 and 124 ns with nodes 64, 128 and 256 bytes apart, and no more
//!   beyond.
//! - Chains over 4 KiB pages that ignore the TLB show a cache level that does not exist. Even
//!   `amortised` pays one translation per page, for sixteen nodes (8 % of the latency of memory on
//!   Sapphire Rapids; `pages=huge` avoids it).
//! - In a virtual machine, the shared cache is what the neighbours leave of it.
//!
//! **Sources:** lmbench 1996 table 6; lmbench3 `lat_mem_rd`; CSE 221 "RAM access
//! time". See docs/methods/memory.md#chain-construction and docs/methods/memory.md#latency-curve.

use super::settle;
use crate::work;
use groma_harness::model::Params;
use groma_harness::prelude::*;
use groma_harness::sys::arch::CHASE_UNROLL;
use groma_harness::sys::chase::Chain;
use groma_harness::sys::pages::page_size;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Load-to-use latency by the size of the working set",
        about: about!("latency.rs"),
        iteration: "64 dependent loads",
        timing: Timing::Floor,
        outputs: OUTPUTS,
        version: 3,
        needs: &[Need::EndOfCaches],
        params: &[
            Param::size("size", "working set of the chain in bytes")
                .takes(Memory::PerMember(1))
                .past_caches()
                .quick(&["16K", "32K", "128K", "512K", "1M", "8M", "64M"])
                .standard(&[
                    "4K", "8K", "24K", "48K", "64K", "96K", "192K", "256K", "384K", "768K", "1.5M", "2M", "3M", "4M",
                    "6M", "12M", "16M", "24M", "32M", "48M", "96M", "128M", "256M",
                ])
                .full(&[
                    "5K", "6K", "7K", "10K", "12K", "14K", "20K", "28K", "40K", "56K", "80K", "112K", "160K", "224K",
                    "320K", "448K", "640K", "896K", "1.25M", "1.75M", "2.5M", "3.5M", "5M", "7M", "10M", "14M", "20M",
                    "28M", "40M", "56M", "80M", "112M", "192M", "384M", "512M", "1G",
                ]),
            Param::word(
                "chain",
                "address translation: amortised over a group of pages, or included in every load",
                &["amortised", "included"],
            )
            .quick(&["amortised"])
            .standard(&["included"]),
            Param::word(
                "pages",
                "base pages, transparent huge pages or reserved huge pages",
                &["base", "huge", "hugetlb"],
            )
            .quick(&["base"]),
        ],
        combination_tier,
        target_half_width: 0.02,
        class_tier: Tier::Standard,
        ..Info::new("mem.latency")
    },
    run: Run::Here(run),
};

/// The chain with translation included is followed at every other octave only, except with
/// `--full`: it has no edges to be found, and each point costs as much as one of the other chain (a
/// round of 256 MiB takes 0.3 to 0.4 s, most of it for making the pages present).
fn combination_tier(params: &Params) -> Tier {
    let every_other_octave = |size: u64| size.is_power_of_two() && size.ilog2() % 2 == 1;
    match (params.word("chain"), params.int("size")) {
        (Some("amortised"), _) => Tier::Quick,
        (_, Some(size)) if size >= 32 << 10 && every_other_octave(size) => Tier::Quick,
        _ => Tier::Full,
    }
}

/// Loads of one iteration: the unrolled loop once.
pub(super) const LOADS: u64 = CHASE_UNROLL;

/// The latency of the first lap.
const FIRST_LAP: &str = "first_lap";

/// What [`follow`] finds of a chain.
pub(super) const OUTPUTS: &[Output] =
    &[Output::MAIN, Output::named(FIRST_LAP, "A load of the first lap after the pointers were written").detail()];

/// The chain that the parameter `chain` names.
fn chain_of<'a>(
    kind: &str,
    area: &'a mut [u8],
    spacing: usize,
    below: impl FnMut(u64) -> u64,
) -> Result<Chain<'a>, String> {
    if kind == "amortised" {
        Chain::translation_amortised(area, spacing, super::GROUP_PAGES, page_size(), below)
    } else {
        Chain::translation_included(area, spacing, below)
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let size = ctx.int("size");
    let mut buffer = super::buffer(ctx, size as usize)?;
    let spacing = super::spacing(size);
    let area = &mut buffer[..size as usize];
    let kind = ctx.word("chain");
    let rng = ctx.rng();
    let mut chain = chain_of(kind, area, spacing, |n| rng.below(n)).map_err(BenchError::Unsupported)?;
    ctx.fact("chain.spacing", spacing);
    follow(ctx, &mut chain, spacing)
}

/// The nodes of which the caches hold hardly any, from the bytes of which they hold hardly any.
fn uncached(beyond: Option<u64>, spacing: usize) -> u64 {
    beyond.map_or(u64::MAX, |bytes| bytes / spacing as u64)
}

/// Laps through the chain, whose nodes are `spacing` bytes apart, until two agree; only then it is
/// measured.
pub(super) fn follow(ctx: &mut Ctx, chain: &mut Chain<'_>, spacing: usize) -> Outcome {
    ctx.fact("chain.nodes", chain.nodes());
    let (nodes, limit_ns) = (chain.nodes() as u64, ctx.time_limit_ns());
    let uncached = uncached(ctx.beyond_caches()?, spacing);
    let laps = settle::laps((nodes, uncached), limit_ns, || ctx.now_ns(), |loads| chain.walk(loads));
    match laps.first_ns {
        Some(ns) => ctx.state_as(FIRST_LAP, ns * 1e-9),
        None => ctx.unresolved(FIRST_LAP, &format!("a lap of {nodes} loads is too short to be timed once")),
    }
    // A member of a worker group has to measure with the others, whatever its laps say: what they
    // share goes on changing hands.
    if laps.agree() {
        ctx.fact("chain.laps", laps.count);
    } else if ctx.workers() == 1 {
        ctx.unresolved("", &laps.disagreement());
        return Ok(());
    }
    chain.mark();
    let mut walked = 0;
    ctx.measure_per(LOADS as f64, |iters| {
        walked += chain.walk(iters * LOADS);
        Ok(())
    })?;
    let credited = ctx.iterations() * LOADS;
    work::once_each(ctx, "loads made per load credited", walked, credited);
    let there = f64::from(u8::from(chain.leads_here(credited)));
    ctx.prove("the walk stands where the loads credited lead", "1", there, 1.0..=1.0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::model::Value;
    use groma_harness::sys::pages::{Map, Policy};
    use groma_harness::testing::try_out;

    #[test]
    fn both_chains_have_a_node_a_line() {
        for chain in ["amortised", "included"] {
            let tried = try_out(&BENCH, &[("size", "16K"), ("chain", chain)], None).expect("16 KiB of memory");
            assert!(tried.samples("") >= 3);
            let nodes = tried.result.fact("chain.nodes");
            assert_eq!(nodes, Some((16384 / super::super::line_size()).to_string().as_str()));
        }
    }

    /// The same random numbers lead to other places, so that the place tells the kind.
    #[test]
    fn each_word_has_its_chain() {
        let (size, spacing) = (1 << 20, 64);
        let numbers = || {
            let mut state = 1u64;
            move |n: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) % n
            }
        };
        let places = |mut chain: Chain<'_>| -> Vec<usize> {
            (0..8)
                .map(|_| {
                    chain.walk(LOADS);
                    chain.position()
                })
                .collect()
        };
        let mut map = Map::anonymous(size, Policy::Base).expect("memory");
        let amortised =
            Chain::translation_amortised(&mut map, spacing, super::super::GROUP_PAGES, page_size(), numbers());
        let amortised = places(amortised.expect("a chain"));
        let included = places(Chain::translation_included(&mut map, spacing, numbers()).expect("a chain"));
        assert_ne!(amortised, included);
        for (word, expected) in [("amortised", amortised), ("included", included)] {
            assert_eq!(places(chain_of(word, &mut map, spacing, numbers()).expect("a chain")), expected, "{word}");
        }
    }

    /// The further apart the nodes, the fewer of them are in as many bytes.
    #[test]
    fn what_the_caches_hold_is_counted_in_nodes() {
        assert_eq!([64, 256].map(|spacing| uncached(Some(1 << 20), spacing)), [16_384, 4096]);
        assert_eq!(uncached(None, 64), u64::MAX);
    }

    /// Both are of one load, in seconds.
    #[test]
    fn a_load_of_the_first_lap_is_like_one_of_the_others() {
        let first_over_later = || {
            let tried = try_out(&BENCH, &[("size", "256K")], None).expect("256 KiB of memory");
            let first = tried.stated(FIRST_LAP).expect("stated");
            // Where laps did not agree, there is nothing to compare with.
            if tried.samples("") > 0 { first * 1e9 * LOADS as f64 / tried.least_ns("") } else { f64::NAN }
        };
        let seen: Vec<f64> = (0..5).map(|_| first_over_later()).collect();
        assert!(seen.iter().any(|ratio| (0.3..=30.0).contains(ratio)), "{seen:?}");
    }

    #[test]
    fn reserved_huge_pages_are_used_or_missed() {
        match try_out(&BENCH, &[("size", "16K"), ("pages", "hugetlb")], None) {
            Ok(tried) => assert!(tried.samples("") >= 3),
            Err(BenchError::Unsupported(why)) => assert!(why.contains("reserved"), "{why}"),
            Err(stop) => panic!("{stop}"),
        }
    }

    #[test]
    fn nodes_are_further_apart_once_the_private_cache_is_more_than_half_full() {
        let private = super::super::private_cache();
        for (size, expected) in [(private / 2, super::super::line_size()), (private, super::super::FAR_SPACING)] {
            let tried = try_out(&BENCH, &[("size", &size.to_string())], None).expect("memory");
            let spacing = tried.result.fact("chain.spacing").map(str::to_owned);
            assert_eq!(spacing, Some(expected.to_string()), "{size}");
            let nodes = tried.result.fact("chain.nodes").map(str::to_owned);
            assert_eq!(nodes, Some((size / expected as u64).to_string()), "{size}");
        }
    }

    #[test]
    fn only_a_full_run_takes_the_translation_chain_at_every_size() {
        let tier = |size, chain: &str| {
            let word = Value::Word(chain.to_owned());
            combination_tier(&Params(vec![("size".into(), Value::Int(size)), ("chain".into(), word)]))
        };
        assert_eq!(tier(24 << 10, "amortised"), Tier::Quick);
        assert_eq!(tier(24 << 10, "included"), Tier::Full);
        assert_eq!(tier(64 << 10, "included"), Tier::Full);
        assert_eq!(tier(128 << 10, "included"), Tier::Quick);
    }
}
