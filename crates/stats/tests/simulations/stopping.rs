//! Intervals still cover when the number of rounds depends on the values seen
//! (docs/methods/statistics.md#stopping).

use groma_stats::{Rng, checkpoints, headline, should_stop};

use crate::distributions::{Distribution, INDEPENDENT, Shape};

const REPETITIONS: usize = 10_000;

/// Coverage of the reported interval in percent, the mean number of rounds, and the share that
/// stopped before the cap.
fn run(distribution: &Distribution, target: f64, rng: &mut Rng) -> (f64, f64, f64) {
    let cap = *checkpoints().last().expect("there are checkpoints");
    let (mut covered, mut rounds, mut stopped) = (0, 0, 0);
    for _ in 0..REPETITIONS {
        let mut values = Vec::with_capacity(cap);
        while values.len() < cap && !should_stop(&values, target) {
            values.push((distribution.draw)(rng));
        }
        let interval = headline(&values).and_then(|headline| headline.interval).expect("at least 9 rounds");
        covered += usize::from(interval.contains(distribution.median));
        rounds += values.len();
        stopped += usize::from(values.len() < cap);
    }
    let per_repetition = |count: usize| count as f64 / REPETITIONS as f64;
    (100.0 * per_repetition(covered), per_repetition(rounds), 100.0 * per_repetition(stopped))
}

#[test]
fn coverage_survives_stopping() {
    let mut worst = f64::INFINITY;
    for (index, distribution) in
        INDEPENDENT.iter().enumerate().filter(|(_, distribution)| distribution.shape != Shape::Tied)
    {
        for (step, target) in [0.0025, 0.005, 0.01, 0.02, 0.05].into_iter().enumerate() {
            let mut rng = Rng::new(9).fork(index as u64).fork(step as u64);
            let (covered, rounds, stopped) = run(distribution, target, &mut rng);
            println!(
                "{:26} target {target:6.4}: covered {covered:5.2} %, rounds {rounds:4.1}, stopped {stopped:5.1} %",
                distribution.name
            );
            worst = worst.min(covered);
        }
    }
    println!("worst {worst:.2} %");
    assert!(worst >= 92.0, "worst cell {worst} %");
}
