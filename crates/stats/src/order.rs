//! Order statistics: sorting, the median, quantiles.
//!
//! A slice that is empty, or holds a value that is not finite, has no median and no quantile.

use std::cmp::Ordering;

/// The confidence for which this crate says that a sample is large enough: 95 %.
pub const CONFIDENCE: f64 = 0.95;

/// Logarithms that differ by less than this differ by rounding.
pub(crate) const ROUNDING: f64 = 1e-12;

/// A sorted copy, in the total order of IEEE 754 (so -0 before +0, and not-a-number at the ends).
#[must_use]
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut copy = values.to_vec();
    copy.sort_unstable_by(f64::total_cmp);
    copy
}

/// The median: the middle value, or the mean of the two middle ones. Takes linear time. `None` as
/// the module says.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// [`median`] of values that are sorted already.
#[must_use]
pub fn median_sorted(sorted: &[f64]) -> Option<f64> {
    quantile_sorted(sorted, 0.5)
}

/// The upper median: the middle value, or the greater of the two middle ones, so that it is one of
/// the values. `None` without values. No arithmetic is done with the values: what is not finite
/// sorts to an end.
#[must_use]
pub fn upper_median(values: &[f64]) -> Option<f64> {
    sorted(values).get(values.len() / 2).copied()
}

/// The value below which this share of the values lies, by nearest rank: the smallest value that at
/// least this share of them does not exceed. `None` without values, and for a share above 1. As
/// [`upper_median`], it is one of the values.
#[must_use]
pub fn nearest_rank(values: &[f64], share: f64) -> Option<f64> {
    let rank = (share * values.len() as f64).ceil() as usize;
    sorted(values).get(rank.max(1) - 1).copied()
}

/// The least value; `None` without values.
#[must_use]
pub fn least(values: &[f64]) -> Option<f64> {
    values.iter().copied().min_by(f64::total_cmp)
}

/// The greatest value; `None` without values.
#[must_use]
pub fn greatest(values: &[f64]) -> Option<f64> {
    values.iter().copied().max_by(f64::total_cmp)
}

/// The `p`-quantile, 0 <= p <= 1, by linear interpolation between the order statistics around rank
/// 1 + (n - 1) p: type 7 of Hyndman and Fan, "Sample quantiles in statistical packages", The
/// American Statistician 1996. Takes linear time.
///
/// It answers however few the values are. Use [`quantile_if_enough`] for a figure that is shown as
/// a property of the machine. `None` as the module says, and for a `p` outside [0, 1].
#[must_use]
pub fn quantile(values: &[f64], p: f64) -> Option<f64> {
    let place = Place::of(p, values.len())?;
    if !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let mut copy = values.to_vec();
    let (_, &mut below, rest) = copy.select_nth_unstable_by(place.index, f64::total_cmp);
    let above = rest.iter().copied().min_by(f64::total_cmp).unwrap_or(below);
    Some(place.between(below, above))
}

/// [`quantile`] of values that are sorted already.
#[must_use]
pub fn quantile_sorted(sorted: &[f64], p: f64) -> Option<f64> {
    let place = Place::of(p, sorted.len())?;
    if !ends_are_finite(sorted) {
        return None;
    }
    let below = *sorted.get(place.index)?;
    let above = sorted.get(place.index + 1).copied().unwrap_or(below);
    Some(place.between(below, above))
}

/// [`quantile`], but `None` below [`enough_for`]`(p)` values: p99 of 200 values says nothing of the
/// 99th percentile.
#[must_use]
pub fn quantile_if_enough(values: &[f64], p: f64) -> Option<f64> {
    if values.len() < enough_for(p)? { None } else { quantile(values, p) }
}

/// [`quantile_if_enough`] of values that are sorted already.
#[must_use]
pub fn quantile_if_enough_sorted(sorted: &[f64], p: f64) -> Option<f64> {
    if sorted.len() < enough_for(p)? { None } else { quantile_sorted(sorted, p) }
}

/// The least number of values with which the `p`-quantile has a finite two-sided, equal-tailed 95 %
/// interval: 6 for the median, 36 for p10 and p90, 368 for p99
/// (docs/methods/statistics.md#quantiles).
///
/// The widest interval there is, minimum to maximum, misses on one side when all n values fall on
/// the other side of the quantile: with chance p^n or (1 - p)^n, and neither may exceed 2.5 %.
/// `None` unless 0 < p < 1: no number of values bounds the extremes.
#[must_use]
pub fn enough_for(p: f64) -> Option<usize> {
    if !(p > 0.0 && p < 1.0) {
        return None;
    }
    let tail = (1.0 - CONFIDENCE) / 2.0;
    Some((tail.ln() / p.max(1.0 - p).ln()).ceil() as usize)
}

/// Whether all of `sorted` is finite. Only its ends are checked: sorting has moved everything else
/// there.
pub(crate) fn ends_are_finite(sorted: &[f64]) -> bool {
    sorted.first().is_some_and(|value| value.is_finite()) && sorted.last().is_some_and(|value| value.is_finite())
}

/// Where a quantile lies: at or after the value at `index` (from 0), `fraction` of the way to the
/// next.
struct Place {
    index: usize,
    fraction: f64,
}

impl Place {
    fn of(p: f64, n: usize) -> Option<Self> {
        if n == 0 || !(0.0..=1.0).contains(&p) {
            return None;
        }
        let place = (n - 1) as f64 * p;
        Some(Self { index: place as usize, fraction: place.fract() })
    }

    fn between(&self, below: f64, above: f64) -> f64 {
        match self.fraction.total_cmp(&0.5) {
            // Exact for the median, and safe where the difference of the two would overflow.
            Ordering::Equal => f64::midpoint(below, above),
            _ => below * (1.0 - self.fraction) + above * self.fraction,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values from numpy's `quantile`, whose default is type 7.
    #[test]
    fn quantiles_are_of_type_7() {
        let values = [3.1, 0.5, 2.25, 9.0, 4.75, 1.0, 7.5];
        for (p, expected) in [(0.0, 0.5), (0.1, 0.8), (0.25, 1.625), (0.5, 3.1), (0.9, 8.1), (0.99, 8.91), (1.0, 9.0)] {
            for found in [quantile(&values, p), quantile_sorted(&sorted(&values), p)] {
                assert!((found.expect("there are values") - expected).abs() < 1e-12, "{p}: {found:?}, not {expected}");
            }
        }
    }

    #[test]
    fn the_median_is_the_middle_or_the_mean_of_the_two_middle_values() {
        assert_eq!(median(&[5.0]), Some(5.0));
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&[f64::MAX, f64::MAX]), Some(f64::MAX));
        assert_eq!(median_sorted(&[1.0, 2.0, 4.0, 8.0]), Some(3.0));
    }

    #[test]
    fn the_upper_median_and_the_nearest_rank_are_values() {
        let values = [4.0, 1.0, 9.0, 2.0];
        assert_eq!(
            (upper_median(&values), upper_median(&values[..3]), upper_median(&[])),
            (Some(4.0), Some(4.0), None)
        );
        for (share, expected) in
            [(0.0, 1.0), (0.25, 1.0), (0.26, 2.0), (0.5, 2.0), (0.75, 4.0), (0.76, 9.0), (1.0, 9.0)]
        {
            assert_eq!(nearest_rank(&values, share), Some(expected), "{share}");
        }
        assert_eq!((nearest_rank(&values, 1.1), nearest_rank(&[], 0.5)), (None, None));
        assert_eq!((least(&values), greatest(&values), least(&[]), greatest(&[])), (Some(1.0), Some(9.0), None, None));
        // What is not finite is an end, not an error.
        assert_eq!(
            (upper_median(&[1.0, 2.0, f64::INFINITY]), nearest_rank(&[f64::NAN, 3.0], 0.5)),
            (Some(2.0), Some(3.0))
        );
    }

    #[test]
    fn no_answer_is_better_than_a_wrong_one() {
        for values in [&[][..], &[f64::NAN], &[1.0, f64::NAN, 3.0], &[1.0, -f64::NAN, 3.0], &[1.0, f64::INFINITY, 2.0]]
        {
            assert_eq!(median(values), None, "{values:?}");
            assert_eq!(median_sorted(&sorted(values)), None, "{values:?}");
        }
        for p in [-0.1, 1.1, f64::NAN] {
            assert_eq!(quantile(&[1.0, 2.0], p), None);
        }
    }

    /// docs/methods/statistics.md#quantiles, and 6 for the median.
    #[test]
    fn enough_values_for_a_finite_interval() {
        let table = [(0.5, 6), (0.75, 13), (0.9, 36), (0.95, 72), (0.99, 368), (0.999, 3688)];
        for (p, n) in table {
            assert_eq!(enough_for(p), Some(n), "p = {p}");
            let values: Vec<f64> = (0..n).map(|value| value as f64).collect();
            assert!(quantile_if_enough(&values, p).is_some(), "p = {p}, n = {n}");
            assert_eq!(quantile_if_enough(&values, p), quantile(&values, p));
            assert_eq!(quantile_if_enough(&values[1..], p), None, "p = {p}, n = {n} - 1");
            assert_eq!(quantile_if_enough_sorted(&values[1..], p), None, "p = {p}, n = {n} - 1");
            assert_eq!(quantile_if_enough_sorted(&values, p), quantile(&values, p));
        }
        // Low quantiles as high ones; 1 - p is rounded, 36 and 368 are not near a step.
        assert_eq!((enough_for(0.1), enough_for(0.01)), (Some(36), Some(368)));
        assert_eq!((enough_for(0.0), enough_for(1.0), enough_for(f64::NAN)), (None, None, None));
    }

    /// Mean, smallest, largest and first value are far from the median.
    #[test]
    fn the_median_is_no_mean_of_all() {
        let skewed = [9000.0, 3.0, 2.0, 1.0, 8000.0];
        assert_eq!((median(&skewed), median_sorted(&sorted(&skewed))), (Some(3.0), Some(3.0)));
        let even = [9000.0, 3.0, 1.0, 5.0, 2.0, 8000.0];
        assert_eq!((median(&even), median_sorted(&sorted(&even))), (Some(4.0), Some(4.0)));
        let falling = [-9000.0, -3.0, -2.0, -1.0, -8000.0];
        assert_eq!(median(&falling), Some(-3.0));
        assert_eq!((quantile(&skewed, 0.25), quantile(&skewed, 0.75)), (Some(2.0), Some(8000.0)));
    }
}
