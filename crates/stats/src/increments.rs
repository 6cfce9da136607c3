//! The step of a clock, from the differences of its readings.
//!
//! `clock_getres` reports a step that the clock does not have, and one odd reading is enough to
//! falsify both the smallest difference and the greatest common divisor of all: a smallest
//! difference of 0.39 ns was seen where the step is 10 ns
//! (docs/methods/timing.md#clock-resolution). The step that most readings show is reliable.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The share of the differences that a common step may leave unexplained: 0.1 %
/// (docs/methods/statistics.md#increments).
const UNEXPLAINED: f64 = 0.001;

/// The step of a clock as the most frequent positive difference of successive readings; of equally
/// frequent ones, the smaller.
///
/// Too large if reading the clock takes longer than its step, which is safe for choosing the length
/// of timed intervals. `None` without a positive difference.
#[must_use]
pub fn mode_step(deltas: &[u64]) -> Option<u64> {
    by_frequency(deltas).first().map(|&(delta, _)| delta)
}

/// The step of a clock as the largest number that divides at least 99.9 % of the positive
/// differences.
///
/// Finer than [`mode_step`] if a reading takes several steps. For a clock whose step is not a whole
/// number of units (41.67 ns) the result is 1: it never reports a step that the readings
/// contradict. `None` without a positive difference.
#[must_use]
pub fn common_step(deltas: &[u64]) -> Option<u64> {
    let counts = by_frequency(deltas);
    let total: usize = counts.iter().map(|(_, count)| count).sum();
    let unexplained = (total as f64 * UNEXPLAINED) as usize;

    // Stops at differences that are together too frequent to stay unexplained: the step divides at
    // least one of them.
    let mut seen = 0;
    let frequent = counts.iter().take_while(|(_, count)| {
        let needed = seen <= unexplained;
        seen += count;
        needed
    });
    let explains = |step: &u64| {
        let odd: usize = counts.iter().filter(|(delta, _)| delta % step != 0).map(|(_, count)| count).sum();
        odd <= unexplained
    };
    frequent.flat_map(|&(delta, _)| common_divisors(delta, &counts)).filter(explains).max()
}

/// The positive differences with their counts, the most frequent first; of equally frequent ones,
/// the smaller first.
fn by_frequency(deltas: &[u64]) -> Vec<(u64, usize)> {
    let mut counts = BTreeMap::new();
    for &delta in deltas.iter().filter(|&&delta| delta > 0) {
        *counts.entry(delta).or_insert(0) += 1;
    }
    let mut counts: Vec<(u64, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|&(_, count)| Reverse(count));
    counts
}

/// The greatest common divisors of `delta` with every subset of the others.
fn common_divisors(delta: u64, counts: &[(u64, usize)]) -> BTreeSet<u64> {
    let mut divisors = BTreeSet::from([delta]);
    for &(other, _) in counts {
        let finer: Vec<u64> = divisors.iter().map(|&divisor| gcd(divisor, other)).collect();
        divisors.extend(finer);
    }
    divisors
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step of 10 with one odd reading that makes the minimum 3 and the greatest common divisor 1
    /// (docs/methods/timing.md#clock-resolution).
    #[test]
    fn one_odd_reading_changes_nothing() {
        let mut deltas = [20, 20, 20, 30, 0, 20, 30, 40, 20, 20].repeat(1000);
        deltas.extend([3, 7_001]);
        assert_eq!(mode_step(&deltas), Some(20));
        assert_eq!(common_step(&deltas), Some(10));
    }

    /// Readings in ticks of 26, and one reading of 1 that reduces the greatest common divisor to 1
    /// (docs/methods/statistics.md#increments).
    #[test]
    fn a_step_that_the_common_divisor_of_all_misses() {
        let mut deltas: Vec<u64> = (0..100_000).map(|index| 26 * (2 + index % 5)).collect();
        deltas.push(53);
        assert_eq!(deltas.iter().copied().fold(0, gcd), 1);
        assert_eq!(common_step(&deltas), Some(26));
    }

    #[test]
    fn unexplained_is_at_most_one_in_a_thousand() {
        let with_odd = |odd: usize| [vec![10; 1000 * 2 - odd], vec![7; odd]].concat();
        assert_eq!(common_step(&with_odd(2)), Some(10));
        assert_eq!(common_step(&with_odd(3)), Some(1));
    }

    /// Steps of 10 ns, 1 us, 1 ms and 10 ms, read about every 37 ns
    /// (docs/methods/statistics.md#increments).
    #[test]
    fn steps_of_fake_clocks() {
        let mut rng = crate::Rng::new(3);
        for step in [10, 1_000, 1_000_000, 10_000_000] {
            let mut now = 0;
            let deltas: Vec<u64> = (0..1_000_000)
                .map(|_| {
                    let before = now / step * step;
                    now += 33 + rng.below(8);
                    now / step * step - before
                })
                .collect();
            assert_eq!(
                common_step(&deltas),
                (step < 10_000_000 || deltas.iter().any(|&delta| delta > 0)).then_some(step)
            );
            assert_eq!(mode_step(&deltas), Some(step.max(40)), "reading costs 37 ns, so most differences are 40");
        }
    }

    /// 24.576 MHz: 40.69 ns. No whole number of nanoseconds explains 40 and 41.
    #[test]
    fn a_step_that_is_not_a_whole_number_of_units() {
        let ticks = |tick: u64| tick * 1_000_000 / 24_576;
        let deltas: Vec<u64> = (0..10_000).map(|tick| ticks(tick + 1) - ticks(tick)).collect();
        assert_eq!(mode_step(&deltas), Some(41));
        assert_eq!(common_step(&deltas), Some(1));
    }

    /// No difference occurs twice, so many must be examined; the step is still 6.
    #[test]
    fn a_step_among_differences_that_all_differ() {
        let deltas: Vec<u64> = (1..=5_000).map(|index| 6 * index).chain([35]).collect();
        assert_eq!(common_step(&deltas), Some(6));
    }

    #[test]
    fn ties_go_to_the_smaller_step() {
        assert_eq!(mode_step(&[30, 20, 20, 30]), Some(20));
    }

    #[test]
    fn a_clock_that_stands_still_has_no_step() {
        assert_eq!((mode_step(&[]), common_step(&[])), (None, None));
        assert_eq!((mode_step(&[0, 0]), common_step(&[0, 0])), (None, None));
        assert_eq!(common_step(&[u64::MAX, u64::MAX]), Some(u64::MAX));
    }
}
