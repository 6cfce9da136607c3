//! Whether the time of an interval is in proportion to the work in it
//! (docs/methods/timing.md#proportionality-check).

use crate::instruments::Real;
use crate::sys::arch;
use crate::sys::clock::{Clock, Monotonic};
use crate::sys::counters::Usage;
use groma_stats::order;
use groma_stats::rng::Rng;

/// Work counts relative to the shortest (docs/methods/timing.md#proportionality-check).
const SHARES: [f64; 4] = [1.0, 1.005, 1.010, 1.020];
/// The shares that are compared with the first.
const COMPARED: usize = SHARES.len() - 1;
/// Repetitions of each.
const REPEATS: usize = 31;
/// The fewest undisturbed ones that say something.
const MIN_REPEATS: usize = 6;
/// The chains before and after another one agree within this factor, unless the core changed its
/// speed in between: a host's step of the clock is 3 %, a busy sibling thread takes a seventh.
const NEIGHBOURS_AGREE: f64 = 1.002;

/// The largest relative error of time against work for an arithmetic chain at this interval; `None`
/// when too few of the samples were undisturbed.
///
/// Two estimates are made, and the better one counts: an error of the clock is in both, but a core
/// that changes its speed moves one and not the other. Each longer chain is compared with the mean
/// of the shortest before and after it, and the lower quartiles of all times of a length with each
/// other: what is left of interrupts and steal only adds time.
pub(super) fn proportionality(interval_ns: f64, rng: &mut Rng) -> Option<f64> {
    let per_op = {
        let fastest = (0..8).map(|_| crate::instruments::Instruments::frequency_probe_ns(&Real)).min()?;
        fastest as f64 / crate::instruments::FREQUENCY_PROBE_OPS as f64
    };
    let counts = chain_lengths(interval_ns / per_op);
    let mut timed = |n| {
        let before = Usage::thread();
        let start = Monotonic.now_ns();
        arch::add_chain(n);
        let elapsed = Monotonic.now_ns() - start;
        (Usage::thread().since(&before).involuntary == 0).then_some(elapsed as f64)
    };
    error(&counts, rng, &mut timed)
}

/// The smaller of the errors of the two estimates; `timed` returns the time of a chain of this
/// length, `None` if it was disturbed.
fn error(counts: &[u64; 4], rng: &mut Rng, timed: &mut impl FnMut(u64) -> Option<f64>) -> Option<f64> {
    let mut times: [Vec<f64>; SHARES.len()] = Default::default();
    let mut kept = |n: u64| {
        let time = timed(n);
        let share = counts.iter().position(|count| *count == n);
        if let (Some(time), Some(share)) = (time, share) {
            times[share].push(time);
        }
        time
    };
    let ratios = ratios(counts, rng, &mut kept);
    let of_neighbours = largest_error(counts, |i| quantile_of_enough(&ratios[i], 0.5));
    let quartile = |i: usize| quantile_of_enough(&times[i], 0.25);
    let of_quartiles = largest_error(counts, |i| Some(quartile(i + 1)? / quartile(0)?));
    of_neighbours.into_iter().chain(of_quartiles).reduce(f64::min)
}

/// The time of each longer chain over the mean of the shortest before and after it.
fn ratios(counts: &[u64; 4], rng: &mut Rng, timed: &mut impl FnMut(u64) -> Option<f64>) -> [Vec<f64>; COMPARED] {
    let mut ratios: [Vec<f64>; COMPARED] = Default::default();
    let mut order: Vec<usize> = (0..COMPARED).flat_map(|i| [i; REPEATS]).collect();
    rng.shuffle(&mut order);
    let mut before = timed(counts[0]);
    for i in order {
        let (longer, after) = (timed(counts[i + 1]), timed(counts[0]));
        if let (Some(before), Some(longer), Some(after)) = (before, longer, after)
            && before.max(after) <= NEIGHBOURS_AGREE * before.min(after)
        {
            ratios[i].push(2.0 * longer / (before + after));
        }
        before = after;
    }
    ratios
}

/// The chains of about `base` operations and its [`SHARES`], in whole unrolled blocks: times are
/// compared with the lengths that are really run.
fn chain_lengths(base: f64) -> [u64; 4] {
    let unroll = arch::CHAIN_UNROLL;
    SHARES.map(|share| ((base * share / unroll as f64).round() as u64).max(1) * unroll)
}

/// A quantile; `None` of too few values.
fn quantile_of_enough(values: &[f64], which: f64) -> Option<f64> {
    if values.len() >= MIN_REPEATS { order::quantile(values, which) } else { None }
}

/// The largest relative error of the ratios of times, against those of the lengths; `ratio` is that
/// of a longer chain, by its index among them.
fn largest_error(counts: &[u64; 4], ratio: impl Fn(usize) -> Option<f64>) -> Option<f64> {
    let error = |i: usize| Some((ratio(i)? / (counts[i + 1] as f64 / counts[0] as f64) - 1.0).abs());
    (0..COMPARED).map(error).try_fold(0.0, |worst, error| Some(f64::max(worst, error?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Host;

    #[test]
    fn the_error_is_the_largest_of_the_medians() {
        let counts = [1000, 1005, 1010, 1020];
        // In proportion, but for interrupts in a third of the samples.
        let disturbed = |i: usize| -> Vec<f64> {
            let ratio = counts[i + 1] as f64 / counts[0] as f64;
            (0..31).map(|n| ratio * if n % 3 == 0 { 1.5 } else { 1.0 }).collect()
        };
        let all = || [0, 1, 2].map(disturbed);
        let error_of = |ratios: &[Vec<f64>; COMPARED]| largest_error(&counts, |i| quantile_of_enough(&ratios[i], 0.5));
        assert!(error_of(&all()).is_some_and(|error| error < 1e-12));
        // One of the three is 0.3 % off; the sign does not matter.
        for (i, off) in [(0, 1.003), (1, 0.997), (2, 1.003)] {
            let mut ratios = all();
            ratios[i].iter_mut().for_each(|ratio| *ratio *= off);
            let error = error_of(&ratios).expect("enough samples");
            assert!((error - 0.003).abs() < 1e-9, "{i}: {error}");
        }
        for i in 0..COMPARED {
            let mut ratios = all();
            ratios[i].truncate(MIN_REPEATS);
            assert!(error_of(&ratios).is_some());
            ratios[i].truncate(MIN_REPEATS - 1);
            assert_eq!(error_of(&ratios), None);
        }
    }

    /// A core whose clock wanders by 15 % within the check, in steps as a host makes them, and a
    /// clock that makes intervals longer than the shortest one 0.5 % too short or too long.
    #[test]
    fn a_core_that_changes_its_speed_passes_and_a_wrong_clock_does_not() {
        let counts = [640_000, 643_200, 646_400, 652_800];
        for seed in 0..200 {
            let mut rng = Rng::new(seed);
            let mut chance = Rng::new(seed + 1000);
            let error_of = |wrong: f64, rng: &mut Rng, chance: &mut Rng| {
                let mut ns_per_op = 0.3;
                let mut timed = |n: u64| {
                    if chance.below(5) == 0 {
                        ns_per_op = 0.28 + 0.01 * chance.below(5) as f64;
                    }
                    let longer = if n > counts[0] { 1.0 + wrong } else { 1.0 };
                    let jitter = 1.0 + chance.below(100) as f64 * 2e-6;
                    Some((n as f64 * ns_per_op * longer * jitter).round())
                };
                error(&counts, rng, &mut timed).expect("undisturbed")
            };
            let right = error_of(0.0, &mut rng, &mut chance);
            assert!(right <= Host::PROPORTIONALITY_LIMIT, "{seed}: {right}");
            for wrong in [0.005, -0.005] {
                let error = error_of(wrong, &mut rng, &mut chance);
                assert!(error > Host::PROPORTIONALITY_LIMIT, "{seed}: {error}");
            }
        }
    }

    #[test]
    fn chains_have_whole_blocks_and_at_least_one() {
        let blocks = |base: f64| chain_lengths(base * arch::CHAIN_UNROLL as f64).map(|n| n / arch::CHAIN_UNROLL);
        assert_eq!(blocks(10_000.0), [10_000, 10_050, 10_100, 10_200]);
        assert_eq!(blocks(0.1), [1; 4]);
        assert!(chain_lengths(12_345.6).iter().all(|n| n % arch::CHAIN_UNROLL == 0));
    }

    #[test]
    fn chains_that_are_timed_fill_the_interval_and_are_in_proportion() {
        let (interval_ns, tries) = (200_000.0, 20);
        let mut rng = Rng::new(1);
        let in_proportion = (0..tries).any(|_| {
            let start = Monotonic.now_ns();
            let error = proportionality(interval_ns, &mut rng);
            let took = Monotonic.now_ns() - start;
            // Disturbances only add time; half is for a core that became faster after its probe.
            assert!(took as f64 > (2 * COMPARED * REPEATS) as f64 * interval_ns / 2.0, "{took}");
            // Less than what sets the shares apart, or the lengths would not matter.
            error.is_some_and(|error| error > 0.0 && error < (SHARES[1] - SHARES[0]))
        });
        assert!(in_proportion);
    }
}
