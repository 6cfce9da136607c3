//! Confidence intervals of a median from order statistics, without bootstrap or normal theory
//! (docs/methods/statistics.md#order-statistics, docs/methods/statistics.md#rejected-intervals).
//!
//! Intervals are closed: with ties, a true median equal to an end is inside.

use crate::binomial;
use crate::order::{ends_are_finite, median_sorted, sorted};

/// A closed interval of values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Whether `value` is inside or on an end.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Half of the width as a share of the absolute value of `center`; `None` if `center` is 0 or
    /// not finite.
    #[must_use]
    pub fn half_width_relative(&self, center: f64) -> Option<f64> {
        let relative = (self.high - self.low) / 2.0 / center.abs();
        (relative.is_finite() && center.is_finite()).then_some(relative)
    }
}

/// The exact interval of the median, which covers with *at least* `confidence` for every
/// distribution: from the k-th smallest to the k-th largest of independent values, with the largest
/// k that the binomial distribution allows.
///
/// At 95 %: ranks 1 to n for n = 6..8, (2, 10) for n = 11, (10, 22) for n = 31, (41, 61) for n =
/// 101. `None` if even minimum to maximum covers less (n < 6 at 95 %), for values that are not
/// finite, and for a confidence outside (0, 1).
#[must_use]
pub fn median_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    median_interval_sorted(&sorted(values), confidence)
}

/// [`median_interval`] of values that are sorted already.
#[must_use]
pub fn median_interval_sorted(sorted: &[f64], confidence: f64) -> Option<Interval> {
    let ranks = Ranks::of(sorted.len(), confidence)?;
    from_rank(sorted, ranks.low)
}

/// The interval of the median that covers with *about* `confidence`: between the exact interval and
/// the next narrower one, interpolated after Hettmansperger and Sheather, "Confidence intervals
/// based on interpolated order statistics", Statistics & Probability Letters 1986. It covered
/// 93.7-96.2 % on every independent distribution tried (docs/methods/statistics.md#interpolation).
/// Use it for display only, not for verdicts.
///
/// `None` in the same cases as [`median_interval`].
#[must_use]
pub fn median_interval_interpolated(values: &[f64], confidence: f64) -> Option<Interval> {
    median_interval_interpolated_sorted(&sorted(values), confidence)
}

/// [`median_interval_interpolated`] of values that are sorted already.
#[must_use]
pub fn median_interval_interpolated_sorted(sorted: &[f64], confidence: f64) -> Option<Interval> {
    let ranks = Ranks::of(sorted.len(), confidence)?;
    let outer = from_rank(sorted, ranks.low)?;
    let inner = Interval { low: *sorted.get(ranks.low)?, high: *sorted.get(sorted.len() - 1 - ranks.low)? };
    let excess = (ranks.coverage - confidence) / (ranks.coverage - ranks.coverage_inner);
    let (n, k) = (sorted.len() as f64, ranks.low as f64);
    let inward = (n - k) * excess / (k + (n - 2.0 * k) * excess);
    Some(Interval {
        low: outer.low * (1.0 - inward) + inner.low * inward,
        high: outer.high * (1.0 - inward) + inner.high * inward,
    })
}

/// [`median_interval`] for values of one process in time order, its ranks pushed outward because
/// such values depend on each other. **Within-process only**: it does not see the difference
/// between processes, which is most of the variation (docs/methods/statistics.md#rounds), so never
/// show it next to a headline.
///
/// The distance of the ranks from the middle is multiplied by the root of D = 1 + 2 (sum of the
/// autocorrelations of "above or below the median"); the sum ends at the first pair that is not
/// positive (Geyer, "Practical Markov chain Monte Carlo", Statistical Science 1992). It covers too
/// little where regimes last long compared with n (64 % at n = 31,
/// docs/methods/statistics.md#serial-correlation), and never reaches past the minimum and the
/// maximum. `None` in the same cases as [`median_interval`].
#[must_use]
pub fn widened_interval(in_time_order: &[f64], confidence: f64) -> Option<Interval> {
    let sorted = sorted(in_time_order);
    let ranks = Ranks::of(sorted.len(), confidence)?;
    let widening = variance_inflation(in_time_order, median_sorted(&sorted)?).sqrt();
    let middle = (sorted.len() + 1) as f64 / 2.0;
    let rank = middle - (middle - ranks.low as f64) * widening;
    from_rank(&sorted, rank.max(1.0) as usize)
}

/// The ranks of the exact interval, counted from 1: `low` from below, and the same number from
/// above.
struct Ranks {
    low: usize,
    coverage: f64,
    /// The coverage one rank further in on both sides, which is less than requested.
    coverage_inner: f64,
}

impl Ranks {
    fn of(n: usize, confidence: f64) -> Option<Self> {
        if !(confidence > 0.0 && confidence < 1.0) {
            return None;
        }
        // The median lies below the k-th smallest value when at most k - 1 values are below the
        // median.
        let at_most = binomial::cumulative(n);
        let coverage = |rank: usize| 1.0 - 2.0 * at_most[rank - 1];
        let low = at_most.partition_point(|tail| 1.0 - 2.0 * tail >= confidence);
        (low > 0).then(|| Self { low, coverage: coverage(low), coverage_inner: coverage(low + 1) })
    }
}

/// From the `rank`-th smallest to the `rank`-th largest value, counted from 1.
fn from_rank(sorted: &[f64], rank: usize) -> Option<Interval> {
    if !ends_are_finite(sorted) {
        return None;
    }
    Some(Interval { low: *sorted.get(rank - 1)?, high: *sorted.get(sorted.len() - rank)? })
}

/// The factor by which dependence inflates the variance of the number of values below the median;
/// at least 1.
fn variance_inflation(in_time_order: &[f64], median: f64) -> f64 {
    let side: Vec<f64> =
        in_time_order.iter().map(|&value| if value == median { 0.0 } else { (value - median).signum() }).collect();
    let covariance = |lag: usize| side.iter().zip(&side[lag..]).map(|(now, later)| now * later).sum::<f64>();
    let variance = covariance(0);
    if variance == 0.0 {
        return 1.0;
    }
    let pairs = (0..side.len() / 2).map(|pair| (covariance(2 * pair) + covariance(2 * pair + 1)) / variance);
    let sum: f64 = pairs.take_while(|&pair| pair > 0.0).sum();
    (2.0 * sum - 1.0).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_to(n: usize) -> Vec<f64> {
        (1..=n).rev().map(|value| value as f64).collect()
    }

    /// Values 1..=n are their own ranks. Ranks from scipy's `binom.cdf`.
    #[test]
    fn exact_ranks() {
        let table = [
            (6, 1),
            (7, 1),
            (8, 1),
            (9, 2),
            (11, 2),
            (17, 5),
            (25, 8),
            (31, 10),
            (37, 13),
            (63, 24),
            (101, 41),
            (1001, 470),
        ];
        for (n, rank) in table {
            let expected = Interval { low: rank as f64, high: (n + 1 - rank) as f64 };
            assert_eq!(median_interval(&one_to(n), 0.95), Some(expected), "n = {n}");
        }
        for (n, rank) in [(8, 1), (9, 1), (17, 3)] {
            assert_eq!(median_interval(&one_to(n), 0.99).map(|interval| interval.low), Some(rank as f64), "n = {n}");
        }
    }

    #[test]
    fn too_few_values_have_no_interval() {
        for n in 0..6 {
            assert_eq!(median_interval(&one_to(n), 0.95), None, "n = {n}");
            assert_eq!(median_interval_interpolated(&one_to(n), 0.95), None, "n = {n}");
            assert_eq!(widened_interval(&one_to(n), 0.95), None, "n = {n}");
        }
        assert_eq!(median_interval(&one_to(7), 0.99), None);
    }

    #[test]
    fn invalid_arguments_have_no_interval() {
        let mut values = one_to(20);
        for confidence in [0.0, 1.0, -1.0, f64::NAN] {
            assert_eq!(median_interval(&values, confidence), None, "{confidence}");
        }
        // With this many values the probability that the outermost ranks miss the median is 0 in 64
        // bits.
        assert_eq!(median_interval(&one_to(2000), 1.0), None);
        values[7] = f64::NAN;
        assert_eq!(median_interval(&values, 0.95), None);
        assert_eq!(median_interval_interpolated(&values, 0.95), None);
        assert_eq!(widened_interval(&values, 0.95), None);
    }

    /// Expected values from Python, with scipy's binomial distribution in the formula of
    /// Hettmansperger and Sheather.
    #[test]
    fn interpolated_golden_values() {
        let values = [1.0, 1.5, 2.5, 4.0, 6.0, 8.5, 11.5, 15.0, 19.0, 23.5, 28.5];
        let cases = [
            (6, 0.95, 1.1785714285714288, 7.607142857142856),
            (10, 0.99, 1.4315642458100561, 19.615921787709496),
            (10, 0.90, 2.4710144927536235, 15.115942028985508),
            (11, 0.95, 2.4177939646201874, 19.369927159209155),
            (11, 0.90, 3.1321428571428567, 17.314285714285713),
        ];
        for (n, confidence, low, high) in cases {
            let found = median_interval_interpolated(&values[..n], confidence).expect("enough values");
            assert!((found.low - low).abs() < 1e-9 && (found.high - high).abs() < 1e-9, "n = {n}: {found:?}");
        }
    }

    /// D = 2.8 moves the ranks from (10, 22) to (5, 27), by numpy.
    #[test]
    fn widened_golden_value() {
        let values = [
            1.0, 2.0, 1.5, 2.2, 1.1, 5.0, 6.0, 5.5, 6.2, 5.1, 1.2, 2.1, 1.6, 1.9, 1.3, 5.2, 6.1, 5.6, 6.3, 5.3, 1.4,
            2.3, 1.7, 2.4, 1.8, 5.4, 5.7, 6.4, 5.8, 6.5, 5.9,
        ];
        assert_eq!(median_interval(&values, 0.95), Some(Interval { low: 1.9, high: 5.6 }));
        assert_eq!(widened_interval(&values, 0.95), Some(Interval { low: 1.4, high: 6.1 }));
    }

    /// By hand: autocovariances 8, 5, 2, -1, then negative; in pairs 13/8 and 1/8, twice their sum
    /// less 1.
    #[test]
    fn variance_grows_by_the_autocorrelation_up_to_the_first_pair_that_is_not_positive() {
        let halves = [2.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0];
        assert_eq!(variance_inflation(&halves, 1.5), 2.5);
        assert_eq!(variance_inflation(&halves.map(|value| value * 1e-9), 1.5e-9), 2.5);
        assert_eq!(variance_inflation(&[1.0, 2.0, 1.0, 2.0, 1.0, 2.0], 1.5), 1.0);
        assert_eq!(variance_inflation(&[3.0; 8], 3.0), 1.0);
    }

    #[test]
    fn equal_values_have_an_interval_without_width() {
        let point = Some(Interval { low: 3.0, high: 3.0 });
        let values = [3.0; 20];
        assert_eq!(median_interval(&values, 0.95), point);
        assert_eq!(median_interval_interpolated(&values, 0.95), point);
        assert_eq!(widened_interval(&values, 0.95), point);
    }

    #[test]
    fn half_width_is_relative_to_the_size_of_the_center() {
        let interval = Interval { low: 9.0, high: 11.0 };
        assert_eq!(interval.half_width_relative(10.0), Some(0.1));
        assert_eq!(interval.half_width_relative(-10.0), Some(0.1));
        for meaningless in [0.0, f64::NAN, f64::INFINITY] {
            assert_eq!(interval.half_width_relative(meaningless), None, "{meaningless}");
        }
    }

    #[test]
    fn intervals_are_closed() {
        let interval = Interval { low: 9.0, high: 11.0 };
        let inside = [8.9, 9.0, 10.0, 11.0, 11.1].map(|value| interval.contains(value));
        assert_eq!(inside, [false, true, true, true, false]);
    }
}
