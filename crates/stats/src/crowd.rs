//! How far one value lies above a crowd of values that should be equal: hosts of one kind, of which
//! some are slow. Not a comparison of two runs, which `comparison.rs` makes.
//!
//! The crowd is described by its median and by a spread that half of it may spoil; how far its tail
//! reaches counts as well, once there are enough values to see a tail.

use crate::normal::upper_tail;
use crate::order::{median, quantile};
use crate::student::upper_tail_of;

/// The standard deviation of a normal distribution, over its median absolute deviation.
const OF_MAD: f64 = 1.4826;
/// By how much the median absolute deviation of 4 to 9 values is too small for the spread (Croux
/// and Rousseeuw, *Computational Statistics* 1992); of n more it is by n / (n - 0.8).
const FEW_VALUES_CORRECTION: [f64; 6] = [1.363, 1.206, 1.200, 1.140, 1.129, 1.107];
/// The variance of a median of n values, over that of their mean.
const MEDIAN_VARIANCE_RATIO: f64 = 1.57;
/// Of n values, the median absolute deviation knows as much of their spread as the standard
/// deviation does of this share of them (its efficiency on normal data).
const EFFICIENCY: f64 = 0.37;
/// Fewest and most degrees of freedom: below, the spread of few values, of which the error of each
/// is a lower bound; above, the tails of real hosts are heavier than those of a normal
/// distribution. Chosen by the simulations of docs/methods/statistics.md#outliers-of-a-fleet.
const DEGREES: [usize; 2] = [3, 20];
/// From this many values on the tail is looked at: two of 20 lie beyond the quantile.
const WITH_TAIL: usize = 20;
/// The quantile that stands for the tail, and where a normal distribution has it. A fault that a
/// tenth of all hosts share hides behind it.
const TAIL: (f64, f64) = (0.9, 1.2816);

/// Fewest values of a crowd.
pub const MIN_VALUES: usize = 4;

/// The center and the spread of values, most of which are of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crowd {
    /// The median.
    pub center: f64,
    /// The spread, as a standard deviation.
    pub spread: f64,
    /// The number of values.
    pub count: usize,
}

impl Crowd {
    /// Describes values; a spread below `least` counts as `least`. `None` for fewer than
    /// [`MIN_VALUES`], or if one is not finite.
    pub fn of(values: &[f64], least: f64) -> Option<Crowd> {
        let center = median(values).filter(|_| values.len() >= MIN_VALUES && values.iter().all(|v| v.is_finite()))?;
        let deviations: Vec<f64> = values.iter().map(|value| (value - center).abs()).collect();
        let count = values.len();
        let few = FEW_VALUES_CORRECTION.get(count - MIN_VALUES).copied().unwrap_or(count as f64 / (count as f64 - 0.8));
        let mut spread = (median(&deviations)? * OF_MAD * few).max(least);
        if count >= WITH_TAIL {
            spread = spread.max((quantile(values, TAIL.0)? - center) / TAIL.1);
        }
        Some(Crowd { center, spread, count })
    }

    /// The probability that a further value of this crowd lies as far above its center, if it has
    /// an error of its own besides (a standard deviation).
    pub fn p_above(&self, value: f64, error: f64) -> f64 {
        let spread = self.spread * (1.0 + MEDIAN_VARIANCE_RATIO / self.count as f64).sqrt();
        let t = (value - self.center) / spread.hypot(error);
        if !t.is_finite() {
            return 1.0;
        }
        let degrees = ((self.count - 1) as f64 * EFFICIENCY).round() as usize;
        upper_tail_of(t, degrees.clamp(DEGREES[0], DEGREES[1]))
    }

    /// The two-sided probability that two crowds with these centers are one: their centers differ
    /// by more than their spreads explain.
    pub fn p_shifted(&self, other: &Crowd) -> f64 {
        let variance = |crowd: &Crowd| MEDIAN_VARIANCE_RATIO * crowd.spread.powi(2) / crowd.count as f64;
        let z = (self.center - other.center).abs() / (variance(self) + variance(other)).sqrt();
        if z.is_finite() { (2.0 * upper_tail(z)).min(1.0) } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Rng, sorted};

    /// How often one of `n` values, compared with the others, has a p of at most `level`, if none
    /// is an outlier.
    fn alarms(n: usize, level: f64, draw: &mut dyn FnMut(&mut Rng) -> f64) -> f64 {
        let rng = &mut Rng::new(5);
        let (mut alarms, times) = (0, 200_000 / n);
        for _ in 0..times {
            let values: Vec<f64> = (0..n).map(|_| draw(rng)).collect();
            let crowd = Crowd::of(&values[1..], 0.0).expect("enough values");
            alarms += usize::from(crowd.p_above(values[0], 0.0) <= level);
        }
        alarms as f64 / times as f64
    }

    #[test]
    fn an_equal_value_is_rarely_an_outlier() {
        for n in [6, 10, 25, 100] {
            let normal = alarms(n, 0.001, &mut |rng| rng.normal());
            // One value in ten is disturbed, and only ever slower.
            let disturbed = alarms(n, 0.001, &mut |rng| {
                let own = rng.normal();
                if rng.below(10) == 0 { own + 3.0 * rng.normal().abs() } else { own }
            });
            println!("{n}: {normal:.5} {disturbed:.5}");
            assert!(normal <= 0.006 && disturbed <= 0.04, "{n}: {normal} {disturbed}");
        }
    }

    #[test]
    fn a_value_beyond_the_crowd_is_an_outlier_and_a_noisy_one_is_not() {
        let values: Vec<f64> = (0..50).map(|i| f64::from(i % 10) * 0.001).collect();
        let crowd = Crowd::of(&values, 0.0).expect("enough values");
        let beyond = crowd.center + 0.05;
        assert!(crowd.p_above(beyond, 0.0) < 1e-8 && crowd.p_above(beyond, 0.05) > 0.1);
        assert!(crowd.p_above(crowd.center - 0.05, 0.0) > 0.999, "only what lies above counts");
    }

    /// Two of five values are outliers: the crowd is the other three.
    #[test]
    fn outliers_do_not_hide_themselves() {
        let crowd = Crowd::of(&[1.0, 1.001, 0.999, 1.5, 1.6], 0.001).expect("enough values");
        assert!(crowd.p_above(1.5, 0.0) < 1e-6, "{crowd:?}");
        assert_eq!(sorted(&[2.0, 1.0]), [1.0, 2.0]);
    }

    #[test]
    fn a_crowd_needs_values() {
        assert_eq!(Crowd::of(&[1.0; 3], 0.1), None);
        assert_eq!(Crowd::of(&[1.0, 1.0, 1.0, f64::NAN], 0.1), None);
        let equal = Crowd::of(&[1.0; 4], 0.0).expect("enough values");
        assert_eq!((equal.spread, equal.p_above(1.0, 0.0)), (0.0, 1.0), "0 over 0 is no evidence");
    }

    #[test]
    fn a_shift_of_all_is_seen() {
        let of = |shift: f64| Crowd::of(&(0..40).map(|i| f64::from(i % 8) * 0.01 + shift).collect::<Vec<_>>(), 0.0);
        let p = |shift| of(0.0).expect("enough").p_shifted(&of(shift).expect("enough"));
        assert!(p(0.0) > 0.99 && p(0.05) < 1e-4, "{} {}", p(0.0), p(0.05));
    }
}
