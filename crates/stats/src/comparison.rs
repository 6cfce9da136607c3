//! The comparison of two stored runs, metric by metric over a whole suite.
//!
//! Numbers only: what is called a change, and the words for it, are the caller's. Runs whose rounds
//! were measured in pairs are compared by `paired.rs`.

use crate::interval::Interval;
use crate::mann_whitney::Ratios;
use crate::many_tests::holm_known;
use crate::order::{CONFIDENCE, median};
use crate::run_noise::{RunNoise, mean_and_variance};
use crate::student::StandardError;

/// The share of suites without any difference in which [`compare`] may find one, where p below this
/// is called a difference: 5 %.
pub const SUITE_LEVEL: f64 = 1.0 - CONFIDENCE;

/// What is known of one metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured<'a> {
    /// One value per round of the first run.
    pub before: &'a [f64],
    /// One value per round of the second run.
    pub after: &'a [f64],
    /// The headlines of other runs of what the first run measured, on the same host.
    pub earlier: &'a [f64],
}

/// How the second run differs from the first in one metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// The second over the first: [`shift_ratio`](crate::shift_ratio).
    pub ratio: f64,
    /// The 95 % interval of the ratio, for this metric alone: as wide as the rounds make it
    /// ([`shift_interval`](crate::shift_interval)) and, where there are earlier runs, reaching to
    /// the floor at least. `None` with too few rounds.
    pub interval: Option<Interval>,
    /// The noise floor: the ratio, above 1, that two runs of the same thing exceed in about 5 % of
    /// all cases: [`RunNoise::floor`]. `None` without earlier runs.
    pub floor: Option<f64>,
    /// The chance of such a difference where there is none, adjusted for all metrics of the suite.
    /// `None` without earlier runs: the rounds of two runs cannot distinguish a change from the
    /// difference between any two runs.
    pub p: Option<f64>,
    /// The ratio, above 1, that would have given p below [`SUITE_LEVEL`] with a chance of 80 %.
    /// `None` where p is.
    pub detectable: Option<f64>,
}

/// Compares two runs, so that where every p below [`SUITE_LEVEL`] is called a difference, at most
/// that share of suites without one has any (docs/methods/statistics.md#the-rule-for-two-runs).
///
/// p is the larger of two, adjusted after [`holm`](crate::holm) over the suite: that of Welch's
/// test of the logarithms of the rounds, and that of the second headline as another run of what the
/// first run and the earlier ones measured ([`RunNoise::p_of_next`]). Both are needed: rounds do
/// not show how runs differ, and earlier runs do not show that this one was noisier.
///
/// One answer for each metric, in their order; `None` for one whose rounds are missing on a side or
/// are not positive and finite.
#[must_use]
pub fn compare(suite: &[Measured]) -> Vec<Option<Comparison>> {
    let evidence: Vec<Option<Evidence>> = suite.iter().map(Evidence::of).collect();
    let raw: Vec<Option<f64>> = evidence.iter().map(|evidence| Some(evidence.as_ref()?.p)).collect();
    let level = SUITE_LEVEL / raw.iter().flatten().count() as f64;
    let found = suite.iter().zip(evidence).zip(holm_known(&raw)).map(|((metric, evidence), p)| {
        let floor = evidence.as_ref().map(|evidence| evidence.between_runs.floor());
        let ratios = Ratios::of(metric.before, metric.after)?;
        let ratio = ratios.middle();
        let by_rounds = ratios.interval(CONFIDENCE);
        let interval = by_rounds.map(|interval| floor.map_or(interval, |floor| reaching(interval, ratio, floor)));
        let detectable = evidence.as_ref().map(|evidence| evidence.detectable(level));
        Some(Comparison { ratio, interval, floor, p, detectable })
    });
    found.collect()
}

/// The interval, or that of the floor around the ratio where it ends further out.
fn reaching(interval: Interval, ratio: f64, floor: f64) -> Interval {
    Interval { low: interval.low.min(ratio / floor), high: interval.high.max(ratio * floor) }
}

/// The evidence for a difference in one metric.
struct Evidence {
    between_rounds: StandardError,
    between_runs: RunNoise,
    /// The larger of the two p values, not adjusted.
    p: f64,
}

impl Evidence {
    /// `None` without an earlier run, with fewer than two rounds on a side, and for values that are
    /// not positive and finite.
    fn of(metric: &Measured) -> Option<Self> {
        let (difference, between_rounds) = welch(&logs(metric.before)?, &logs(metric.after)?)?;
        let runs: Vec<f64> = metric.earlier.iter().copied().chain(median(metric.before)).collect();
        let between_runs = RunNoise::of(&runs)?;
        let p = between_rounds.p(difference).max(between_runs.p_of_next(median(metric.after)?));
        Some(Self { between_rounds, between_runs, p })
    }

    fn detectable(&self, level: f64) -> f64 {
        self.between_rounds.detectable(level).exp().max(self.between_runs.detectable(level))
    }
}

fn logs(values: &[f64]) -> Option<Vec<f64>> {
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    logs.iter().all(|log| log.is_finite()).then_some(logs)
}

/// The difference of two means with its standard error, neither side having to be as noisy as the
/// other (Welch, "The generalization of 'Student's' problem when several different population
/// variances are involved", Biometrika 1947). The degrees of freedom are rounded down, which is
/// conservative. `None` for fewer than two values on a side.
fn welch(a: &[f64], b: &[f64]) -> Option<(f64, StandardError)> {
    let ((mean_a, variance_a), (mean_b, variance_b)) = (mean_and_variance(a)?, mean_and_variance(b)?);
    let (share_a, share_b) = (variance_a / a.len() as f64, variance_b / b.len() as f64);
    let sum = share_a + share_b;
    let degrees = sum.powi(2) / (share_a.powi(2) / (a.len() - 1) as f64 + share_b.powi(2) / (b.len() - 1) as f64);
    // Without any variance the quotient is undefined; then the least number of degrees applies.
    let degrees = (degrees as usize).max(a.len().min(b.len()) - 1);
    Some((mean_b - mean_a, StandardError { error: sum.sqrt(), degrees }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAST: [f64; 8] = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8, 100.0];
    const SLOW: [f64; 8] = [110.0, 111.0, 109.0, 110.5, 109.5, 110.2, 109.8, 110.0];
    const EARLIER: [f64; 6] = [100.1, 99.9, 100.3, 100.0, 99.7, 100.2];

    fn one(before: &[f64], after: &[f64], earlier: &[f64]) -> Comparison {
        compare(&[Measured { before, after, earlier }])[0].expect("values")
    }

    #[test]
    fn a_change_beyond_rounds_and_runs_is_found() {
        let found = one(&FAST, &SLOW, &EARLIER);
        let interval = found.interval.expect("eight rounds");
        assert!((found.ratio - 1.1).abs() < 1e-3 && interval.low > 1.05 && interval.contains(1.1), "{found:?}");
        assert!(found.p.is_some_and(|p| p < 1e-4) && found.floor.is_some_and(|floor| floor > 1.0), "{found:?}");
        assert!(found.detectable.is_some_and(|ratio| (1.005..1.05).contains(&ratio)), "{found:?}");
    }

    /// The same rounds, of a host whose runs differ by as much.
    #[test]
    fn differences_between_runs_are_no_change_and_widen_the_interval() {
        let found = one(&FAST, &SLOW, &[100.0, 110.0, 95.0, 104.0, 100.0, 91.0]);
        assert!(found.p.is_some_and(|p| p > 0.1) && found.interval.is_some_and(|interval| interval.contains(1.0)));
        assert!(found.floor.is_some_and(|floor| floor > 1.1) && found.detectable.is_some_and(|ratio| ratio > 1.2));
    }

    #[test]
    fn a_noisy_second_run_is_no_change() {
        let noisy = [100.0, 150.0, 90.0, 140.0, 95.0, 160.0, 130.0, 120.0];
        let found = one(&FAST, &noisy, &EARLIER);
        assert!(RunNoise::of(&EARLIER).expect("runs").p_of_next(125.0) < 1e-6);
        assert!(found.p.is_some_and(|p| p > 0.01), "{found:?}");
    }

    #[test]
    fn without_earlier_runs_there_is_a_ratio_and_no_verdict() {
        let found = one(&FAST, &SLOW, &[]);
        assert_eq!((found.p, found.floor, found.detectable), (None, None, None));
        assert_eq!(found.interval, crate::shift_interval(&FAST, &SLOW, CONFIDENCE));
        assert_eq!(one(&FAST[..3], &SLOW[..3], &[]).interval, None);
    }

    #[test]
    fn p_is_adjusted_for_the_metrics_that_have_one() {
        let changed = Measured { before: &FAST, after: &SLOW, earlier: &EARLIER };
        let untested = Measured { earlier: &[], ..changed };
        let missing = Measured { before: &[], ..changed };
        let alone = one(&FAST, &SLOW, &EARLIER);
        let found = compare(&[untested, changed, missing, changed]);
        let p = |index: usize| found[index].expect("values").p;
        assert_eq!((p(0), p(1), found[2]), (None, alone.p.map(|p| 2.0 * p), None));
        assert_eq!(p(1), p(3));
        // With more tests, less is detectable.
        assert!(found[1].expect("values").detectable > alone.detectable);
    }

    #[test]
    fn constant_metrics_differ_if_their_values_do() {
        let p = |after: f64| one(&[8.0; 5], &[after; 5], &[8.0; 3]).p;
        assert_eq!((p(8.0), p(12.0)), (Some(1.0), Some(0.0)));
    }

    /// By hand: variances 1 and 4 of 4 and 8 values: error squared 1/4 + 4/8, degrees 0.5625 over
    /// 0.0625 / 3 + 0.25 / 7, which is 9.95.
    #[test]
    fn welch_by_hand() {
        let a = [-1.0, 1.0, 0.5_f64.sqrt(), -(0.5_f64.sqrt())];
        let b = [1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0].map(|side: f64| 5.0 + side * 3.5_f64.sqrt());
        let (difference, scale) = welch(&a, &b).expect("values");
        assert!((difference - 5.0).abs() < 1e-12 && (scale.error.powi(2) - 0.75).abs() < 1e-12, "{scale:?}");
        assert_eq!(scale.degrees, 9);
    }
}
