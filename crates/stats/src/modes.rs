//! Whether values fall into several groups (modes), and whether the groups are whole rounds.
//!
//! The detector looks for the widest gap between adjacent values and compares it with the spread on
//! both sides (docs/methods/statistics.md#modes). It is tuned to flag almost no distribution with a
//! single mode, heavy tails included, and to find modes that matter: those 5 % or more apart.

use crate::order::{ends_are_finite, median, median_sorted, quantile_sorted, sorted};

/// With fewer values there is no verdict: 10-30 % of single modes would be flagged
/// (docs/methods/statistics.md#modes).
const MIN_VALUES: usize = 31;

/// From this number of values on, a smaller gap is evidence (docs/methods/statistics.md#modes).
const MANY_VALUES: usize = 101;

/// The conditions under which a gap separates two modes.
struct Rule {
    /// The gap is wider than this, in spreads.
    gap: f64,
    /// The gap leaves at least this share of the values on either side.
    share: f64,
}

/// For few values (docs/methods/statistics.md#modes).
const FOR_FEW_VALUES: Rule = Rule { gap: 0.75, share: 0.15 };

/// For many values (docs/methods/statistics.md#modes). A share of 15 % here too would miss a mode
/// that holds 20 % of 101 values one time in eight; at 10 % the tail of a single mode is flagged in
/// 3.6 % of cases; at 12 %, in 1.7 %.
const FOR_MANY_VALUES: Rule = Rule { gap: 0.5, share: 0.12 };

/// Ashman's D above which two modes are distinct among many values, whatever the gap
/// (docs/methods/statistics.md#modes).
const ASHMAN_D: f64 = 5.0;

/// Modes closer than this share of their size do not matter (docs/methods/statistics.md#modes).
const MIN_SEPARATION: f64 = 0.02;

/// A gap that is not wider than this number of quanta may be a step of the clock
/// (docs/methods/statistics.md#modes).
const MIN_QUANTA: f64 = 3.0;

/// The standard deviation of a normal distribution in median absolute deviations: 1 / the normal 75
/// % quantile.
const MAD_TO_SIGMA: f64 = 1.482_602_218_505_602;

/// Modes are split between rounds if more than this share of the variance of "which mode" is
/// between rounds.
const BETWEEN: f64 = 0.5;

/// What is known about the number of modes.
#[derive(Debug, Clone, PartialEq)]
pub enum Modality {
    /// Too few values (fewer than 31), or some without a logarithm.
    Unknown,
    /// No sign of more than one mode.
    One,
    /// Two or more modes, the smallest center first.
    Several(Vec<Mode>),
}

/// A group of values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mode {
    /// The median of the group.
    pub center: f64,
    /// The share of all values that is in the group.
    pub share: f64,
}

/// The modes of `values`; `quantum` is the step of the clock for one operation in the same unit, or
/// 0.
///
/// Values are split at their widest gap on a logarithmic axis, and so are the parts, as long as a
/// gap is wide compared with the spread (p10 to p90) on both sides or, among 101 values or more,
/// the medians of the sides are far apart by Ashman's D (Ashman, Bird, Zepf, Astronomical Journal
/// 1994; here with median absolute deviations).
#[must_use]
pub fn modality(values: &[f64], quantum: f64) -> Modality {
    let sorted = sorted(values);
    if sorted.len() < MIN_VALUES || !ends_are_finite(&sorted) || sorted[0] <= 0.0 {
        return Modality::Unknown;
    }
    let modes: Vec<Mode> = groups(&sorted, sorted.len(), quantum)
        .into_iter()
        .filter_map(|group| {
            Some(Mode { center: median_sorted(group)?, share: group.len() as f64 / sorted.len() as f64 })
        })
        .collect();
    if modes.len() > 1 { Modality::Several(modes) } else { Modality::One }
}

/// Whether `modes` separate *between* rounds, as placement does (true), or each round visits
/// several, as under interference (false).
///
/// Every value belongs to the nearest mode by ratio. The modes are between rounds if knowing the
/// round removes more than half of the variance of the mode (the tau of Goodman and Kruskal, JASA
/// 1954). False if there is nothing to separate.
#[must_use]
pub fn split_between_rounds<R: AsRef<[f64]>>(rounds: &[R], modes: &[Mode]) -> bool {
    let counts: Vec<Vec<usize>> = rounds.iter().map(|round| members(round.as_ref(), modes)).collect();
    let total: Vec<usize> = (0..modes.len()).map(|mode| counts.iter().map(|round| round[mode]).sum()).collect();
    let within: f64 = counts.iter().map(|round| variance(round)).sum();
    variance(&total) > 0.0 && 1.0 - within / variance(&total) > BETWEEN
}

/// The groups of a sorted slice that is part of `whole` values.
fn groups(sorted: &[f64], whole: usize, quantum: f64) -> Vec<&[f64]> {
    match split(sorted, whole, quantum) {
        None => vec![sorted],
        Some((left, right)) => {
            let mut parts = groups(left, whole, quantum);
            parts.extend(groups(right, whole, quantum));
            parts
        }
    }
}

/// The two sides of the gap that separates modes, if there is one.
fn split(sorted: &[f64], whole: usize, quantum: f64) -> Option<(&[f64], &[f64])> {
    if sorted.len() < MIN_VALUES {
        return None;
    }
    let many = sorted.len() >= MANY_VALUES;
    let rule = if many { FOR_MANY_VALUES } else { FOR_FEW_VALUES };
    let sides = widest_gap(sorted, whole, rule.share)?;
    let apart = sides.gap_in_spreads() > rule.gap || many && sides.ashman_d() > ASHMAN_D;
    if !apart || sides.separation() <= MIN_SEPARATION.ln_1p() || sides.gap() <= MIN_QUANTA * quantum {
        return None;
    }
    Some((sides.left, sides.right))
}

/// The sides of the widest gap, by ratio, that leaves `least_share` of the `whole` on each side.
fn widest_gap(sorted: &[f64], whole: usize, least_share: f64) -> Option<Sides<'_>> {
    let least = ((whole as f64 * least_share).ceil() as usize).max(1);
    (least..=sorted.len().checked_sub(least)?)
        .map(|at| sorted.split_at(at))
        .map(|(left, right)| Sides { left, right })
        .max_by(|a, b| a.log_gap().total_cmp(&b.log_gap()))
}

/// A sorted slice in two parts, neither empty.
struct Sides<'a> {
    left: &'a [f64],
    right: &'a [f64],
}

impl Sides<'_> {
    fn gap(&self) -> f64 {
        self.right[0] - self.left[self.left.len() - 1]
    }

    fn log_gap(&self) -> f64 {
        (self.right[0] / self.left[self.left.len() - 1]).ln()
    }

    /// The gap as a multiple of the spread on both sides.
    fn gap_in_spreads(&self) -> f64 {
        let spread = |side| log_quantile(side, 0.9) - log_quantile(side, 0.1);
        self.log_gap() / (spread(self.left) + spread(self.right))
    }

    /// The distance of the medians, by ratio.
    fn separation(&self) -> f64 {
        log_quantile(self.right, 0.5) - log_quantile(self.left, 0.5)
    }

    fn ashman_d(&self) -> f64 {
        let sigma = |side: &[f64]| {
            let center = log_quantile(side, 0.5);
            let deviations: Vec<f64> = side.iter().map(|value| (value.ln() - center).abs()).collect();
            MAD_TO_SIGMA * median(&deviations).unwrap_or(f64::NAN)
        };
        let (left, right) = (sigma(self.left), sigma(self.right));
        self.separation() * std::f64::consts::SQRT_2 / left.hypot(right)
    }
}

/// The logarithm of a quantile of a side, which is never empty.
fn log_quantile(sorted: &[f64], p: f64) -> f64 {
    quantile_sorted(sorted, p).map_or(f64::NAN, f64::ln)
}

/// The number of `values` nearest to each mode; values without a logarithm are not counted.
fn members(values: &[f64], modes: &[Mode]) -> Vec<usize> {
    let mut counts = vec![0; modes.len()];
    for &value in values.iter().filter(|&&value| value > 0.0 && value.is_finite()) {
        let distance = |mode: &Mode| (value / mode.center).ln().abs();
        let nearest = (0..modes.len()).min_by(|&a, &b| distance(&modes[a]).total_cmp(&distance(&modes[b])));
        if let Some(nearest) = nearest {
            counts[nearest] += 1;
        }
    }
    counts
}

/// The variance of the mode among values counted by mode, times their number: 0 if all are in one.
fn variance(counts: &[usize]) -> f64 {
    let total = counts.iter().sum::<usize>() as f64;
    let same: f64 = counts.iter().map(|&count| (count * count) as f64).sum();
    if total == 0.0 { 0.0 } else { total - same / total }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `n` values spread evenly over 2 % around `center`.
    fn group(center: f64, n: usize) -> Vec<f64> {
        (0..n).map(|index| center * (0.99 + 0.02 * (index as f64 + 0.5) / n as f64)).collect()
    }

    fn two(apart: f64, n: usize) -> Vec<f64> {
        [group(100.0, n), group(100.0 * apart, n)].concat()
    }

    fn several(values: &[f64], quantum: f64) -> bool {
        matches!(modality(values, quantum), Modality::Several(_))
    }

    #[test]
    fn no_verdict_on_few_or_impossible_values() {
        assert_eq!(modality(&two(2.0, 15), 0.0), Modality::Unknown);
        assert_ne!(modality(&two(2.0, 16), 0.0), Modality::Unknown);
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let mut values = two(2.0, 20);
            values[7] = bad;
            assert_eq!(modality(&values, 0.0), Modality::Unknown, "{bad}");
        }
    }

    #[test]
    fn centers_and_shares() {
        let Modality::Several(modes) = modality(&[group(200.0, 20), group(100.0, 30)].concat(), 0.0) else {
            panic!("two modes")
        };
        assert_eq!(modes.len(), 2);
        assert!((modes[0].center - 100.0).abs() < 1e-9 && (modes[1].center - 200.0).abs() < 1e-9, "{modes:?}");
        assert_eq!((modes[0].share, modes[1].share), (0.6, 0.4));
    }

    /// The spread p10 to p90 of a group is 1.6 % of its center, of both together 3.2 %: a gap of
    /// 0.75 spreads is 2.4 %, so the centers are 4.4 % apart. Of 0.5 spreads: 3.6 %.
    #[test]
    fn the_required_gap_depends_on_the_number_of_values() {
        assert!(!several(&two(1.042, 40), 0.0));
        assert!(several(&two(1.047, 40), 0.0));
        assert!(!several(&two(1.033, 80), 0.0));
        assert!(several(&two(1.039, 80), 0.0));
    }

    #[test]
    fn modes_two_percent_apart_do_not_matter() {
        let tight = |center: f64| vec![center; 50];
        assert!(!several(&[tight(100.0), tight(101.9)].concat(), 0.0));
        assert!(several(&[tight(100.0), tight(102.1)].concat(), 0.0));
    }

    #[test]
    fn a_clock_step_is_not_a_mode() {
        let values = [vec![100.0; 50], vec![130.0; 50]].concat();
        assert!(several(&values, 9.9));
        assert!(!several(&values, 10.0));
    }

    #[test]
    fn a_few_outliers_are_not_a_mode() {
        let share = |outliers: usize| several(&[group(100.0, 40 - outliers), group(300.0, outliers)].concat(), 0.0);
        assert!(!share(5), "5 of 40 are below 15 %");
        assert!(share(6));
        let many = |outliers: usize| several(&[group(100.0, 200 - outliers), group(300.0, outliers)].concat(), 0.0);
        assert!(!many(12));
        assert!(many(24), "24 of 200 are 12 %");
    }

    #[test]
    fn three_modes() {
        let values = [group(100.0, 50), group(130.0, 50), group(200.0, 50)].concat();
        let Modality::Several(modes) = modality(&values, 0.0) else { panic!("three modes") };
        let shares: Vec<f64> = modes.iter().map(|mode| mode.share).collect();
        assert_eq!(shares, [1.0 / 3.0; 3]);
    }

    const FAST_AND_SLOW: [Mode; 2] = [Mode { center: 100.0, share: 0.5 }, Mode { center: 200.0, share: 0.5 }];

    #[test]
    fn whole_rounds_in_one_mode_are_split_between() {
        let rounds = [group(100.0, 20), group(200.0, 20), group(200.0, 20), group(100.0, 20)];
        assert!(split_between_rounds(&rounds, &FAST_AND_SLOW));
        let mut disturbed = rounds;
        for round in &mut disturbed {
            round[0] = 150.0;
            round[1] = 100.0;
        }
        assert!(split_between_rounds(&disturbed, &FAST_AND_SLOW), "a few strays change nothing");
    }

    #[test]
    fn rounds_that_visit_both_modes_are_split_within() {
        let mixed = [group(100.0, 12), group(200.0, 8)].concat();
        assert!(!split_between_rounds(&[mixed.clone(), mixed.clone(), mixed], &FAST_AND_SLOW));
    }

    #[test]
    fn nothing_to_separate() {
        let none: [Vec<f64>; 0] = [];
        assert!(!split_between_rounds(&none, &FAST_AND_SLOW));
        assert!(!split_between_rounds(&[group(100.0, 5)], &FAST_AND_SLOW));
        assert!(!split_between_rounds(&[group(100.0, 5)], &[]));
        assert!(!split_between_rounds(&[vec![0.0, f64::NAN]], &FAST_AND_SLOW));
    }

    /// Medians 0.2 apart on the logarithmic axis, and median absolute deviations of 0.01 on both
    /// sides, at any position.
    #[test]
    fn ashman_s_d_is_the_distance_in_deviations() {
        let side = |from: f64| [0.0, 0.01, 0.02, 0.03, 0.04].map(|step| (from + step).exp());
        for from in [-16.0, 0.5, 3.0] {
            let (left, right) = (side(from), side(from + 0.2));
            let d = Sides { left: &left, right: &right }.ashman_d();
            assert!((d - 0.2 / (0.01 * MAD_TO_SIGMA)).abs() < 1e-6, "{from}: {d}");
        }
    }
}
