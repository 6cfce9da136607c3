//! The tails of the normal distribution.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// The probability that a standard normal variable is at least as far from 0 as `z`.
pub(crate) fn two_sided_tail(z: f64) -> f64 {
    let x = z.abs() * FRAC_1_SQRT_2;
    if x < SERIES_BELOW { 1.0 - erf_series(x) } else { erfc_fraction(x) }
}

/// The z beyond which, on both sides together, the standard normal distribution has this share:
/// 1.96 for 0.05.
pub(crate) fn two_sided_quantile(share: f64) -> f64 {
    invert(share, two_sided_tail)
}

/// Where the falling `tail` reaches `share`, by bisection; infinite for a share of 0.
pub(crate) fn invert(share: f64, tail: impl Fn(f64) -> f64) -> f64 {
    if share <= 0.0 {
        return f64::INFINITY;
    }
    let mut high = 1.0;
    while tail(high) > share {
        high *= 2.0;
    }
    let mut low = 0.0;
    for _ in 0..f64::MANTISSA_DIGITS {
        let middle = f64::midpoint(low, high);
        if tail(middle) > share { low = middle } else { high = middle }
    }
    high
}

/// The probability that a standard normal variable is at least `z`.
pub(crate) fn upper_tail(z: f64) -> f64 {
    let half = two_sided_tail(z) / 2.0;
    if z < 0.0 { 1.0 - half } else { half }
}

/// Below this the series is used, whose terms are all positive, above it the continued fraction;
/// both are right to 10 digits here.
const SERIES_BELOW: f64 = 2.5;

/// erf by its series 2/sqrt(pi) e^(-x^2) sum of 2^k x^(2k+1) / (1 3 5 ... (2k+1)) (Abramowitz and
/// Stegun 7.1.6).
fn erf_series(x: f64) -> f64 {
    let mut term = x;
    let mut sum = x;
    let mut odd = 1.0;
    while term > sum * f64::EPSILON {
        odd += 2.0;
        term *= 2.0 * x * x / odd;
        sum += term;
    }
    2.0 / PI.sqrt() * (-x * x).exp() * sum
}

/// 1 - erf by its continued fraction (Abramowitz and Stegun 7.1.14), from the inside outward.
fn erfc_fraction(x: f64) -> f64 {
    const DEPTH: u32 = 60;
    let fraction = (1..=DEPTH).rev().fold(x, |inner, k| x + f64::from(k) / 2.0 / inner);
    (-x * x).exp() / PI.sqrt() / fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values from scipy: `2 * norm.sf(z)`.
    #[test]
    fn agrees_with_scipy() {
        let cases = [
            (0.0, 1.0),
            (0.5, 0.6170750774519738),
            (1.0, 0.31731050786291415),
            (1.96, 0.04999579029644087),
            (2.5758, 0.01000084747555736),
            (3.5, 0.00046525815807105003),
            (3.6, 0.00031821718031506727),
            (5.0, 5.733031437583866e-07),
            (10.0, 1.523970604832094e-23),
        ];
        for (z, expected) in cases {
            for signed in [z, -z] {
                let found = two_sided_tail(signed);
                assert!((found / expected - 1.0).abs() < 1e-10, "z = {signed}: {found}, not {expected}");
            }
        }
        assert_eq!(two_sided_tail(f64::INFINITY), 0.0);
    }

    #[test]
    fn quantiles_are_where_the_tails_are() {
        for (share, expected) in [(0.05, 1.959_963_985), (0.4, 0.841_621_234), (0.01, 2.575_829_304), (1.0, 0.0)] {
            let found = two_sided_quantile(share);
            assert!((found - expected).abs() < 1e-8, "{share}: {found}");
        }
        assert_eq!(two_sided_quantile(0.0), f64::INFINITY);
        assert_eq!(upper_tail(0.0), 0.5);
        assert!((upper_tail(-1.0) + upper_tail(1.0) - 1.0).abs() < 1e-15);
    }
}
