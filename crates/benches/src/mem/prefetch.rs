//! Prefetch check: whether prefetchers disturb the chains of `mem.latency`.
//!
//! **Measures:** The latency of memory along chains with nodes 64 to 512 bytes apart that stay
//! within groups of 1 to all pages, each divided by that of chains which no prefetcher foresees
//! (512 bytes apart, groups of 16 and 32 pages). The main value is that of the chain that
//! `mem.latency` uses for memory (256 bytes, 32 pages): 1 if it is as clean. `lines` is the chain
//! with a node in every line, `page_local` one that finishes each page before the next: they show
//! how much of memory's latency the prefetchers of neighbouring lines and of regions hide from such
//! programs. All ratios are facts.
//!
//! **Does not measure:** Prefetchers of strides (no chain has one), or those that learn a lap (no
//! lap is walked twice).
//!
//! **Method:** An area and a chain of 16384 nodes for each pair of parameters, all built first.
//! Then their nodes are flushed from all caches, and each chain is walked in two turns of three
//! short windows, of which the fastest counts, on parts not walked before. Where lines cannot be
//! flushed (no `clflush`), a larger buffer is made present instead, which displaces them. Huge
//! pages are used where available: every base page costs a translation, which chains with few nodes
//! a page pay more often. The difference of two spacings need not be due to a prefetcher alone:
//! nodes of one DRAM row come faster as well. The fact `verdict` is `clean` when the chain of
//! `mem.latency` reads at least 0.9 of the clean value, otherwise `polluted` (Sapphire Rapids is a
//! border case: 0.88 to 0.97 within groups, 0.97 without, and 0.7 at 128 bytes).
//!
//! **Proofs:** None of the compared chains came round to its start.
//!
//! **Pitfalls:**
//! - A chain that was just built is in the last-level cache, whatever size counts as memory.
//! - A second lap finds the nodes of the first in the cache.
//! - At 64 bytes no group is large enough (53 to 114 of 135 ns, AMD Zen 4 guest).
//!
//! **Sources:** docs/methods/memory.md#prefetch-check and docs/methods/memory.md#page-groups.

use super::{FAR_SPACING, GROUP_PAGES};
use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::arch::CHASE_UNROLL;
use groma_harness::sys::chase::Chain;
use groma_harness::sys::pages::{Map, Policy, page_size};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Latency of mem.latency's chain, over chains that defeat prefetch",
        about: about!("prefetch.rs"),
        quantity: Quantity::Ratio,
        iteration: "64 dependent loads from memory",
        timing: Timing::Stated,
        outputs: &[
            Output::MAIN,
            Output::named("lines", "the same with a node in every line"),
            Output::named("page_local", "the same with each page finished before the next"),
        ],
        scaling: Scaling::alone("it states ratios instead of taking samples that could overlap"),
        tier: Tier::Standard,
        target_half_width: 0.05,
        ..Info::new("mem.prefetch")
    },
    run: Run::Here(run),
};

/// Node spacings in bytes, and pages in a group; the last means all.
const SPACINGS: [usize; 4] = [64, 128, 256, 512];
const GROUPS: [usize; 5] = [1, 4, 16, 32, usize::MAX];
/// Nodes of a chain.
const NODES: usize = 16_384;
/// Number of turns, and windows in each.
const TURNS: usize = 2;
const WINDOWS: u32 = 3;
/// Iterations of a window at most. As many windows as are asked for and two more, which look for
/// the number of iterations, visit half of the nodes then. Beside a busy task an interval is
/// longer, and without a limit chains came round to their start (Granite Rapids).
const MAX_WINDOW_ITERS: u64 = NODES as u64 / CHASE_UNROLL / (TURNS as u64 * (WINDOWS as u64 + 2)) * 4 / 5;
/// Bytes that are made present to empty the caches where lines cannot be flushed.
const OTHER: usize = 128 << 20;
/// The least share of the clean value with the verdict `clean`.
const CLEAN: f64 = 0.9;

/// Nanoseconds per load, by spacing and group.
type Grid = [[f64; GROUPS.len()]; SPACINGS.len()];

/// The clean value: nodes furthest apart, in groups larger than a region prefetcher follows and
/// smaller than the reach of the TLB.
fn clean(grid: &Grid) -> f64 {
    let row = &grid[SPACINGS.len() - 1];
    (row[2] + row[3]) / 2.0
}

/// Whether a chain is one of those that the proof compares.
fn counts(s: usize, g: usize) -> bool {
    (s == SPACINGS.len() - 1 && (g == 2 || g == 3)) || place(FAR_SPACING, GROUP_PAGES) == Some((s, g))
}

fn place(spacing: usize, group: usize) -> Option<(usize, usize)> {
    Some((SPACINGS.iter().position(|s| *s == spacing)?, GROUPS.iter().position(|g| *g == group)?))
}

fn run(ctx: &mut Ctx) -> Outcome {
    let (page, room) = (page_size(), sys::facts::available_memory().unwrap_or(u64::MAX));
    let bytes: usize = SPACINGS.iter().map(|s| s * NODES * GROUPS.len()).sum();
    if (bytes + OTHER) as u64 > room / 4 {
        return Err(BenchError::Unsupported(format!(
            "needs {} B, and a quarter of the {room} B available is less",
            bytes + OTHER
        )));
    }
    let mut buffer = Map::anonymous(bytes, Policy::Transparent)
        .or_else(|_| Map::anonymous(bytes, Policy::Base))
        .context("mapping the buffer")?;
    buffer.populate();
    if let Some(huge) = buffer.huge_bytes() {
        ctx.fact("pages.huge_share", format!("{:.3}", huge as f64 / buffer.len() as f64));
    }
    let mut rest = &mut buffer[..];
    let mut chains = Vec::new();
    for (s, spacing) in SPACINGS.into_iter().enumerate() {
        for (g, group) in GROUPS.into_iter().enumerate() {
            let (area, after) = rest.split_at_mut(spacing * NODES);
            rest = after;
            let rng = ctx.rng();
            let group = group.min(area.len() / page);
            let chain = Chain::translation_amortised(area, spacing, group, page, |n| rng.below(n));
            chains.push((s, g, chain.map_err(BenchError::Unsupported)?));
        }
    }
    let mut flushed = true;
    for (s, _, chain) in &mut chains {
        flushed &= chain.flush(SPACINGS[*s]);
    }
    let _caches = (!flushed).then(|| Map::anonymous(OTHER, Policy::Base).map(|mut other| other.populate()));
    ctx.fact("prefetch.flushed", flushed);

    let mut grid: Grid = [[f64::INFINITY; GROUPS.len()]; SPACINGS.len()];
    let mut walked = vec![0u64; chains.len()];
    // Each turn in another order, so that a disturbance does not always hit the same chain.
    let mut order: Vec<usize> = (0..chains.len()).collect();
    for _ in 0..TURNS {
        ctx.rng().shuffle(&mut order);
        for &i in &order {
            let (s, g, chain) = &mut chains[i];
            let cost = work::probe_at_most(ctx, WINDOWS, MAX_WINDOW_ITERS, CHASE_UNROLL, |iters| {
                let loads = chain.walk(iters * CHASE_UNROLL);
                walked[i] += loads;
                Ok(loads)
            })?;
            // Seconds, not cycles: memory has a clock of its own.
            let ns = &mut grid[*s][*g];
            *ns = ns.min(cost.seconds * 1e9 / CHASE_UNROLL as f64);
        }
    }
    // A chain that came round to its start found its own lines in a cache.
    let mut furthest = 0.0f64;
    for ((s, g, _), loads) in chains.iter().zip(&walked) {
        let laps = *loads as f64 / NODES as f64;
        if laps >= 1.0 {
            grid[*s][*g] = f64::NAN;
        }
        if counts(*s, *g) {
            furthest = furthest.max(laps);
        }
    }
    ctx.prove("laps of the chains that are compared", "below 1", furthest, ..1.0);
    state(ctx, &grid);
    Ok(())
}

/// Of the clean value: the chain of `mem.latency`, one with a node in every line, and one that
/// finishes each page before the next.
fn ratios(grid: &Grid) -> [(&'static str, Option<f64>); 3] {
    let chains =
        [("", FAR_SPACING, GROUP_PAGES), ("lines", SPACINGS[0], GROUP_PAGES), ("page_local", FAR_SPACING, GROUPS[0])];
    let ratio = |spacing, group| place(spacing, group).map(|(s, g)| grid[s][g] / clean(grid));
    chains.map(|(name, spacing, group)| (name, ratio(spacing, group)))
}

/// States how much less the chains take that prefetchers reach, of the time of those that they do
/// not reach.
fn state(ctx: &mut Ctx, grid: &Grid) {
    let reference = clean(grid);
    for (spacing, row) in SPACINGS.iter().zip(grid) {
        let words = row.map(|ns| format!("{:.2}", ns / reference)).join(" ");
        ctx.fact(&format!("prefetch.spacing_{spacing}"), words);
    }
    ctx.fact("prefetch.groups", "1 4 16 32 all");
    ctx.fact("prefetch.clean_ns", format!("{reference:.0}"));
    let [(_, taken), others @ ..] = ratios(grid);
    let taken = taken.unwrap_or(f64::NAN);
    ctx.fact("verdict", if taken >= CLEAN { "clean" } else { "polluted" });
    ctx.state(taken);
    for (name, ratio) in others {
        match ratio.filter(|ratio| ratio.is_finite()) {
            Some(ratio) => ctx.state_as(name, ratio),
            None => ctx.unresolved(name, "the chain came round to its start"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn the_parameters_of_the_latency_curve_are_in_the_grid() {
        assert_eq!(place(FAR_SPACING, GROUP_PAGES), Some((2, 3)));
        assert_eq!(place(SPACINGS[0], GROUP_PAGES), Some((0, 3)));
        assert_eq!(place(FAR_SPACING, 1), Some((2, 0)));
        assert_eq!(place(FAR_SPACING, 33), None);
    }

    /// The chain of the curve, and the two that it is compared with.
    #[test]
    fn the_proof_looks_at_the_chains_that_are_compared() {
        let all = (0..SPACINGS.len()).flat_map(|s| (0..GROUPS.len()).map(move |g| (s, g)));
        assert_eq!(all.filter(|(s, g)| counts(*s, *g)).collect::<Vec<_>>(), [(2, 3), (3, 2), (3, 3)]);
    }

    /// A chain that came round to its start has no value; the others keep theirs.
    #[test]
    fn the_verdict_is_of_the_main_chain_and_each_output_of_its_own() {
        fn grid(main: f64) -> Grid {
            let mut grid = [[50.0; GROUPS.len()]; SPACINGS.len()];
            grid[3] = [60.0, 70.0, 90.0, 110.0, 80.0];
            grid[2] = [30.0, 40.0, 45.0, main, 55.0];
            grid[0][3] = f64::NAN;
            grid
        }
        fn below(ctx: &mut Ctx) -> Outcome {
            state(ctx, &grid(89.0));
            Ok(())
        }
        fn at_the_limit(ctx: &mut Ctx) -> Outcome {
            state(ctx, &grid(90.0));
            Ok(())
        }
        let runs: [fn(&mut Ctx) -> Outcome; 2] = [below, at_the_limit];
        for (run, (main, verdict)) in runs.into_iter().zip([(0.89, "polluted"), (0.9, "clean")]) {
            let bench = Benchmark { info: BENCH.info, run: Run::Here(run) };
            let tried = try_out(&bench, &[], None).expect("ratios");
            let value = |name: &str| tried.stated(name);
            assert_eq!((value(""), value("page_local"), value("lines")), (Some(main), Some(0.3), None));
            assert!(tried.unresolved("lines").is_some());
            assert_eq!(tried.result.fact("verdict"), Some(verdict));
            assert_eq!(tried.result.fact("prefetch.clean_ns"), Some("100"));
        }
    }

    #[test]
    fn the_clean_value_is_of_the_clean_chains_alone() {
        let mut grid = [[1.0; GROUPS.len()]; SPACINGS.len()];
        grid[3] = [40.0, 80.0, 120.0, 124.0, 150.0];
        assert_eq!(clean(&grid), 122.0);
    }

    #[test]
    fn every_chain_is_walked_and_none_twice_or_the_proof_says_so() {
        match try_out(&BENCH, &[], None) {
            Ok(tried) => {
                for spacing in SPACINGS {
                    let key = format!("prefetch.spacing_{spacing}");
                    let row = tried.result.fact(&key).map(str::to_owned);
                    let row = row.expect("a row of the grid");
                    assert_eq!(row.split(' ').filter(|r| r.parse::<f64>().is_ok()).count(), 5, "{row}");
                }
                let verdict = tried.result.fact("verdict");
                assert!(matches!(verdict, Some("clean" | "polluted")), "{verdict:?}");
                assert_eq!(tried.result.output.proofs.len(), 1);
            }
            Err(BenchError::Unsupported(why)) => println!("skipped: {why}"),
            Err(stop) => panic!("{stop}"),
        }
    }

    #[test]
    fn each_output_is_that_of_its_chain() {
        // The rows are the spacings, the columns the groups: 1, 4, 16, 32 and all pages.
        let grid = [
            [1.0, 2.0, 3.0, 10.0, 5.0],
            [6.0, 7.0, 8.0, 20.0, 9.0],
            [30.0, 11.0, 12.0, 90.0, 13.0],
            [14.0, 15.0, 100.0, 100.0, 16.0],
        ];
        assert_eq!(ratios(&grid), [("", Some(0.9)), ("lines", Some(0.1)), ("page_local", Some(0.3))]);
    }
}
