//! How often intervals of the median contain the true median: of independent values, of rounds that
//! differ from each other, and of values that depend on the ones before
//! (docs/methods/statistics.md#rejected-intervals).

use groma_stats::interval::{median_interval_interpolated_sorted, median_interval_sorted};
use groma_stats::{
    Interval, Rng, headline, median, median_interval, order, round_medians, sorted, transient, widened_interval,
};

use crate::distributions::{INDEPENDENT, Shape};
use crate::percent;

/// Sample sizes, with the exact coverage of the order-statistic interval in percent: scipy,
/// `1 - 2 * binom.cdf(k - 1, n, 0.5)`, k the largest that leaves at least 95 %.
const EXACT: [(usize, f64); 6] =
    [(6, 96.875), (9, 96.09375), (11, 98.828125), (17, 95.095825), (31, 97.055063), (101, 95.395593)];

#[test]
fn intervals_cover_as_promised() {
    const REPETITIONS: usize = 5_000;
    for (index, distribution) in INDEPENDENT.iter().enumerate() {
        for (n, expected) in EXACT {
            let mut rng = Rng::new(7).fork(index as u64).fork(n as u64);
            let (mut exact, mut interpolated, mut display) = (0, 0, 0);
            for _ in 0..REPETITIONS {
                let values = sorted(&distribution.sample(&mut rng, n));
                let covers = |interval: Option<Interval>| {
                    usize::from(interval.expect("n is at least 6").contains(distribution.median))
                };
                exact += covers(median_interval_sorted(&values, order::CONFIDENCE));
                interpolated += covers(median_interval_interpolated_sorted(&values, order::CONFIDENCE));
                display += covers(headline(&values).expect("there are values").display);
            }
            let share = |count: usize| 100.0 * count as f64 / REPETITIONS as f64;
            let [exact, interpolated, display] = [exact, interpolated, display].map(share);
            let cell = format!("{:26} n {n:3}", distribution.name);
            println!(
                "{cell}: exact {exact:6.2} % ({expected:.2}), interpolated {interpolated:6.2} %, display {display:6.2} %"
            );

            assert!(exact >= 94.5, "{cell}: exact {exact} %");
            assert!(display >= 93.5, "{cell}: display {display} %");
            if distribution.shape != Shape::Tied {
                // One rank more or less changes the coverage by 1.7 points or more.
                assert!((exact - expected).abs() <= 0.8, "{cell}: exact {exact} %, not {expected} %");
                // Interpolation leads into the gap between two modes of nearly equal share: the
                // headline shows the exact interval for so few rounds.
                if n >= 11 || n >= 9 && distribution.shape != Shape::Balanced {
                    assert!((93.5..=97.0).contains(&interpolated), "{cell}: interpolated {interpolated} %");
                }
            }
        }
    }
}

/// The standard deviation of the samples of one process.
const WITHIN: f64 = 0.01;

/// `rounds` processes of `n` samples, each process with its own level. The true median is 1.
fn measure(rng: &mut Rng, rounds: usize, n: usize, between: f64) -> Vec<Vec<f64>> {
    (0..rounds)
        .map(|_| {
            let level = between * rng.normal();
            (0..n).map(|_| (level + WITHIN * rng.normal()).exp()).collect()
        })
        .collect()
}

/// Intervals from inside one process, or from samples pooled over rounds, do not cover. This is why
/// the headline takes one value per round (docs/methods/statistics.md#rounds).
#[test]
fn only_the_interval_over_rounds_covers() {
    const REPETITIONS: usize = 1_500;
    for (rounds, n) in [(6, 11), (9, 25), (17, 25), (25, 11)] {
        for between in [0.0, 0.002, 0.01, 0.03] {
            let mut rng = Rng::new(8).fork(rounds as u64);
            let (mut exact, mut display, mut within, mut pooled) = (0, 0, 0, 0);
            for _ in 0..REPETITIONS {
                let measured = measure(&mut rng, rounds, n, between);
                let headline = headline(&round_medians(&measured)).expect("there are rounds");
                let covers = |interval: Option<Interval>| {
                    usize::from(interval.expect("there are at least 6 values").contains(1.0))
                };
                exact += covers(headline.interval);
                display += covers(headline.display);
                within += covers(widened_interval(&measured[0], order::CONFIDENCE));
                pooled += covers(median_interval(&measured.concat(), order::CONFIDENCE));
            }
            let share = |count: usize| 100.0 * count as f64 / REPETITIONS as f64;
            let [exact, display, within, pooled] = [exact, display, within, pooled].map(share);
            let cell = format!("{rounds:2} rounds of {n}, {between:5.3} between");
            println!(
                "{cell}: exact {exact:5.1} %, display {display:5.1} %, within one process {within:5.1} %, pooled {pooled:5.1} %"
            );

            assert!((94.0..=99.0).contains(&exact), "{cell}: exact {exact} %");
            assert!((93.5..=98.0).contains(&display), "{cell}: display {display} %");
            if between >= WITHIN {
                assert!(
                    within < 80.0 && pooled < 75.0,
                    "{cell}: within {within} %, pooled {pooled} %: no hierarchy here"
                );
            }
        }
    }
}

/// Coverage, in percent, for a first-order autoregression with median 0.
fn coverage(method: impl Fn(&[f64], f64) -> Option<Interval>, rho: f64, n: usize, repetitions: usize) -> f64 {
    let mut rng = Rng::new(5).fork(n as u64);
    percent(repetitions, || {
        let mut value = rng.normal();
        let values: Vec<f64> = (0..n)
            .map(|_| {
                value = rho * value + (1.0 - rho * rho).sqrt() * rng.normal();
                value
            })
            .collect();
        method(&values, order::CONFIDENCE).is_some_and(|interval| interval.contains(0.0))
    })
}

/// How far the widened within-process interval restores coverage, here and below
/// (docs/methods/statistics.md#serial-correlation).
#[test]
fn widening_repairs_moderate_dependence() {
    for n in [31, 101, 301] {
        let (plain, widened) = (coverage(median_interval, 0.5, n, 4_000), coverage(widened_interval, 0.5, n, 4_000));
        println!("rho 0.5, n {n:3}: exact {plain:5.1} %, widened {widened:5.1} %");
        assert!(plain < 87.0, "n = {n}: {plain} %: this process is not dependent");
        assert!((93.5..=98.0).contains(&widened), "n = {n}: {widened} %");
    }
}

#[test]
fn widening_helps_but_does_not_repair_strong_dependence() {
    for (n, measured) in [(31, 79.0), (101, 88.0), (301, 92.0)] {
        let widened = coverage(widened_interval, 0.9, n, 4_000);
        println!("rho 0.9, n {n:3}: widened {widened:5.1} %");
        assert!((widened - measured).abs() <= 4.0, "n = {n}: {widened} %, not about {measured} %");
    }
}

#[test]
fn widening_costs_little_without_dependence() {
    for n in [31, 101] {
        let widened = coverage(widened_interval, 0.0, n, 4_000);
        println!("independent, n {n:3}: widened {widened:5.1} %");
        assert!((95.0..=99.5).contains(&widened), "n = {n}: {widened} %");
    }
}

/// A round's value is the median of what its transient leaves of 15 samples; rounds differ by 1 %,
/// samples by as much. The transients are those of which a warm-up of four intervals leaves this
/// (docs/methods/statistics.md#transient).
#[test]
fn intervals_cover_whatever_transient_the_rounds_have() {
    type Kind = (&'static str, fn(usize) -> f64);
    let transients: [Kind; 4] = [
        ("none", |_| 0.0),
        ("a decay by half each interval", |i| 0.1 * 0.5f64.powi(i as i32)),
        ("a step of 5 % after three intervals", |i| if i < 3 { 0.05 } else { 0.0 }),
        ("a drift of 2 % over five intervals", |i| 0.02 * (1.0 - i as f64 / 5.0).max(0.0)),
    ];
    let mut rng = Rng::new(41);
    for (name, of) in transients {
        let mut covered = |cut: bool| {
            percent(8_000, || {
                let values: Vec<f64> = (0..9)
                    .map(|_| {
                        let round = 1.0 + 0.01 * rng.normal();
                        let samples: Vec<f64> = (0..15).map(|i| round + 0.01 * rng.normal() + of(i)).collect();
                        let from = if cut { transient(&samples).len } else { 0 };
                        median(&samples[from..]).unwrap_or(f64::NAN)
                    })
                    .collect();
                median_interval(&values, order::CONFIDENCE).is_some_and(|interval| interval.contains(1.0))
            })
        };
        let [with, without] = [true, false].map(&mut covered);
        println!("{name}: {with:.1} %, {without:.1} % without cutting");
        assert!((94.0..97.0).contains(&with), "{name}: {with}");
    }
}
