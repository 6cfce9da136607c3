//! Rounds that differ from each other (docs/methods/statistics.md#rounds). The headline's intervals
//! cover; an interval from inside one process, or from samples pooled over rounds, does not, which
//! is why the headline takes one value per round.

use groma_stats::{Rng, headline, median_interval, order, round_medians, widened_interval};

const REPETITIONS: usize = 4_000;

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

#[test]
fn only_the_interval_over_rounds_covers() {
    for (rounds, n) in [(6, 11), (9, 25), (17, 25), (25, 11)] {
        for between in [0.0, 0.002, 0.01, 0.03] {
            let mut rng = Rng::new(8).fork(rounds as u64);
            let (mut exact, mut display, mut within, mut pooled) = (0, 0, 0, 0);
            for _ in 0..REPETITIONS {
                let measured = measure(&mut rng, rounds, n, between);
                let headline = headline(&round_medians(&measured)).expect("there are rounds");
                let covers = |interval: Option<groma_stats::Interval>| {
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
