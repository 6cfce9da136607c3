//! Which probe tells best whether a core is shared, chosen by trial before the first round.
//!
//! The candidates take turns, so that they meet the same neighbours; the one whose best
//! mode is steadiest is taken (docs/methods/neighbour.md#block). The probe itself is
//! `Instruments::issue_rate`. Not here: what its answers mean for a sample (`labels`).

use crate::instruments::{Instruments, PROBE_TURNS, block_of};
use crate::model::{CoreProbe, IssueBlock, RateCounts};
use crate::sys::{affinity, arch};
use groma_stats::best_mode::{BestMode, best_mode, log_bin};
use groma_stats::common_step;
use groma_stats::order;

/// The counter counts at least this far during the block of every candidate, or the probe is made
/// longer.
const TICKS: u64 = 200;
/// The longest probe, in those of length 1: 60 us.
const LONGEST: u64 = 20;
/// CPUs that are tried: more would only take longer.
const CPUS: usize = 4;
/// Rates within this factor of the best mode belong to it.
const OF_BEST: f64 = 0.95;
/// A spread counts as smaller only if it is smaller by this factor.
const STEADIER: f64 = 0.8;
/// The candidates. Of equally steady ones the first is taken: the mixed block loses most beside a
/// busy sibling, a third on a Zen 5 where additions lose a seventh
/// (docs/methods/neighbour.md#block).
const CANDIDATES: [IssueBlock; 4] = [IssueBlock::Mixed, IssueBlock::Additions, IssueBlock::Moves, IssueBlock::Loads];
/// Readings of the counter from which its step is found; up to ten outliers do not matter.
const READINGS: usize = 10_000;

/// A candidate and what it said.
struct Trial {
    block: IssueBlock,
    rates: Vec<f64>,
}

impl Trial {
    /// The best mode and its spread: the middle half of the rates that belong to it.
    fn best(&self) -> Option<(BestMode, f64)> {
        let mut counts = RateCounts::default();
        self.rates.iter().filter_map(|rate| log_bin(*rate)).for_each(|bin| counts.count(bin, 1));
        let best = best_mode(&counts.0)?;
        let of_best: Vec<f64> = self.rates.iter().copied().filter(|rate| *rate > OF_BEST * best.center).collect();
        let quartile = |p| order::quantile(&of_best, p);
        Some((best, (quartile(0.75)? - quartile(0.25)?) / best.center))
    }
}

/// The ticks of a block of length 1.
fn ticks(block: IssueBlock) -> u64 {
    let once = || {
        let start = arch::counter_start();
        block_of(block)(PROBE_TURNS);
        arch::counter_start().wrapping_sub(start)
    };
    (0..5).map(|_| once()).min().unwrap_or(1).max(1)
}

/// The step of the counter, in ticks: 26 on a Zen 5
/// (docs/methods/neighbour.md#block).
fn counter_step() -> u64 {
    let readings: Vec<u64> = (0..READINGS).map(|_| arch::counter_start()).collect();
    let differences: Vec<u64> = readings.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect();
    common_step(&differences).unwrap_or(1)
}

/// Tries the candidates for about `time_ns` on these CPUs, one after the other: two that share a
/// core would only find each other. `None` where there is no counter, or too little was seen.
///
/// The calling thread stays on the last of them.
pub fn choose(ins: &impl Instruments, cpus: &[u32], time_ns: u64) -> Option<CoreProbe> {
    arch::counter_usable().ok()?;
    // If the counter is too coarse for the shortest candidate, it is not used for any.
    let fewest = CANDIDATES.into_iter().map(ticks).min().unwrap_or(1);
    let length = TICKS.div_ceil(fewest).clamp(1, LONGEST);
    let probe = CoreProbe { block: CANDIDATES[0], length: length as u32, best: 0.0, shared_below: None };
    let mut trials = CANDIDATES.map(|block| Trial { block, rates: Vec::new() });
    let tried = &cpus[..cpus.len().min(CPUS)];
    for cpu in tried {
        if affinity::pin(*cpu).is_err() {
            continue;
        }
        let start = ins.now_ns();
        while ins.now_ns().saturating_sub(start) < time_ns / tried.len() as u64 {
            for trial in &mut trials {
                trial.rates.extend(ins.issue_rate(&CoreProbe { block: trial.block, ..probe }));
            }
        }
    }
    let (block, best) = steadiest(&trials, counter_step() as f64 / (fewest * length) as f64)?;
    Some(CoreProbe { block, best: best.center, shared_below: best.ends_at, ..probe })
}

/// The candidate whose best mode is steadiest; spreads below `resolution` are equal.
fn steadiest(trials: &[Trial], resolution: f64) -> Option<(IssueBlock, BestMode)> {
    let mut found: Option<(IssueBlock, BestMode, f64)> = None;
    for trial in trials {
        let Some((best, spread)) = trial.best() else { continue };
        let spread = spread.max(resolution);
        if found.is_none_or(|(_, _, least)| spread < STEADIER * least) {
            found = Some((trial.block, best, spread));
        }
    }
    found.map(|(block, best, _)| (block, best))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instruments::Real;
    use groma_stats::rng::Rng;

    /// A candidate with this best rate and spread, shared for a part of the time.
    fn trial(block: IssueBlock, best: f64, spread: f64, shared: f64) -> Trial {
        let mut rng = Rng::new(7);
        let rate = |rng: &mut Rng| if rng.unit() < shared { 0.6 } else { 1.0 } * best * (1.0 + spread * rng.normal());
        Trial { block, rates: (0..2000).map(|_| rate(&mut rng)).collect() }
    }

    #[test]
    fn the_steadiest_block_wins_and_ties_go_to_the_first() {
        use IssueBlock::{Additions, Loads, Moves};
        let block = |trials: &[Trial]| steadiest(trials, 0.0).map(|(block, _)| block);
        let [steady, same, wide] = [(Additions, 0.004), (Moves, 0.0039), (Loads, 0.02)]
            .map(|(block, spread)| move || trial(block, 4.0, spread, 0.3));
        assert_eq!(block(&[steady(), same(), wide()]), Some(Additions));
        assert_eq!(block(&[wide(), same(), steady()]), Some(Moves));
        assert_eq!(block(&[]), None);
        // With a counter that resolves 5 %, the two are equal.
        assert_eq!(steadiest(&[wide(), same(), steady()], 0.05).map(|(block, _)| block), Some(Loads));
        let (_, best) = steadiest(&[steady()], 0.0).expect("a mode");
        assert!(best.ends_at.is_some_and(|end| 2.6 < end && end < 3.95), "{best:?}");
    }

    #[test]
    fn a_real_core_has_a_best_mode() {
        let cpus = affinity::allowed().expect("allowed CPUs");
        let chosen = std::thread::spawn(move || choose(&Real, &cpus, 40_000_000)).join().expect("no panic");
        if let Some(probe) = chosen {
            // Twelve at once is more than any core does.
            assert!(0.3 < probe.best && probe.best < 12.0, "{probe:?}");
            assert!(probe.shared_below.is_none_or(|boundary| boundary < probe.best), "{probe:?}");
        } else {
            assert!(arch::counter_usable().is_err(), "a counter, and no rates");
        }
    }
}
