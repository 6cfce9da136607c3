//! Whether the prefetchers leave the chains of `mem.latency` alone: the self-test of its parameters.
//!
//! Measures the latency of memory along chains with nodes S = 64 to 512 bytes apart that stay within groups of G = 1 to all pages,
//! each over that of chains which nothing foresees (512 bytes apart, groups of 16 and 32 pages). The main value is that of the
//! chain that `mem.latency` takes for memory (256 bytes, 32 pages): 1, when it is as clean. `lines` is the chain with a node
//! in every line, `page_local` one that finishes each page before the next: how much of memory's latency the prefetchers of
//! neighbouring lines and of regions hide from chains like those of other programs. All ratios are facts. Does not
//! measure prefetchers of strides (nothing here has one), nor those that learn a lap: no lap is walked twice.
//!
//! Method: an area and a chain of 16384 nodes for each pair of parameters, all built first; then their nodes are flushed out of
//! all caches, and each chain is walked in three turns of short windows, of which the fastest counts, on parts not walked before.
//! Where lines cannot be flushed (no `clflush`), a larger buffer is made present meanwhile, which takes the caches for itself.
//!
//! Huge pages, where there are any: every base page costs a translation, which chains with few nodes a page pay oftener. What is
//! left between two spacings need not be a prefetcher alone: nodes of one row of a memory chip come faster as well.
//!
//! Fact `verdict`: `clean` when the parameters of `mem.latency` read at least 0.9 of what they should, else `polluted` (Sapphire
//! Rapids lies on the border: 0.88 to 0.97 within groups, 0.97 without, and 0.7 at 128 bytes). Proof: none of the chains
//! compared came to its start again.
//!
//! Traps: a chain that was just built lies in the last-level cache, however large the machine calls its memory; a second lap finds
//! the nodes of the first there; at 64 bytes no group is large enough (memory-methods.md M2: 53 to 114 of 135 ns).
//!
//! Source: memory-methods.md M2, finding 4.

use super::{FAR_SPACING, GROUP_PAGES};
use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::arch::CHASE_UNROLL;
use groma_harness::sys::chase::Chain;
use groma_harness::sys::pages::{Map, Policy, page_size};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Latency of memory along mem.latency's chain, over that of chains that nothing foresees",
        about: about!("prefetch.rs"),
        quantity: Quantity::Ratio,
        iteration: "64 dependent loads from memory",
        timing: Timing::Stated,
        outputs: &[
            Output::MAIN,
            Output {
                suffix: "lines",
                summary: "the same with a node in every line",
                derivation: Derivation::Series("lines"),
                quantity: None,
                detail: false,
            },
            Output {
                suffix: "page_local",
                summary: "the same with each page finished before the next",
                derivation: Derivation::Series("page_local"),
                quantity: None,
                detail: false,
            },
        ],
        scaling: Scaling::alone("it states ratios instead of taking samples that could overlap"),
        quick: false,
        target_half_width: 0.05,
        ..Info::new("mem.prefetch")
    },
    run: Run::Here(run),
};

/// Distances of nodes, and pages in a group; the last means all.
const SPACINGS: [usize; 4] = [64, 128, 256, 512];
const GROUPS: [usize; 5] = [1, 4, 16, 32, usize::MAX];
/// Nodes of a chain: several times what its windows walk.
const NODES: usize = 16_384;
/// Turns, and windows in each.
const TURNS: usize = 2;
const WINDOWS: u32 = 3;
/// What is made present to empty the caches where lines cannot be flushed.
const OTHER: usize = 128 << 20;
/// What of the clean value a chain reads that nothing foresees.
const CLEAN: f64 = 0.9;

/// Nanoseconds of a load by spacing and group.
type Grid = [[f64; GROUPS.len()]; SPACINGS.len()];

/// The value that nothing foresees: nodes furthest apart, groups beyond what a prefetcher of regions follows, and below what the
/// TLB reaches.
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
    // Each turn in another order, so that what disturbs it does not always meet the same chain.
    let mut order: Vec<usize> = (0..chains.len()).collect();
    for _ in 0..TURNS {
        ctx.rng().shuffle(&mut order);
        for &i in &order {
            let (s, g, chain) = &mut chains[i];
            let cost = work::probe(ctx, WINDOWS, CHASE_UNROLL, |iters| {
                let loads = chain.walk(iters * CHASE_UNROLL);
                walked[i] += loads;
                Ok(loads)
            })?;
            // Seconds, not cycles: memory has a clock of its own.
            let ns = &mut grid[*s][*g];
            *ns = ns.min(cost.seconds * 1e9 / CHASE_UNROLL as f64);
        }
    }
    // Where a chain was so fast that it came to its start again, it met its own lines in a cache.
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
    let reference = clean(&grid);
    for (spacing, row) in SPACINGS.iter().zip(&grid) {
        let words = row.map(|ns| format!("{:.2}", ns / reference)).join(" ");
        ctx.fact(&format!("prefetch.spacing_{spacing}"), words);
    }
    ctx.fact("prefetch.groups", "1 4 16 32 all");
    ctx.fact("prefetch.clean_ns", format!("{reference:.0}"));
    let ratio = |spacing, group| place(spacing, group).map(|(s, g)| grid[s][g] / reference);
    let taken = ratio(FAR_SPACING, GROUP_PAGES).unwrap_or(f64::NAN);
    ctx.fact("verdict", if taken >= CLEAN { "clean" } else { "polluted" });
    ctx.state(taken);
    for (name, spacing, group) in [("lines", SPACINGS[0], GROUP_PAGES), ("page_local", FAR_SPACING, GROUPS[0])] {
        match ratio(spacing, group).filter(|ratio| ratio.is_finite()) {
            Some(ratio) => ctx.state_as(name, ratio),
            None => ctx.unresolved(name, "the chain came to its start again"),
        }
    }
    Ok(())
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
                assert_eq!(tried.result.proofs.len(), 1);
            }
            Err(BenchError::Unsupported(why)) => println!("skipped: {why}"),
            Err(stop) => panic!("{stop}"),
        }
    }
}
