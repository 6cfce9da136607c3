//! Serial correlation: how far the widened within-process interval restores coverage, and what it
//! costs without dependence (docs/methods/statistics.md#serial-correlation).

use groma_stats::{Interval, Rng, median_interval, order, widened_interval};

use crate::percent;

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
