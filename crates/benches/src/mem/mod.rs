//! Memory and caches: latency, bandwidth, and the structure of caches and TLBs.

use groma_harness::Rng;
use groma_harness::model::Family;
use groma_harness::model::family::{Figure, Row, Say, greatest};
use groma_harness::prelude::*;
use groma_harness::sys::chase::Chain;
use groma_harness::sys::pages::{Map, Policy, page_size};
use groma_harness::sys::parallel_chase::{Chains, Order};
use groma_harness::sys::topology::{ASSUMED_LINE, Topology};

mod latency;
mod stride;
mod line;
mod ways;
mod tlb;
mod prefetch;
mod access;
mod parallelism;
mod random_read;
mod loaded_latency;
mod numa;
mod dram_page;
mod bandwidth;
mod partial;
mod stream;
mod mix;
mod libc;
mod flush;
mod hammer;
mod hammer_run;
mod available;

mod laps;
mod search;
mod settle;

pub(crate) static ABOUT: Family = Family {
    name: "mem",
    summary: "Memory and caches, as programs use them",
    says: Say::FirstOf(&[
        Say::Led(&[
            Say::Text("{}", &[Figure::Levels("mem.latency")]),
            Say::Text(", huge pages {}", &[Figure::FactIs { bench: "mem.tlb", key: "verdict", text: "fractured" }]),
        ]),
        Say::Text(
            "up to {} ({})",
            &[Figure::Value(greatest("mem.bandwidth")), Figure::Params(greatest("mem.bandwidth"))],
        ),
    ]),
    rows: &[
        Row::Caches("mem.latency"),
        Row::Memory("mem.available"),
        Row::CacheLine { line: "mem.line", pair: "mem.line.pair" },
        Row::Ways { ways: "mem.ways", way_size: "mem.ways.way_size" },
        Row::Tlb {
            first: "mem.tlb",
            second: "mem.tlb.l2",
            second_hit: "mem.tlb.l2_hit",
            walks: ["mem.tlb.walk2", "mem.tlb.walk4", "mem.tlb.walk8"],
            page: "mem.tlb.page",
        },
        Row::Nodes("mem.numa"),
        Row::Bandwidth("mem.bandwidth"),
        Row::LoadedLatency {
            median: "mem.loaded_latency",
            p95: "mem.loaded_latency.p95",
            bandwidth: "mem.loaded_latency.bandwidth",
        },
    ],
};

pub(crate) const ALL: &[&Benchmark] = listed!("mem");

/// The size of a cache line in bytes, declared or assumed.
pub(crate) fn line_size() -> usize {
    Topology::read().line().unwrap_or(ASSUMED_LINE)
}

/// The size of the largest private cache of a core in bytes, declared or assumed.
fn private_cache() -> u64 {
    const ASSUMED: u64 = 1 << 20;
    Topology::read().private_cache().unwrap_or(ASSUMED)
}

/// Pages in a group that a chain visits before it goes on: fewer than the entries of any
/// first-level TLB of the last ten years (64 and more), more than a region prefetcher follows. See
/// docs/methods/memory.md#page-groups.
const GROUP_PAGES: usize = 32;

/// Node spacing where lines come from beyond the last private cache. See
/// docs/methods/memory.md#node-spacing.
const FAR_SPACING: usize = 256;

/// The node spacing of a chain through `size` bytes, such that no neighbour is fetched with a line:
/// one line up to half the private cache, 256 bytes beyond. See
/// docs/methods/memory.md#node-spacing.
fn spacing(size: u64) -> usize {
    if size <= private_cache() / 2 { line_size() } else { FAR_SPACING }
}

/// The nodes of several chains, `spacing` bytes apart, in the order of the chain of `mem.latency`:
/// those of a group of pages before those of the next.
fn grouped_chains<'a>(buffer: &'a mut [u8], spacing: usize, rng: &mut Rng) -> Result<Chains<'a>, String> {
    Chains::new(buffer, spacing, Order::Grouped { pages: GROUP_PAGES, page: page_size() }, |n| rng.below(n))
}

/// Evicts the nodes of a chain, so that the loads of its first lap come from memory whatever the
/// size of the last cache (docs/methods/memory.md#first-lap).
fn evict(ctx: &mut Ctx, chain: &mut Chain<'_>, spacing: usize) {
    let evicted = chain.flush(spacing);
    ctx.fact("chain.evicted", evicted);
}

/// Leaves the outputs unresolved where one of these walks made more loads than an evicted chain has
/// nodes: from the second lap on they may come from a cache.
fn check_first_lap(ctx: &mut Ctx, output: &str, walks: &[u64], nodes: usize) {
    let loads = walks.iter().copied().max().unwrap_or(0);
    if loads > nodes as u64 {
        let laps = loads as f64 / nodes as f64;
        ctx.unresolved(
            output,
            &format!("the walk came round {laps:.1} times, and a cache may hold a part: name a larger size"),
        );
    }
}

/// The least share of a buffer that has to be in huge pages where those were requested: the parts
/// before the first boundary and after the last have none. See docs/methods/memory.md#page-policy.
const HUGE_SHARE: f64 = 0.9;

/// A buffer of `size` bytes and more whose pages are all present, and of the kind that the
/// parameter `pages` names. See docs/methods/memory.md#page-policy.
///
/// # Errors
/// `Unsupported` where the kernel gave others.
fn buffer(ctx: &mut Ctx, size: usize) -> Result<Map, BenchError> {
    buffer_from(ctx, size, |_| Ok(()))
}

/// As [`buffer`], where `prepare` says where the pages come from, before there are any.
fn buffer_from(ctx: &mut Ctx, size: usize, prepare: impl FnOnce(&mut Map) -> Outcome) -> Result<Map, BenchError> {
    let pages = ctx.word("pages");
    let (policy, missing) = policy(pages);
    if policy == Policy::Base {
        sys::process::refuse_huge_pages();
    }
    let mut buffer = match (Map::anonymous(size, policy), policy) {
        // The mapping alone needs no memory: what is refused is the kind of its pages.
        (Err(why), Policy::Transparent | Policy::Reserved) => {
            return Err(BenchError::Unsupported(format!("{missing}: {why}")));
        }
        (buffer, _) => buffer.context("mapping the buffer")?,
    };
    prepare(&mut buffer)?;
    buffer.populate();
    prove_pages(ctx, &buffer, pages)?;
    Ok(buffer)
}

/// The policy of a word of the parameter `pages`, and why there may be no such pages.
fn policy(pages: &str) -> (Policy, &'static str) {
    match pages {
        "huge" => (Policy::Transparent, "this kernel has no transparent huge pages"),
        "hugetlb" => (Policy::Reserved, "too few huge pages are reserved (vm.nr_hugepages)"),
        _ => (Policy::Base, ""),
    }
}

/// Proves that the pages of the buffer, which must all be present, are of the kind that the
/// parameter `pages` requests.
///
/// # Errors
/// `Unsupported` where the kernel gave no huge pages although they were requested: with base pages
/// it would be another benchmark.
fn prove_pages(ctx: &mut Ctx, buffer: &Map, asked: &str) -> Outcome {
    // A mapping of reserved pages consists of nothing else, and `AnonHugePages` does not count
    // them.
    if asked == "hugetlb" {
        return Ok(());
    }
    let Some(huge) = buffer.huge_bytes() else {
        if asked == "huge" {
            return Err(BenchError::Unsupported(
                "no /proc/self/smaps: whether the pages are huge is unknown".to_owned(),
            ));
        }
        return Ok(());
    };
    if asked != "huge" {
        ctx.prove("bytes of huge pages", "0", huge as f64, 0.0..=0.0);
        return Ok(());
    }
    let share = huge as f64 / buffer.len() as f64;
    ctx.fact("pages.huge_share", format!("{share:.3}"));
    if share < HUGE_SHARE {
        let setting = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
        return Err(BenchError::Unsupported(format!(
            "{:.0} % of the buffer came as huge pages: the setting is '{}', or memory is fragmented",
            share * 100.0,
            setting.trim()
        )));
    }
    ctx.prove("share of the buffer in huge pages", "0.9 or more", share, HUGE_SHARE..=1.0);
    Ok(())
}

/// Shared by the tests of the family.
#[cfg(test)]
mod testing {
    /// Whether the mapping that holds this memory has this flag in `/proc/self/smaps`: `hg` where
    /// huge pages were asked for, `nh` where they were refused. `None` without it.
    pub(super) fn has_flag(memory: &[u8], flag: &str) -> Option<bool> {
        let smaps = std::fs::read_to_string("/proc/self/smaps").ok()?;
        let address = memory.as_ptr().addr();
        let holds = |line: &str| {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            let ends = range.map(|(from, to)| [from, to].map(|end| usize::from_str_radix(end, 16)));
            matches!(ends, Some([Ok(from), Ok(to)]) if (from..to).contains(&address))
        };
        let flags = smaps.lines().skip_while(|line| !holds(line)).find_map(|line| line.strip_prefix("VmFlags:"))?;
        Some(flags.split_whitespace().any(|name| name == flag))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::sys::arch::parallel_chase::PARALLEL_CHASE_UNROLL;
    use groma_harness::sys::pages::huge_page_size;
    use groma_harness::sys::parallel_chase::Link;
    use groma_harness::testing::{stating, try_failing, try_out};
    use std::collections::BTreeSet;

    /// Otherwise each load would need its own translation, and many chains several at a time.
    #[test]
    fn chains_finish_a_group_of_pages_before_the_next() {
        const GROUPS: usize = 4;
        let nodes = GROUP_PAGES * page_size() / FAR_SPACING;
        let mut map = Map::anonymous(GROUPS * GROUP_PAGES * page_size(), Policy::Base).expect("memory");
        let mut chains = grouped_chains(&mut map, FAR_SPACING, &mut Rng::new(7)).expect("chains");
        chains.link(&[Link { offset: 0, chains: 1, ahead: 1, start: 0 }]).expect("a chain");
        let pages: Vec<BTreeSet<usize>> = (0..GROUPS)
            .map(|_| {
                let look = |_| {
                    let page = chains.position(0, 0) / page_size();
                    chains.walk(0, PARALLEL_CHASE_UNROLL);
                    page
                };
                (0..nodes / PARALLEL_CHASE_UNROLL as usize).map(look).collect()
            })
            .collect();
        // Of 32 pages at random places about 20 are seen in 32 looks.
        assert!(pages.iter().all(|group| group.len() > GROUP_PAGES / 3 && group.len() <= GROUP_PAGES), "{pages:?}");
        let all: BTreeSet<&usize> = pages.iter().flatten().collect();
        assert_eq!(all.len(), pages.iter().map(BTreeSet::len).sum::<usize>(), "a page of two groups: {pages:?}");
    }

    /// Transparent huge pages would pass for reserved ones, which no counter shows.
    #[test]
    fn each_word_has_its_kind_of_pages() {
        let policies = ["base", "huge", "hugetlb"].map(|word| policy(word).0);
        assert_eq!(policies, [Policy::Base, Policy::Transparent, Policy::Reserved]);
    }

    /// `prepare` runs before there are pages; all are present when a loop begins.
    #[test]
    fn a_buffer_is_prepared_first_and_then_present() {
        const INFO: Info = Info {
            timing: Timing::Stated,
            params: &[Param::word("pages", "kind of pages", &["base", "huge"]).quick(&["base"])],
            ..Info::new("mem.test")
        };
        fn prepared(ctx: &mut Ctx) -> Outcome {
            let mut before = None;
            let buffer = buffer_from(ctx, 1 << 20, |map| {
                before = map.resident_pages().ok();
                Ok(())
            })?;
            assert_eq!((before, buffer.resident_pages().ok()), (Some(0), Some((1 << 20) / page_size())));
            let refused = buffer_from(ctx, 1 << 20, |_| Err(BenchError::Denied("no such node".to_owned())));
            assert!(matches!(refused, Err(BenchError::Denied(_))), "{refused:?}");
            ctx.state(1.0);
            Ok(())
        }
        try_out(&Benchmark { info: INFO, run: Run::Here(prepared) }, &[], None).expect("a megabyte");
    }

    #[test]
    fn a_load_more_than_a_lap_leaves_the_value_open() {
        fn walks(ctx: &mut Ctx) -> Outcome {
            for (output, loads) in [("less", [999, 1]), ("lap", [1, 1000]), ("more", [1001, 999]), ("one", [1, 1001])] {
                check_first_lap(ctx, output, &loads, 1000);
                ctx.state_as(output, 1.0);
            }
            Ok(())
        }
        let tried = try_out(&stating(walks), &[], None).expect("values");
        let open = ["less", "lap", "more", "one"].map(|of| tried.unresolved(of).is_some());
        assert_eq!(open, [false, false, true, true]);
    }

    /// Pages of the wrong kind are detected, whichever of the two was requested.
    #[test]
    fn base_pages_are_no_huge_pages_and_huge_ones_no_base_pages() {
        fn base(ctx: &mut Ctx) -> Outcome {
            let mut buffer = Map::anonymous(4 << 20, Policy::Base).context("mapping memory")?;
            buffer.populate();
            prove_pages(ctx, &buffer, "base")?;
            let refused = prove_pages(ctx, &buffer, "huge");
            assert!(matches!(refused, Err(BenchError::Unsupported(_))), "{refused:?}");
            ctx.state(1.0);
            Ok(())
        }
        fn huge(ctx: &mut Ctx) -> Outcome {
            let bytes = 2 * huge_page_size().ok_or_else(|| BenchError::Unsupported("no huge pages here".to_owned()))?;
            sys::process::allow_huge_pages();
            let mut buffer = Map::anonymous(bytes, Policy::Transparent).context("mapping memory")?;
            buffer.populate();
            prove_pages(ctx, &buffer, "huge")?;
            prove_pages(ctx, &buffer, "base")?;
            ctx.state(1.0);
            Ok(())
        }
        let held = |run| try_failing(&stating(run), &[], None).map(|tried| tried.proofs_held(""));
        assert!(held(base).expect("memory").iter().all(|holds| *holds));
        match held(huge) {
            Ok(held) => assert_eq!(held, [true, false]),
            Err(stop) => eprintln!("skipped: {stop}"),
        }
    }
}
