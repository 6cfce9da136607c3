//! The drift tests keep their promised false-alarm rate, and find drift that matters
//! (docs/methods/statistics.md#drift).

use groma_stats::{Rng, drift, mann_kendall};

use crate::percent;

#[test]
fn mann_kendall_alarms_as_rarely_as_promised() {
    const REPETITIONS: usize = 4_000;
    for n in [9, 17, 63] {
        let mut rng = Rng::new(6).fork(n);
        let share = percent(REPETITIONS, || {
            let values: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
            mann_kendall(&values).is_some_and(|trend| trend.p < 0.05)
        });
        println!("n {n:2}: p < 0.05 in {share:4.2} %");
        assert!((3.0..=5.8).contains(&share), "n = {n}: {share} %");
    }
}

/// 9 rounds of 25 samples, sigma 1 %, that rise by `between` from the first round to the last and
/// by `within` in every round.
fn shares_found(between: f64, within: f64) -> (f64, f64) {
    const REPETITIONS: usize = 1_000;
    let mut rng = Rng::new(36);
    let (mut by_round, mut in_round) = (0, 0);
    for _ in 0..REPETITIONS {
        let rounds: Vec<Vec<f64>> = (0..9)
            .map(|round| {
                let level = 1.0 + between * f64::from(round) / 8.0;
                (0..25).map(|step| level + within * f64::from(step) / 24.0 + 0.01 * rng.normal()).collect()
            })
            .collect();
        if let Some(drift) = drift(&rounds) {
            by_round += usize::from(drift.between_rounds.is_some_and(|change| change.relative > 0.0));
            in_round += usize::from(drift.within_rounds.is_some_and(|change| change.relative > 0.0));
        }
    }
    let share = |count: usize| 100.0 * count as f64 / REPETITIONS as f64;
    (share(by_round), share(in_round))
}

#[test]
fn drift_is_found_between_or_within_rounds_and_nowhere_else() {
    let cells @ [still, slow, leak] = [shares_found(0.0, 0.0), shares_found(0.05, 0.0), shares_found(0.0, 0.05)];
    println!(
        "alarms between, within rounds (%): still {still:?}, 5 % over the run {slow:?}, 5 % in every round {leak:?}"
    );
    assert!(still.0 <= 1.0 && still.1 <= 1.0, "{cells:?}");
    assert!(slow.0 >= 99.0 && slow.1 <= 1.0, "{cells:?}");
    assert!(leak.0 <= 1.0 && leak.1 >= 99.0, "{cells:?}");
}
