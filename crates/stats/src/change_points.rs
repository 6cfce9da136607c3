//! Where the level of a series of runs changed, and by which ratio.
//!
//! A series has one value per run, in the order of time. A change is a step that lasts at least
//! three runs; a single odd run is none, and nor is noise, however far its tails reach. A slow
//! drift comes out as several steps. What differs within a run is the subject of `drift.rs`.

use std::f64::consts::FRAC_1_SQRT_2;

use crate::Rng;
use crate::order::median;

/// The fewest runs of a level: two may be odd by chance, and a level of one would be an outlier.
const SHORTEST_LEVEL: usize = 3;

/// The level of each test, and the number of random orders that it compares with. With 199 of them
/// p is at most 1 % if at most one does as well as the series.
const SIGNIFICANCE: f64 = 0.01;
const ORDERS: usize = 199;

/// Logarithms further than this many standard deviations from the median count as if they were no
/// further: the usual bound of robust estimates. The standard deviation is estimated from the
/// median absolute deviation, which it exceeds by a factor of 1.4826 where noise is normal.
const BOUND: f64 = 3.0 * 1.4826;

/// The same series gives the same answer.
const SEED: u64 = 1;

/// A step of the level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// The place of the first run of the new level, counted from 0.
    pub index: usize,
    /// The median of the runs from here to the next change over the median of those from the last.
    pub ratio: f64,
    /// The share of random orders of the runs between which it was found with a step as clear, from
    /// 0.005 to 0.01.
    pub p: f64,
}

/// The steps of a series, in order. Each changes the level by more than the ratio `least` or its
/// inverse. Empty without steps; with fewer than twelve runs too few orders differ to find one
/// reliably. `None` if a value is not positive and finite, or `least` not positive.
///
/// The hierarchy of tests is that of Matteson and James ("A nonparametric approach for multiple
/// change point analysis of multivariate data", JASA 2014): the clearest step of the series is
/// compared with the clearest steps of random orders of it; if it is significant, both parts are
/// searched in the same way. Whatever the distribution, at most 1 % of the series without a step
/// have one, as long as runs are independent.
///
/// How clear a step is, is measured within intervals of all lengths, so that a short level between
/// two longer ones is seen (Kovács, Bühlmann, Li and Munk, "Seeded binary segmentation", Biometrika
/// 2023), by the difference of means over its standard error. The logarithms are bounded before, so
/// that outliers do not count for more than others that lie far out (as Fearnhead and Rigaill,
/// "Changepoint detection in the presence of outliers", JASA 2019). The energy distance was
/// rejected: it takes quadratic time for each random order, and it finds changes of the spread
/// (docs/methods/statistics.md#change-points).
#[must_use]
pub fn change_points(values: &[f64], least: f64) -> Option<Vec<ChangePoint>> {
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    if !logs.iter().all(|log| log.is_finite()) || least.is_nan() || least <= 0.0 {
        return None;
    }
    let mut steps = Vec::new();
    search(&logs, 0, &mut Rng::new(SEED), &mut steps);
    while let Some(step) = smallest(&logs, &steps).filter(|step| change(&logs, &steps, *step).abs() <= least.ln().abs())
    {
        steps.remove(step);
    }
    let point =
        |step: usize| ChangePoint { index: steps[step].at, ratio: change(&logs, &steps, step).exp(), p: steps[step].p };
    Some((0..steps.len()).map(point).collect())
}

/// A step that a test has found.
struct Step {
    at: usize,
    p: f64,
}

/// Adds the steps of `logs`, which begin at the place `from` of the series.
fn search(logs: &[f64], from: usize, rng: &mut Rng, steps: &mut Vec<Step>) {
    let scales = scales(logs.len());
    let mut scores = scores(logs);
    let Some((place, clearness)) = clearest(&scores, &scales) else { return };
    // Stops as soon as p can no longer be small: most searches end after a few orders.
    let allowed = (SIGNIFICANCE * (ORDERS + 1) as f64) as usize - 1;
    let mut as_clear = 0;
    for _ in 0..ORDERS {
        rng.shuffle(&mut scores);
        as_clear += usize::from(clearest(&scores, &scales).is_some_and(|(_, other)| other >= clearness));
        if as_clear > allowed {
            return;
        }
    }
    let p = (as_clear + 1) as f64 / (ORDERS + 1) as f64;
    search(&logs[..place], from, rng, steps);
    steps.push(Step { at: from + place, p });
    search(&logs[place..], from + place, rng, steps);
}

/// The change of the logarithm at a step.
fn change(logs: &[f64], steps: &[Step], step: usize) -> f64 {
    let level = |from: usize, to: usize| median(&logs[from..to]).unwrap_or_default();
    let at = steps[step].at;
    level(at, end(steps, step, logs.len())) - level(start(steps, step), at)
}

/// The step with the smallest change.
fn smallest(logs: &[f64], steps: &[Step]) -> Option<usize> {
    let size = |step: &usize| change(logs, steps, *step).abs();
    (0..steps.len()).min_by(|a, b| size(a).total_cmp(&size(b)))
}

/// Where the level before a step begins.
fn start(steps: &[Step], step: usize) -> usize {
    if step == 0 { 0 } else { steps[step - 1].at }
}

/// Where the level after a step ends.
fn end(steps: &[Step], step: usize, length: usize) -> usize {
    steps.get(step + 1).map_or(length, |next| next.at)
}

/// The logarithms about their median, bounded. Where more than half of them are equal there is no
/// spread to measure the others by, and their sides remain.
fn scores(logs: &[f64]) -> Vec<f64> {
    let middle = median(logs).unwrap_or_default();
    let distances: Vec<f64> = logs.iter().map(|log| log - middle).collect();
    let bound =
        BOUND * median(&distances.iter().map(|distance| distance.abs()).collect::<Vec<_>>()).unwrap_or_default();
    let score = |distance: f64| match distance {
        0.0 => 0.0,
        _ if bound == 0.0 => distance.signum(),
        _ => distance.clamp(-bound, bound),
    };
    distances.into_iter().map(score).collect()
}

/// Intervals of one length, and the possible splits of each.
struct Scale {
    length: usize,
    starts: Vec<usize>,
    splits: Vec<Split>,
}

/// A split of an interval that leaves at least the shortest level on both sides.
struct Split {
    /// The number of values before it.
    left: f64,
    /// The factor that turns the squared excess of their sum over its expected value into the
    /// square of the difference of the two means over its standard error, for scores of variance 1.
    weight: f64,
}

impl Scale {
    fn new(length: usize, starts: Vec<usize>) -> Self {
        let split = |left: usize| Split { left: left as f64, weight: length as f64 / (left * (length - left)) as f64 };
        Self { length, starts, splits: (SHORTEST_LEVEL..=length - SHORTEST_LEVEL).map(split).collect() }
    }
}

/// From the whole of `n` values down to two levels, each length shorter than the last by the root
/// of 2, intervals of one length overlapping by half at least. None for fewer values than two
/// levels.
fn scales(n: usize) -> Vec<Scale> {
    let lengths = std::iter::successors(Some(n as f64), |length| Some(length * FRAC_1_SQRT_2));
    let scale = |length: f64| {
        let (last, steps) = (n - length.ceil() as usize, 2 * (n as f64 / length).ceil() as usize - 2);
        Scale::new(n - last, (0..=steps).map(|step| step * last / steps.max(1)).collect())
    };
    lengths.take_while(|length| *length >= (2 * SHORTEST_LEVEL) as f64).map(scale).collect()
}

/// The place of the clearest step on all scales, and how clear it is; `None` without a scale.
fn clearest(scores: &[f64], scales: &[Scale]) -> Option<(usize, f64)> {
    let mut sum = 0.0;
    let sums: Vec<f64> = std::iter::once(0.0)
        .chain(scores.iter().map(|score| {
            sum += score;
            sum
        }))
        .collect();
    let mut best = None;
    let mut greatest = -1.0;
    for scale in scales {
        for &start in &scale.starts {
            let within = &sums[start..=start + scale.length];
            let mean = (within[scale.length] - within[0]) / scale.length as f64;
            for (sum, split) in within[SHORTEST_LEVEL..].iter().zip(&scale.splits) {
                let excess = sum - within[0] - split.left * mean;
                let clearness = excess * excess * split.weight;
                if clearness > greatest {
                    greatest = clearness;
                    best = Some((start + split.left as usize, clearness));
                }
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs at each of the levels, with a ripple of 0.2 % that has no order.
    fn series(levels: &[(usize, f64)]) -> Vec<f64> {
        let mut rng = Rng::new(3);
        let runs = levels.iter().flat_map(|(runs, level)| std::iter::repeat_n(*level, *runs));
        runs.map(|level| level * (1.0 + 0.002 * rng.normal())).collect()
    }

    fn places(values: &[f64], least: f64) -> Vec<usize> {
        change_points(values, least).expect("positive values").iter().map(|step| step.index).collect()
    }

    #[test]
    fn steps_have_their_places_ratios_and_chances() {
        let found = change_points(&series(&[(20, 100.0), (12, 105.0), (30, 100.0)]), 1.01).expect("positive values");
        assert_eq!(found.iter().map(|step| step.index).collect::<Vec<_>>(), [20, 32]);
        assert!((found[0].ratio - 1.05).abs() < 0.003 && (found[1].ratio - 1.0 / 1.05).abs() < 0.003, "{found:?}");
        assert!(found.iter().all(|step| (0.005..=0.01).contains(&step.p)), "{found:?}");
    }

    /// Values without noise: more than half equal, the others bounded by their side alone.
    #[test]
    fn exact_values_change_where_they_differ() {
        let steps = [&[4.0; 8][..], &[6.0; 7]].concat();
        assert_eq!(places(&steps, 1.0), [8]);
        assert_eq!(places(&[5.0; 50], 1.0), []);
        let mut odd = vec![5.0; 50];
        odd[20] = 50.0;
        assert_eq!(places(&odd, 1.0), []);
    }

    #[test]
    fn steps_below_the_least_are_left_out_and_their_sides_joined() {
        let values = series(&[(30, 100.0), (30, 101.0), (30, 106.0)]);
        assert_eq!(places(&values, 1.0), [30, 60]);
        assert_eq!(places(&values, 1.03), [60]);
        assert_eq!(places(&values, 1.0 / 1.03), [60]);
        assert_eq!(places(&values, 1.10), []);
        let joined = change_points(&values, 1.03).expect("positive values");
        assert!((joined[0].ratio - 106.0 / 100.5).abs() < 0.003, "{joined:?}");
    }

    /// Of twelve runs one order in 462 parts them as clearly, of eight one in 35.
    #[test]
    fn twelve_runs_can_have_a_step_and_eight_cannot() {
        for n in 0..=8 {
            assert_eq!(places(&series(&[(n / 2, 1.0), (n - n / 2, 2.0)]), 1.0), [], "{n}");
        }
        assert_eq!(places(&series(&[(6, 1.0), (6, 2.0)]), 1.0), [6]);
    }

    #[test]
    fn what_has_no_logarithm_has_no_answer() {
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(change_points(&[1.0, 1.0, wrong], 1.0), None, "{wrong}");
        }
        for least in [f64::NAN, 0.0, -1.0] {
            assert_eq!(change_points(&[1.0, 1.0], least), None, "{least}");
        }
        assert_eq!(change_points(&[], 1.0), Some(vec![]));
    }

    #[test]
    fn scales_reach_from_the_whole_to_two_levels() {
        for n in [0, 5, 6, 7, 100] {
            let scales = scales(n);
            assert_eq!(scales.first().map(|scale| scale.length), (n >= 6).then_some(n));
            assert!(scales.last().is_none_or(|scale| scale.length < 10), "{n}");
            for scale in &scales {
                assert_eq!((scale.starts[0], scale.starts[scale.starts.len() - 1] + scale.length), (0, n));
                assert!(scale.starts.windows(2).all(|pair| 2 * (pair[1] - pair[0]) <= scale.length + 2), "{n}");
                assert_eq!(scale.splits.len(), scale.length - 2 * SHORTEST_LEVEL + 1);
            }
        }
    }
}
