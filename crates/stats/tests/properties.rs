//! Properties that hold for arbitrary values.

use groma_stats::interval::Interval;
use groma_stats::{
    Measured, Modality, Mode, Rng, RunNoise, benjamini_hochberg, change_points, common_step, compare,
    detectable_pair_ratio, drift, find_levels, headline, holm, interference, isotonic, log_histogram, mann_kendall,
    mann_whitney, median, median_interval, median_interval_interpolated, modality, mode_step, order, pair_ratios,
    quantile, quantile_if_enough, quantised, shift_interval, shift_ratio, should_stop, sign_test, signed_rank, sorted,
    split_between_rounds, theil_sen_slope, transient, widened_interval,
};
use proptest::collection::vec;
use proptest::prelude::*;

fn values(sizes: std::ops::Range<usize>) -> impl Strategy<Value = Vec<f64>> {
    // Ties are common among measured times.
    vec(prop_oneof![-1e6..1e6f64, (0..20i32).prop_map(f64::from)], sizes)
}

fn positive(sizes: std::ops::Range<usize>) -> impl Strategy<Value = Vec<f64>> {
    vec(1e-3..1e9f64, sizes)
}

/// Any `f64`, NaN and infinities included.
fn anything() -> impl Strategy<Value = Vec<f64>> {
    vec(any::<f64>(), 0..120)
}

fn permuted(values: &[f64], seed: u64) -> Vec<f64> {
    let mut values = values.to_vec();
    Rng::new(seed).shuffle(&mut values);
    values
}

fn ends(interval: Interval) -> [f64; 2] {
    [interval.low, interval.high]
}

proptest! {
    // A failing input is printed and becomes a unit test; no file is written.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn quantiles_lie_between_the_extremes_and_grow(values in values(1..60), p in 0.0..=1.0, q in 0.0..=1.0) {
        let sorted = sorted(&values);
        let at = |p: f64| quantile(&values, p).expect("there are values");
        prop_assert!(sorted[0] <= at(p) && at(p) <= sorted[sorted.len() - 1]);
        // Equal up to rounding, because both are interpolated.
        prop_assert!(at(f64::min(p, q)) <= at(f64::max(p, q)) + 1e-9);
        prop_assert_eq!(quantile(&values, p), order::quantile_sorted(&sorted, p));
        prop_assert_eq!(at(0.0), sorted[0]);
        prop_assert_eq!(at(1.0), sorted[sorted.len() - 1]);
    }

    #[test]
    fn as_many_values_below_the_median_as_above(values in values(1..60)) {
        let middle = median(&values).expect("there are values");
        let below = values.iter().filter(|&&value| value < middle).count();
        let above = values.iter().filter(|&&value| value > middle).count();
        prop_assert!(2 * below <= values.len() && 2 * above <= values.len());
    }

    #[test]
    fn order_does_not_matter(values in values(31..120), seed: u64) {
        let other = permuted(&values, seed);
        prop_assert_eq!(median(&values), median(&other));
        prop_assert_eq!(headline(&values), headline(&other));
        prop_assert_eq!(modality(&values, 0.0), modality(&other, 0.0));
        prop_assert_eq!(quantised(&values), quantised(&other));
        prop_assert_eq!(log_histogram(&values, 7), log_histogram(&other, 7));
    }

    #[test]
    fn intervals_are_nested_around_the_median(values in values(6..120)) {
        let middle = median(&values).expect("there are values");
        let exact = median_interval(&values, 0.95).expect("enough values");
        let shown = median_interval_interpolated(&values, 0.95).expect("enough values");
        let widened = widened_interval(&values, 0.95).expect("enough values");
        let higher = median_interval(&values, 0.96875).expect("enough values");
        let slack = 1e-9 * exact.low.abs().max(exact.high.abs());
        prop_assert!(exact.low - slack <= shown.low && shown.high <= exact.high + slack);
        prop_assert!(shown.low - slack <= middle && middle <= shown.high + slack);
        for wider in [widened, higher] {
            prop_assert!(wider.low <= exact.low && exact.high <= wider.high);
        }
    }

    #[test]
    fn intervals_follow_a_change_of_unit(values in values(6..60), shift in -1e3..1e3f64) {
        // Powers of two scale without rounding; shifting rounds.
        let scaled: Vec<f64> = values.iter().map(|value| value * 4.0).collect();
        let shifted: Vec<f64> = values.iter().map(|value| value + shift).collect();
        for method in [median_interval, median_interval_interpolated, widened_interval] {
            let of = |values: &[f64]| ends(method(values, 0.95).expect("enough values"));
            prop_assert_eq!(of(&scaled), of(&values).map(|end| end * 4.0));
            for (moved, end) in of(&shifted).into_iter().zip(of(&values)) {
                prop_assert!((moved - end - shift).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn a_looser_target_stops_no_later(values in positive(9..10), target in 0.0..1.0f64, looser in 1.0..10.0f64) {
        prop_assert!(!should_stop(&values, target) || should_stop(&values, target * looser));
        let width = headline(&values).and_then(|headline| headline.relative_half_width).expect("enough rounds");
        prop_assert!(!should_stop(&values, target) || width <= target);
    }

    #[test]
    fn isotonic_is_a_projection(values in values(1..40)) {
        let fit = isotonic(&values);
        prop_assert_eq!(fit.len(), values.len());
        prop_assert!(fit.is_sorted());
        prop_assert_eq!(isotonic(&fit), fit);
    }

    /// The least absolute deviation among all non-decreasing sequences, by dynamic programming over
    /// the values themselves.
    #[test]
    fn isotonic_is_the_best_fit(values in values(1..9)) {
        let levels = sorted(&values);
        let mut best = vec![0.0; levels.len()];
        for value in &values {
            let mut least_so_far = f64::INFINITY;
            for (cost, level) in best.iter_mut().zip(&levels) {
                least_so_far = f64::min(least_so_far, *cost);
                *cost = least_so_far + (value - level).abs();
            }
        }
        let least = best.into_iter().fold(f64::INFINITY, f64::min);
        let found: f64 = isotonic(&values).iter().zip(&values).map(|(fit, value)| (fit - value).abs()).sum();
        prop_assert!((found - least).abs() <= 1e-9 * (1.0 + least), "{found}, not {least}");
    }

    #[test]
    fn a_reversed_trend_is_the_opposite_trend(values in values(3..40)) {
        let forward = mann_kendall(&values).expect("enough values");
        let reversed: Vec<f64> = values.iter().rev().copied().collect();
        let backward = mann_kendall(&reversed).expect("enough values");
        prop_assert_eq!((forward.s, forward.z, forward.p), (-backward.s, -backward.z, backward.p));
        prop_assert!((forward.slope + backward.slope).abs() < 1e-9);
        prop_assert!((0.0..=1.0).contains(&forward.p));
    }

    #[test]
    fn modes_are_apart_and_add_up(low in positive(31..80), apart in 1.5..4.0f64) {
        let values: Vec<f64> = low.iter().enumerate().map(|(index, value)| {
            (1.0 + 0.01 * (value / 1e9)) * if index % 2 == 0 { 1.0 } else { apart }
        }).collect();
        let Modality::Several(modes) = modality(&values, 0.0) else { panic!("two groups far apart") };
        prop_assert!((modes.iter().map(|mode| mode.share).sum::<f64>() - 1.0).abs() < 1e-9);
        prop_assert!(modes.windows(2).all(|pair| pair[1].center > 1.02 * pair[0].center));
    }

    #[test]
    fn histograms_count_every_value_once(values in positive(1..80), bins in 1..30usize) {
        let histogram = log_histogram(&values, bins);
        prop_assert_eq!(histogram.iter().map(|bin| bin.count).sum::<usize>(), values.len());
        prop_assert!(histogram.windows(2).all(|pair| pair[0].high == pair[1].low));
        for (index, bin) in histogram.iter().enumerate() {
            let last = index + 1 == histogram.len();
            let inside = |value: f64| bin.low <= value && (value < bin.high || last && value == bin.high);
            prop_assert_eq!(values.iter().filter(|&&value| inside(value)).count(), bin.count);
        }
    }

    #[test]
    fn the_common_step_explains_the_differences(step in 1..1000u64, counts in vec(1..50u64, 1..300)) {
        let deltas: Vec<u64> = counts.iter().map(|count| count * step).collect();
        let found = common_step(&deltas).expect("positive differences");
        prop_assert!(deltas.iter().all(|delta| delta % found == 0), "fewer than 1000 differences: none may stay unexplained");
        prop_assert_eq!(found % step, 0);
        prop_assert!(deltas.contains(&mode_step(&deltas).expect("positive differences")));
    }

    #[test]
    fn levels_are_in_order(points in vec((1.0..1e9f64, 1.0..1e3f64), 0..60)) {
        let levels = find_levels(&points);
        prop_assert!(levels.iter().all(|level| level.from < level.to && level.latency.is_finite()));
        prop_assert!(levels.windows(2).all(|pair| pair[0].to < pair[1].from && pair[1].latency >= 1.25 * pair[0].latency));
        for pair in levels.windows(2) {
            if let Some(soft) = pair[0].capacity_soft {
                prop_assert!(pair[0].from <= soft && soft <= pair[1].to);
            }
        }
    }

    #[test]
    fn random_numbers_stay_below_their_bound(seed: u64, n in 1..u64::MAX) {
        let mut rng = Rng::new(seed);
        prop_assert!(rng.below(n) < n);
        prop_assert!((0.0..1.0).contains(&rng.unit()));
        prop_assert!(rng.normal().is_finite());
    }

    #[test]
    fn exchanged_sides_give_the_inverse_ratio_and_the_same_p(a in positive(4..20), b in positive(4..20)) {
        let (forth, back) = (shift_ratio(&a, &b).expect("positive"), shift_ratio(&b, &a).expect("positive"));
        prop_assert!((forth * back - 1.0).abs() < 1e-9);
        let (there, here) = (shift_interval(&a, &b, 0.95).expect("values"), shift_interval(&b, &a, 0.95).expect("values"));
        prop_assert!((there.low * here.high - 1.0).abs() < 1e-9 && (there.high * here.low - 1.0).abs() < 1e-9);
        prop_assert!(there.contains(forth));
        let p = mann_whitney(&a, &b).expect("values");
        prop_assert!((p - mann_whitney(&b, &a).expect("values")).abs() < 1e-12 && p > 0.0 && p <= 1.0);
    }

    /// Without ties the test rejects exactly what the interval of the same level leaves out.
    #[test]
    fn the_interval_is_what_the_test_does_not_reject(a in positive(4..12), b in positive(4..12), ratio in 0.01..100.0f64) {
        let scaled: Vec<f64> = a.iter().map(|value| value * ratio).collect();
        let p = mann_whitney(&scaled, &b).expect("values");
        let interval = shift_interval(&a, &b, 0.95).expect("values");
        prop_assert_eq!(interval.contains(ratio), p > 0.05, "{} {:?}", p, interval);
    }

    #[test]
    fn adjusted_p_values_keep_their_order(p in vec(0.0..=1.0, 0..40), seed: u64) {
        for adjust in [holm, benjamini_hochberg] {
            let adjusted = adjust(&p);
            prop_assert!(p.iter().zip(&adjusted).all(|(raw, adjusted)| raw <= adjusted && *adjusted <= 1.0));
            for (i, j) in (0..p.len()).zip(1..p.len()) {
                prop_assert!(p[i] > p[j] || adjusted[i] <= adjusted[j]);
            }
            prop_assert_eq!(permuted(&adjusted, seed), adjust(&permuted(&p, seed)));
        }
        prop_assert!(holm(&p).iter().zip(benjamini_hochberg(&p)).all(|(holm, other)| *holm >= other - 1e-12));
    }

    #[test]
    fn steps_lie_within_the_series_and_change_it(values in positive(0..60), least in 1.0..3.0f64) {
        let steps = change_points(&values, least).expect("positive");
        prop_assert!(steps.iter().all(|step| step.ratio > least || step.ratio < 1.0 / least));
        let ends = [0].into_iter().chain(steps.iter().map(|step| step.index)).chain([values.len()]);
        prop_assert!(steps.is_empty() || ends.collect::<Vec<_>>().windows(2).all(|pair| pair[1] - pair[0] >= 3));
    }

    /// No function panics on any bit pattern, and no answer contains NaN.
    #[test]
    fn nothing_panics(values in anything(), p in any::<f64>(), ticks in vec(any::<u64>(), 0..50), bins in 0..50usize) {
        for answer in [median(&values), quantile(&values, p), quantile_if_enough(&values, p), interference(&values), theil_sen_slope(&values)] {
            prop_assert!(answer.is_none_or(|answer| !answer.is_nan()));
        }
        for method in [median_interval, median_interval_interpolated, widened_interval] {
            let _ = method(&values, p);
            prop_assert!(method(&values, 0.95).is_none_or(|interval| interval.low <= interval.high));
        }
        let rounds: Vec<Vec<f64>> = values.chunks(10).map(<[f64]>::to_vec).collect();
        let points: Vec<(f64, f64)> = values.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        let modes = [Mode { center: p, share: 1.0 }, Mode { center: 1.0, share: p }];
        let _ = (drift(&rounds), transient(&values), mann_kendall(&values), headline(&values), should_stop(&values, p));
        let _ = (quantised(&values), isotonic(&values), log_histogram(&values, bins), find_levels(&points));
        let (a, b) = values.split_at(values.len() / 2);
        for p in [mann_whitney(a, b), sign_test(a), signed_rank(a, p)] {
            prop_assert!(p.is_none_or(|p| (0.0..=1.0).contains(&p)));
        }
        prop_assert!(holm(a).iter().chain(&benjamini_hochberg(a)).all(|p| (0.0..=1.0).contains(p)));
        let noise = RunNoise::of(a);
        prop_assert!(noise.is_none_or(|noise| noise.floor() >= 1.0 && (0.0..=1.0).contains(&noise.p_of_next(1.0))));
        for suite in [Measured { before: a, after: b, earlier: a }, Measured { before: a, after: b, earlier: &[] }] {
            let _ = compare(&[suite; 2]);
        }
        let _ = (shift_interval(a, b, p), pair_ratios(a, b), detectable_pair_ratio(a, p, 0.05), change_points(&values, p));
        let _ = (modality(&values, p), split_between_rounds(&rounds, &modes), mode_step(&ticks), common_step(&ticks));
    }
}
