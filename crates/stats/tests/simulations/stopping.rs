//! Intervals still cover when the number of rounds depends on the values seen
//! (docs/methods/statistics.md#stopping).

use groma_stats::{Rng, checkpoints, headline, need, should_stop, useful_rounds};

use crate::distributions::{Distribution, INDEPENDENT, Shape};

/// Coverage of the reported interval in percent, the mean number of rounds, and the share that
/// stopped before the cap.
fn run(distribution: &Distribution, target: f64, rng: &mut Rng) -> (f64, f64, f64) {
    const REPETITIONS: usize = 2_000;
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

/// Coverage where the width of the first interval decides how many rounds there are: as in a survey
/// whose points of average width have twelve.
#[test]
fn coverage_survives_rounds_chosen_by_the_first_interval() {
    const REPETITIONS: usize = 6_000;
    let [fewest, .., most] = useful_rounds();
    let covered = |distribution: &Distribution, spread: f64, rng: &mut Rng| {
        let covers = (0..REPETITIONS).filter(|_| {
            let mut values: Vec<f64> = distribution.sample(rng, most);
            // The same distribution, `spread` times as wide about its median.
            values.iter_mut().for_each(|value| *value = 1.0 + spread * (*value / distribution.median - 1.0));
            let first = headline(&values[..fewest]).and_then(|first| first.relative_half_width).expect("an interval");
            let rounds = (12.0 * need(first)) as usize;
            let rounds = useful_rounds().into_iter().rfind(|useful| *useful <= rounds).unwrap_or(fewest);
            headline(&values[..rounds]).and_then(|all| all.interval).is_some_and(|interval| interval.contains(1.0))
        });
        100.0 * covers.count() as f64 / REPETITIONS as f64
    };
    let mut worst = f64::INFINITY;
    let of_shape = INDEPENDENT.iter().enumerate().filter(|(_, distribution)| distribution.shape != Shape::Tied);
    for (index, distribution) in of_shape {
        for (step, spread) in [0.5, 1.0, 2.0, 5.0].into_iter().enumerate() {
            let mut rng = Rng::new(10).fork(index as u64).fork(step as u64);
            let covered = covered(distribution, spread, &mut rng);
            println!("{:26} times {spread}: covered {covered:5.2} %", distribution.name);
            worst = worst.min(covered);
        }
    }
    println!("worst {worst:.2} %");
    assert!(worst >= 93.5, "worst cell {worst} %");
}
