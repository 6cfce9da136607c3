//! How often two runs of the same thing differ by more than the noise floor that earlier ones gave
//! (docs/methods/statistics.md#noise-floor).

use groma_stats::{Rng, RunNoise};

use crate::distributions::{floor_and_exponential, heavy_tailed, two};
use crate::percent;

const REPETITIONS: usize = 10_000;

/// Two modes 10 % apart, the first with this share.
fn modes(rng: &mut Rng, share: f64) -> f64 {
    two(rng, share, 1.0, 1.1, 0.005)
}

#[test]
fn two_runs_exceed_the_floor_as_rarely_as_promised() {
    type Draw = fn(&mut Rng) -> f64;
    // In how many percent of cases two further runs may exceed the floor of 2, 3, 4, 5, 6, 8, 12,
    // 20 runs. Nothing can be known of a mode that none of them was in.
    let hosts: [(&str, Draw, [f64; 8]); 6] = [
        ("normal 2 %", |rng| (0.02 * rng.normal()).exp(), [3.0; 8]),
        ("heavy tails 2 %", |rng| (0.02 * heavy_tailed(rng)).exp(), [6.0; 8]),
        ("floor + exponential 2 %", floor_and_exponential, [7.0; 8]),
        ("modes 50:50", |rng| modes(rng, 0.5), [11.5, 13.5, 7.0, 4.0, 2.2, 1.0, 0.6, 0.5]),
        ("modes 80:20", |rng| modes(rng, 0.8), [11.0, 18.2, 14.7, 11.8, 9.7, 6.2, 4.5, 3.8]),
        ("modes 90:10", |rng| modes(rng, 0.9), [8.2, 15.5, 14.0, 12.7, 11.9, 9.5, 8.0, 9.0]),
    ];
    for (name, draw, most) in hosts {
        for (k, most) in [2, 3, 4, 5, 6, 8, 12, 20].into_iter().zip(most) {
            let mut rng = Rng::new(24).fork(k);
            let mut floors = Vec::new();
            let share = percent(REPETITIONS, || {
                let runs: Vec<f64> = (0..k).map(|_| draw(&mut rng)).collect();
                let floor = RunNoise::of(&runs).expect("at least two runs").floor();
                floors.push(floor);
                let ratio = draw(&mut rng) / draw(&mut rng);
                ratio > floor || ratio < 1.0 / floor
            });
            let middle = 100.0 * (groma_stats::median(&floors).expect("floors") - 1.0);
            println!("{name:24} {k:2} runs: exceeded in {share:5.2} %, median floor {middle:6.2} %");
            assert!(share <= most, "{name}, {k} runs: {share} %");
        }
    }
}
