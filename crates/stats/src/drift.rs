//! Whether values change with time: whether the machine drifted during the run, or all rounds from
//! start to end. Where the transient of one round ends is in [`mod@crate::transient`].
//!
//! Everything here uses ranks and medians, so a few disturbed samples neither create a trend nor
//! hide one. All pairs of values are compared: the running time is quadratic in their number, which
//! is fine for hundreds.

use std::cmp::Ordering;

use crate::normal::two_sided_tail;
use crate::order::{median, sorted};
use crate::rounds::round_medians;

/// The smallest change that counts, as a share of the median. A smaller one is harmless even when
/// it is certain (docs/methods/statistics.md#drift).
const TOLERATED_CHANGE: f64 = 0.01;

/// A trend counts as significant if p is below this (docs/methods/statistics.md#drift).
const SIGNIFICANCE: f64 = 0.01;

/// The result of the Mann-Kendall test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// The number of pairs that rise with time less the number that fall.
    pub s: i64,
    /// `s`, moved towards 0 by 1, in standard deviations, with correction for ties.
    pub z: f64,
    /// The two-sided probability of such a |z| without a trend, by the normal approximation, which
    /// is conservative from 9 values on.
    pub p: f64,
    /// The change per step: [`theil_sen_slope`].
    pub slope: f64,
}

/// A change over the whole period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// The probability of a trend this strong without a change.
    pub p: f64,
    /// The change from the first to the last value as a share of the median; negative for a fall.
    pub relative: f64,
}

/// A detected drift; at least one of the two is present.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// From round to round: the machine changed during the run.
    pub between_rounds: Option<Change>,
    /// From start to end of the rounds, all of them together: an unfinished warm-up, or a leak.
    pub within_rounds: Option<Change>,
}

/// The change per step of equally spaced values: the median of the slopes of all pairs (Theil 1950;
/// Sen, "Estimates of the regression coefficient based on Kendall's tau", JASA 1968). `None` for
/// fewer than 2 values or if one is not finite.
#[must_use]
pub fn theil_sen_slope(values: &[f64]) -> Option<f64> {
    let slopes: Vec<f64> = (1..values.len())
        .flat_map(|later| (0..later).map(move |earlier| (values[later] - values[earlier]) / (later - earlier) as f64))
        .collect();
    median(&slopes)
}

/// The test of Mann (Econometrica 1945) and Kendall for a trend of values in time order, with
/// correction for ties. `None` for fewer than 3 values or if one is not finite.
#[must_use]
pub fn mann_kendall(values: &[f64]) -> Option<Trend> {
    if values.len() < 3 {
        return None;
    }
    let slope = theil_sen_slope(values)?;
    let order = Concordance::of(values);
    Some(Trend { s: order.s, z: order.z(), p: two_sided_tail(order.z()), slope })
}

/// The drift over `rounds`, each the values of one process in time order: p < 1 % and a total
/// change of more than 1 %, over the medians of the rounds or within the rounds
/// (docs/methods/statistics.md#drift).
///
/// Within rounds, the pairs of all rounds are counted together and the change is the median of the
/// rounds' changes, so that one disturbed round does not count (Hirsch, Slack, Smith, "Techniques
/// of trend analysis for monthly water quality data", Water Resources Research 1982). Values of one
/// process depend on each other, so p is too small there; the required size of the change keeps
/// false alarms rare. `None`: no drift detected.
#[must_use]
pub fn drift(rounds: &[Vec<f64>]) -> Option<Drift> {
    let medians = round_medians(rounds);
    let between = Concordance::of(&medians).change(|| relative_rise(&medians));

    let complete: Vec<&Vec<f64>> = rounds.iter().filter(|round| median(round).is_some()).collect();
    let rises = || complete.iter().filter_map(|round| relative_rise(round)).collect::<Vec<f64>>();
    let within = complete.iter().map(|round| Concordance::of(round)).sum::<Concordance>().change(|| median(&rises()));

    (between.is_some() || within.is_some()).then_some(Drift { between_rounds: between, within_rounds: within })
}

/// The rise of the Theil-Sen line from the first to the last value, as a share of the median.
fn relative_rise(values: &[f64]) -> Option<f64> {
    let rise = theil_sen_slope(values)? * (values.len() - 1) as f64 / median(values)?.abs();
    rise.is_finite().then_some(rise)
}

/// Kendall's S and its variance under the hypothesis of no trend.
struct Concordance {
    s: i64,
    variance: f64,
}

impl Concordance {
    fn of(values: &[f64]) -> Self {
        let s = (1..values.len())
            .flat_map(|later| (0..later).map(move |earlier| values[later].partial_cmp(&values[earlier])))
            .map(|order| order.map_or(0, |order| order as i64))
            .sum();
        let spread = |n: usize| (n * n.saturating_sub(1) * (2 * n + 5)) as f64;
        let ties: f64 = sorted(values).chunk_by(|a, b| a == b).map(|tied| spread(tied.len())).sum();
        Self { s, variance: (spread(values.len()) - ties) / 18.0 }
    }

    fn z(&self) -> f64 {
        match self.s.cmp(&0) {
            Ordering::Equal => 0.0,
            Ordering::Greater => (self.s - 1) as f64 / self.variance.sqrt(),
            Ordering::Less => (self.s + 1) as f64 / self.variance.sqrt(),
        }
    }

    /// `relative` as a change, if it is both significant and large. Computed only if the order is
    /// significant, because the slopes of all pairs took most of the time of a record.
    fn change(&self, relative: impl FnOnce() -> Option<f64>) -> Option<Change> {
        let p = two_sided_tail(self.z());
        if p >= SIGNIFICANCE {
            return None;
        }
        let change = Change { p, relative: relative()? };
        (p < SIGNIFICANCE && change.relative.abs() > TOLERATED_CHANGE).then_some(change)
    }
}

impl std::iter::Sum for Concordance {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        let none = Self { s: 0, variance: 0.0 };
        parts.fold(none, |sum, part| Self { s: sum.s + part.s, variance: sum.variance + part.variance })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RISING: [f64; 12] = [10.0, 10.2, 10.1, 10.4, 10.3, 10.4, 10.8, 10.6, 10.9, 11.0, 10.7, 11.2];

    /// Expected values from scipy (`theilslopes`, `norm.sf`) and numpy.
    #[test]
    fn trend_golden_values() {
        let trend = mann_kendall(&RISING).expect("enough values");
        assert_eq!(trend.s, 53);
        assert!((trend.z - 3.574185662442048).abs() < 1e-12, "{trend:?}");
        assert!((trend.p / 0.0003513195861587747 - 1.0).abs() < 1e-10, "{trend:?}");
        assert!((trend.slope - 0.1).abs() < 1e-12, "{trend:?}");
    }

    #[test]
    fn a_fall_is_the_mirror_image_of_a_rise() {
        let (rise, fall) = (mann_kendall(&RISING), mann_kendall(&RISING.map(|value| -value)));
        let mirrored = fall.map(|fall| Trend { s: -fall.s, z: -fall.z, p: fall.p, slope: -fall.slope });
        assert_eq!(rise, mirrored);
    }

    #[test]
    fn equal_values_have_no_trend() {
        assert_eq!(mann_kendall(&[7.0; 9]), Some(Trend { s: 0, z: 0.0, p: 1.0, slope: 0.0 }));
    }

    #[test]
    fn slope_is_that_of_the_majority() {
        assert_eq!(theil_sen_slope(&[1.0, 3.0]), Some(2.0));
        assert_eq!(theil_sen_slope(&[0.0, 1.0, 2.0, 99.0, 4.0, 5.0, 6.0]), Some(1.0));
        // Up and down again: no slope.
        assert_eq!(theil_sen_slope(&[0.0, 0.0, 0.0, 2.0, 2.0, 2.0, 2.0, 2.0, 0.0, 0.0]), Some(0.0));
    }

    #[test]
    fn too_few_or_non_finite_values_give_no_answer() {
        assert_eq!(theil_sen_slope(&[1.0]), None);
        assert_eq!(theil_sen_slope(&[1.0, f64::NAN, 2.0]), None);
        assert_eq!(mann_kendall(&[1.0, 2.0]), None);
        assert_eq!(mann_kendall(&[1.0, 2.0, f64::INFINITY]), None);
        assert_eq!(drift(&[]), None);
        assert_eq!(drift(&[vec![], vec![1.0]]), None);
    }

    fn rounds(count: u32, between: f64, within: f64) -> Vec<Vec<f64>> {
        let samples = |round: u32| (0..25).map(move |step| 1.0 + between * f64::from(round) + within * f64::from(step));
        (0..count).map(|round| samples(round).collect()).collect()
    }

    #[test]
    fn drift_between_rounds() {
        let drift = drift(&rounds(9, -0.01, 0.0)).expect("a fall of 1 % per round");
        assert_eq!(drift.within_rounds, None);
        let change = drift.between_rounds.expect("a fall of 1 % per round");
        // S = -36, variance 92: z = -35 / 9.59; scipy: 2 * norm.sf(35 / sqrt(92)).
        assert!((change.p / 0.00026326080270351474 - 1.0).abs() < 1e-10, "{change:?}");
        assert!((change.relative + 0.08 / 0.96).abs() < 1e-12, "{change:?}");
    }

    #[test]
    fn drift_within_rounds() {
        let drift = drift(&rounds(9, 0.0, 0.001)).expect("a rise of 2.4 % in every round");
        assert_eq!(drift.between_rounds, None);
        let change = drift.within_rounds.expect("a rise of 2.4 % in every round");
        assert!((change.relative - 0.024 / 1.012).abs() < 1e-12, "{change:?}");
    }

    #[test]
    fn drift_must_be_both_significant_and_large() {
        assert_eq!(drift(&rounds(9, 0.001, 0.0)), None, "certain, but 0.8 %");
        assert_eq!(drift(&rounds(9, 0.0, 0.0004)), None, "certain, but 0.96 %");
        assert_eq!(drift(&rounds(5, 0.01, 0.0)), None, "4 %, but five rounds in order are not significant");
    }

    /// Each round rises by 2 %, but in only 3 or 4 of 9 steps: all rounds together do not make it
    /// significant.
    #[test]
    fn a_large_change_that_is_not_significant_is_not_drift() {
        let wavy = [1.00, 1.04, 0.97, 1.03, 1.00, 0.98, 1.05, 0.99, 1.04, 1.02];
        assert!(relative_rise(&wavy).is_some_and(|rise| rise > TOLERATED_CHANGE));
        assert_eq!(drift(&vec![wavy.to_vec(); 3]), None);
        let (one, three) = (Concordance::of(&wavy), [(); 3].map(|()| Concordance::of(&wavy)).into_iter().sum());
        let Concordance { s, variance } = three;
        assert_eq!((s, variance), (3 * one.s, 3.0 * one.variance));
    }

    #[test]
    fn one_disturbed_round_is_not_a_drift_within_rounds() {
        let mut rounds = rounds(9, 0.0, 0.0);
        rounds[4] = (0..25).map(|step| 1.0 + 0.1 * f64::from(step)).collect();
        assert_eq!(drift(&rounds), None);
    }

    #[test]
    fn a_drift_is_more_than_one_percent_and_certain() {
        let rounds = |from: f64, step: f64| (0..11).map(|i| vec![from + step * f64::from(i)]).collect::<Vec<_>>();
        assert_eq!(drift(&rounds(995.0, 1.0)), None, "10 of 1000 is exactly 1 %");
        assert!(drift(&rounds(994.5, 1.1)).is_some_and(|d| d.between_rounds.is_some() && d.within_rounds.is_none()));
        // Two rounds of three rising values: 5 %, but not significant, even when their pairs are
        // counted together.
        let short = vec![100.0, 103.0, 106.0];
        assert_eq!(drift(&[short.clone(), short.clone()]), None);
        assert!(drift(&vec![short; 9]).is_some_and(|d| d.within_rounds.is_some_and(|c| c.p < 0.01)));
    }
}
