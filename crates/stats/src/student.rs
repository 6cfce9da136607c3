//! Student's distribution, for a difference whose standard error is itself an estimate.

use std::f64::consts::PI;

use crate::normal::{invert, two_sided_quantile};
use crate::order::ROUNDING;

/// The chance with which a detectable difference is found: 80 %, as is usual (Cohen, "Statistical
/// Power Analysis for the Behavioral Sciences").
pub const POWER: f64 = 0.8;

/// The standard error of a difference, and how well it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StandardError {
    pub(crate) error: f64,
    /// At least 1.
    pub(crate) degrees: usize,
}

impl StandardError {
    /// The chance of a difference of logarithms this large, in either direction, where there is
    /// none.
    pub(crate) fn p(&self, difference: f64) -> f64 {
        if difference.abs() < ROUNDING { 1.0 } else { two_sided_tail(difference / self.error, self.degrees) }
    }

    /// The difference that is exceeded, in either direction, in `share` of all cases.
    pub(crate) fn exceeded_in(&self, share: f64) -> f64 {
        self.error * two_sided_quantile_of(share, self.degrees)
    }

    /// The difference that gives a p below `level` with a chance of [`POWER`], as if the error were
    /// known: what chance adds to it may then be as low as the lowest fifth of the normal
    /// distribution (docs/methods/statistics.md#detectable-effect).
    pub(crate) fn detectable(&self, level: f64) -> f64 {
        self.exceeded_in(level) + self.error * power_quantile()
    }
}

/// The z that a standard normal variable exceeds with a chance of 1 - [`POWER`]: 0.84.
pub(crate) fn power_quantile() -> f64 {
    two_sided_quantile(2.0 * (1.0 - POWER))
}

/// The probability that Student's t with that many degrees of freedom is at least as far from 0 as
/// `t`, by the finite series of Abramowitz and Stegun (26.7.3 and 26.7.4). Right to about 1e-15; a
/// smaller probability may come out as 0.
fn two_sided_tail(t: f64, degrees: usize) -> f64 {
    let angle = (t.abs() / (degrees as f64).sqrt()).atan();
    let (sin, cos) = angle.sin_cos();
    // Powers of the cosine, the even ones for an even number of degrees.
    let odd = degrees % 2;
    let mut term = if odd == 1 { cos } else { 1.0 };
    let mut sum = 0.0;
    for power in (odd..degrees.saturating_sub(1)).step_by(2) {
        sum += term;
        term *= cos * cos * (power + 1) as f64 / (power + 2) as f64;
    }
    let within = if odd == 1 { 2.0 / PI * (angle + sin * sum) } else { sin * sum };
    (1.0 - within).clamp(0.0, 1.0)
}

/// The probability of at least `t`, to about 1e-15.
pub(crate) fn upper_tail_of(t: f64, degrees: usize) -> f64 {
    let half = two_sided_tail(t, degrees) / 2.0;
    if t > 0.0 { half } else { 1.0 - half }
}

/// The t beyond which, on both sides together, Student's distribution has this share.
fn two_sided_quantile_of(share: f64, degrees: usize) -> f64 {
    invert(share, |t| two_sided_tail(t, degrees))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One and two degrees of freedom have closed forms, and the quantiles are in every table.
    #[test]
    fn agrees_with_closed_forms_and_tables() {
        for t in [0.0_f64, 0.3, 1.0, 4.0, 50.0] {
            let one = 1.0 - 2.0 / PI * t.atan();
            let two = 1.0 - t / (2.0 + t * t).sqrt();
            assert!((two_sided_tail(t, 1) - one).abs() < 1e-14 && (two_sided_tail(-t, 2) - two).abs() < 1e-14, "{t}");
        }
        let table = [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (5, 2.571), (10, 2.228), (30, 2.042)];
        for (degrees, expected) in table {
            let found = two_sided_quantile_of(0.05, degrees);
            assert!((found - expected).abs() < 5e-4, "{degrees}: {found}");
        }
        for (degrees, expected) in [(3, 12.924), (6, 5.959), (9, 4.781), (20, 3.850)] {
            let found = two_sided_quantile_of(0.001, degrees);
            assert!((found - expected).abs() < 6e-4, "{degrees}: {found}");
        }
        // With many degrees it is the normal distribution.
        assert!((two_sided_quantile_of(0.05, 100_000) - 1.96).abs() < 1e-3);
    }

    #[test]
    fn nothing_is_found_at_a_level_of_zero_and_no_difference_is_no_evidence() {
        let scale = StandardError { error: 0.01, degrees: 5 };
        assert_eq!(scale.exceeded_in(0.0), f64::INFINITY);
        assert_eq!(scale.p(0.0), 1.0);
        // Values that never differed: any difference is one, none is not.
        let constant = StandardError { error: 0.0, degrees: 5 };
        assert_eq!((constant.p(0.0), constant.p(1e-9)), (1.0, 0.0));
    }

    #[test]
    fn a_detectable_difference_is_the_bound_and_what_chance_may_take_from_it() {
        let scale = StandardError { error: 2.0, degrees: 10 };
        let found = scale.detectable(0.05);
        assert!((found - 2.0 * (2.228_139 + 0.841_621)).abs() < 1e-5, "{found}");
    }
}
