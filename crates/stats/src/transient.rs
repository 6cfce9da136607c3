//! Where the initial transient of a round ends: what a fresh process measures before its caches,
//! translations, predictors and the core's clock are as they stay.
//!
//! Not here: a drift over the rounds of a run ([`mod@crate::drift`]).

use crate::order::median;

/// The fewest values from which a transient can be told.
const MIN_VALUES: usize = 8;

/// A change of the medians that matters, relative: as for a drift.
const TOLERATED_CHANGE: f64 = 0.01;

/// A transient by less than this, relative, is none: nothing is cut from a series that hardly
/// varies.
const NEGLIGIBLE: f64 = 0.001;

/// The transient at the beginning of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transient {
    /// The values that belong to it: at most half of them.
    pub len: usize,
    /// Whether it ended within the first half, as far as the values tell.
    pub ended: bool,
}

/// The transient of values in time order, by the marginal standard error rule MSER: the length for
/// which the mean of all later values has the smallest standard error (White, "An effective
/// truncation heuristic for bias reduction in simulation output", Simulation 1997). Where that is
/// half of the values, or one less, and the others still change by more than 1 % from their first
/// half to their second, it has not ended. Fewer than eight values have none.
///
/// Of values without a transient it takes one or two on average, wherever they lie, so it adds no
/// bias (docs/methods/statistics.md#transient has the simulation).
#[must_use]
pub fn transient(values: &[f64]) -> Transient {
    let half = values.len() / 2;
    if values.len() < MIN_VALUES {
        return Transient { len: 0, ended: true };
    }
    // The variance of the mean of the values from `from` on.
    let error = |from: usize| {
        let later = &values[from..];
        let n = later.len() as f64;
        let mean = later.iter().sum::<f64>() / n;
        later.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n / n
    };
    let errors: Vec<f64> = (0..=half).map(error).collect();
    let len = (0..=half).min_by(|a, b| errors[*a].total_cmp(&errors[*b])).unwrap_or(0);
    let changed = |values: &[f64], at: usize, tolerated: f64| match (median(&values[..at]), median(&values[at..])) {
        (Some(first), Some(second)) => (first - second).abs() > tolerated * second.abs(),
        _ => false,
    };
    let len = if changed(values, len, NEGLIGIBLE) { len } else { 0 };
    let kept = &values[len..];
    Transient { len, ended: len + 1 < half || !changed(kept, kept.len() / 2, TOLERATED_CHANGE) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn series(n: usize, rng: &mut Rng, transient: impl Fn(usize) -> f64) -> Vec<f64> {
        (0..n).map(|i| 1.0 + 0.003 * rng.normal() + transient(i)).collect()
    }

    #[test]
    fn a_step_and_a_decay_are_cut_where_they_end() {
        let mut rng = Rng::new(5);
        for _ in 0..200 {
            let step = transient(&series(15, &mut rng, |i| if i < 4 { 0.1 } else { 0.0 }));
            assert!((4..=7).contains(&step.len) && step.ended, "{step:?}");
            let decay = transient(&series(20, &mut rng, |i| 0.2 * (-(i as f64)).exp()));
            assert!((3..=10).contains(&decay.len), "{decay:?}");
        }
    }

    /// Rising for the whole round, by 4 %; and three values that are slow belong to no transient.
    #[test]
    fn what_goes_on_has_not_ended() {
        let mut rng = Rng::new(6);
        let ended = |rng: &mut Rng, f: fn(usize) -> f64| transient(&series(16, rng, f)).ended;
        let rising = (0..100).filter(|_| ended(&mut rng, |i| 0.004 * i as f64)).count();
        assert!(rising < 20, "{rising} of 100");
        let late = (0..100).filter(|_| ended(&mut rng, |i| if (12..15).contains(&i) { 0.1 } else { 0.0 })).count();
        assert!(late > 95, "{late} of 100");
        assert_eq!(transient(&[9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]), Transient { len: 0, ended: true });
        assert_eq!(transient(&[9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]).len, 1);
        assert_eq!(transient(&[1.0; 12]), Transient { len: 0, ended: true });
    }

    /// The median of what is kept is where it belongs: without a transient exactly, with one nearer
    /// than the median of all by far.
    #[test]
    fn what_is_cut_biases_nothing() {
        let mut rng = Rng::new(7);
        let bias = |rng: &mut Rng, cut: bool, f: fn(usize) -> f64| {
            let of = |rng: &mut Rng| {
                let values = series(15, rng, f);
                let from = if cut { transient(&values).len } else { 0 };
                median(&values[from..]).unwrap_or(f64::NAN) - 1.0
            };
            (0..4000).map(|_| of(rng)).sum::<f64>() / 4000.0
        };
        assert!(bias(&mut rng, true, |_| 0.0).abs() < 5e-5);
        let exponential = |i: usize| 0.2 * (-(i as f64) / 2.0).exp();
        let [with, without] = [true, false].map(|cut| bias(&mut rng, cut, exponential));
        assert!(with < 0.35 * without, "{with} after {without}");
    }
}
