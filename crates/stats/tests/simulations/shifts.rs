//! The tests and intervals of the ratio of two samples, unpaired and paired
//! (docs/methods/statistics.md#shift-between-two-runs, docs/methods/statistics.md#ratio-of-pairs).

use groma_stats::{Rng, detectable_pair_ratio, mann_whitney, pair_ratios, shift_interval, sign_test, signed_rank};

use crate::distributions::{INDEPENDENT, Shape, heavy_tailed};
use crate::percent;

const REPETITIONS: usize = 1_000;

#[test]
fn the_unpaired_test_and_interval_keep_their_level() {
    const RATIO: f64 = 1.25;
    for (index, distribution) in INDEPENDENT.iter().enumerate() {
        for (n, m) in [(4, 4), (5, 8), (10, 10), (25, 17)] {
            let mut rng = Rng::new(25).fork(index as u64).fork(n as u64);
            let mut significant = 0;
            let covered = percent(REPETITIONS, || {
                let (a, b) = (distribution.sample(&mut rng, n), distribution.sample(&mut rng, m));
                significant += usize::from(mann_whitney(&a, &b).expect("values") <= 0.05);
                let scaled: Vec<f64> = b.iter().map(|value| RATIO * value).collect();
                shift_interval(&a, &scaled, 0.95).expect("enough values").contains(RATIO)
            });
            let alarms = 100.0 * significant as f64 / REPETITIONS as f64;
            println!(
                "{:26} {n:2} and {m:2}: p <= 0.05 in {alarms:4.2} %, interval covers {covered:5.2} %",
                distribution.name
            );
            // Two standard deviations of chance are 1.4 points. Ties make the test stricter.
            assert!(
                alarms <= 6.0 && (alarms >= 2.0 || distribution.shape == Shape::Tied),
                "{}: {alarms} %",
                distribution.name
            );
            assert!(covered >= 94.0, "{}, {n} and {m}: {covered} %", distribution.name);
        }
    }
}

/// b is exactly 1 % slower than a, with noise in common and noise of their own, quantised in the
/// second case so that zeros and ties are frequent.
#[test]
fn the_paired_tests_keep_their_level_at_the_bound() {
    for (name, quantum) in [("continuous", 0.0), ("quantised", 0.01)] {
        for n in [5, 10, 15, 25] {
            let mut rng = Rng::new(26).fork(n);
            let mut signs = 0;
            let ranks = percent(REPETITIONS, || {
                let ratios: Vec<f64> = (0..n)
                    .map(|_| {
                        let noise = 0.02 * heavy_tailed(&mut rng);
                        if quantum > 0.0 { ((noise / quantum).round() * quantum).exp() } else { noise.exp() }
                    })
                    .collect();
                signs += usize::from(sign_test(&ratios).expect("ratios") <= 0.05);
                let slower: Vec<f64> = ratios.iter().map(|ratio| 1.01 * ratio).collect();
                signed_rank(&slower, 1.01).expect("ratios") <= 0.05
            });
            let signs = 100.0 * signs as f64 / REPETITIONS as f64;
            println!("{name:10} {n:2} pairs: signed ranks alarm in {ranks:4.2} %, signs in {signs:4.2} %");
            assert!(ranks <= 6.0 && signs <= 6.0, "{name}, {n}: {ranks} %, {signs} %");
            assert!(ranks >= 2.0 || quantum > 0.0, "{name}, {n}: {ranks} %");
        }
    }
}

/// A shift of the detectable size is found in 70 to 90 % of repetitions.
#[test]
fn detectable_shifts_of_pairs_are_found() {
    type Draw = fn(&mut Rng) -> f64;
    let noises: [(&str, Draw); 3] =
        [("normal", |rng| rng.normal()), ("heavy tails", heavy_tailed), ("uniform", |rng| 3.46 * (rng.unit() - 0.5))];
    for (name, noise) in noises {
        for (n, level) in [(10, 0.05), (15, 0.05), (15, 0.05 / 20.0), (25, 0.05), (25, 0.05 / 150.0)] {
            let mut rng = Rng::new(27).fork(n);
            let mut pairs = |shift: f64| -> Vec<f64> {
                let side = |_| 100.0;
                let a: Vec<f64> = (0..n).map(side).collect();
                let b: Vec<f64> = a.iter().map(|a| a * shift * (0.02 * noise(&mut rng)).exp()).collect();
                pair_ratios(&a, &b).expect("positive values")
            };
            let share = percent(REPETITIONS, || {
                let detectable = detectable_pair_ratio(&pairs(1.0), 1.01, level).expect("enough pairs");
                signed_rank(&pairs(detectable), 1.01).expect("ratios") < level
            });
            println!("{name:12} {n:2} pairs, level {level:7.5}: found in {share:4.1} %");
            assert!((70.0..=90.0).contains(&share), "{name}, {n} pairs, level {level}: {share} %");
        }
    }
}
