//! By how much two runs of the same thing differ on a host when nothing has changed.
//!
//! The rounds of a run do not show it: what is common to all of them (the CPU that a virtual
//! machine was given, its neighbours, a page placement that lasts) differs from one run to the
//! next. Earlier runs show it, one headline each. Nothing here looks inside a run.

use std::f64::consts::SQRT_2;

use crate::student::StandardError;

/// The share of normal ratios that exceed the floor: half of what is promised, because hosts have
/// heavier tails, where 5 to 6.5 % do (docs/methods/statistics.md#noise-floor).
const FLOOR_SHARE: f64 = 0.025;

/// How the headlines of runs of one thing on one host differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunNoise {
    /// The mean of the logarithms of the headlines.
    mean: f64,
    /// Their standard deviation.
    deviation: f64,
    runs: usize,
}

impl RunNoise {
    /// From one headline for each run. `None` for fewer than two, or if one is not positive and
    /// finite.
    #[must_use]
    pub fn of(headlines: &[f64]) -> Option<Self> {
        let logs: Vec<f64> = headlines.iter().map(|value| value.ln()).collect();
        let (mean, variance) = mean_and_variance(&logs)?;
        variance.is_finite().then(|| Self { mean, deviation: variance.sqrt(), runs: logs.len() })
    }

    /// The noise floor: the ratio, above 1, that the ratio of two further runs or its inverse
    /// exceeds in about 5 % of all cases (docs/methods/statistics.md#noise-floor).
    ///
    /// A prediction limit: the standard deviation of the logarithms, times the root of 2 as two
    /// runs differ, times Student's t, which allows for the uncertainty of a deviation from a few
    /// runs. From two runs it is their ratio to the power of 25.
    #[must_use]
    pub fn floor(&self) -> f64 {
        self.error(SQRT_2).exceeded_in(FLOOR_SHARE).exp()
    }

    /// The chance that a further run is at least this far from the mean of these: a small one means
    /// that it is not a run of the same thing.
    #[must_use]
    pub fn p_of_next(&self, headline: f64) -> f64 {
        self.of_next().p(headline.ln() - self.mean)
    }

    /// The ratio, above 1, by which something has to change for [`p_of_next`](Self::p_of_next) of
    /// the run after it to fall below `level` with a chance of 80 %.
    #[must_use]
    pub fn detectable(&self, level: f64) -> f64 {
        self.of_next().detectable(level).exp()
    }

    /// Of the difference between a further run and the mean of these.
    fn of_next(&self) -> StandardError {
        self.error((1.0 + 1.0 / self.runs as f64).sqrt())
    }

    fn error(&self, deviations: f64) -> StandardError {
        StandardError { error: deviations * self.deviation, degrees: self.runs - 1 }
    }
}

/// The mean, and the variance with one less than their number below it; `None` for fewer than two
/// values.
pub(crate) fn mean_and_variance(values: &[f64]) -> Option<(f64, f64)> {
    let degrees = values.len().checked_sub(1).filter(|degrees| *degrees > 0)?;
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((mean, squares / degrees as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Student's t for 2.5 % on both sides: 25.452 with one degree of freedom, 3.163 with five.
    #[test]
    fn the_floor_is_a_prediction_limit() {
        let of = |runs: &[f64]| RunNoise::of(runs).expect("runs").floor().ln();
        assert!((of(&[100.0, 101.0]) / 1.01_f64.ln() - 25.452).abs() < 1e-3);
        // Logarithms of -1 and 1, three times each: variance 6/5.
        let runs = [-1.0, 1.0, -1.0, 1.0, -1.0, 1.0_f64].map(f64::exp);
        assert!((of(&runs) / (2.0_f64 * 6.0 / 5.0).sqrt() - 3.163).abs() < 1e-3);
        assert_eq!(of(&[7.0, 7.0, 7.0]), 0.0);
    }

    /// By hand: the mean is 0, the standard error the root of 6/5 times 7/6, so that t is 2, which
    /// leaves 10.19 % with five degrees of freedom.
    #[test]
    fn a_further_run_is_compared_with_the_mean_of_the_others() {
        let noise = RunNoise::of(&[-1.0, 1.0, -1.0, 1.0, -1.0, 1.0_f64].map(f64::exp)).expect("runs");
        let error = (6.0_f64 / 5.0 * 7.0 / 6.0).sqrt();
        for sign in [-1.0, 1.0] {
            assert!((noise.p_of_next((sign * 2.0 * error).exp()) - 0.101_94).abs() < 1e-5);
        }
        assert_eq!(noise.p_of_next(1.0), 1.0);
        assert!((noise.detectable(0.05).ln() / error - (2.5706 + 0.8416)).abs() < 1e-3);
    }

    #[test]
    fn one_run_says_nothing_of_the_next() {
        for runs in [&[][..], &[1.0], &[1.0, 0.0], &[1.0, -1.0], &[1.0, f64::NAN], &[1.0, f64::INFINITY]] {
            assert_eq!(RunNoise::of(runs), None, "{runs:?}");
        }
    }
}
