//! Steps of a series of runs are found in their places, and noise has none
//! (docs/methods/statistics.md#change-points).

use groma_stats::{ChangePoint, Rng, change_points};

use crate::distributions::{heavy_tailed, two};
use crate::percent;

fn found(series: &[f64], least: f64) -> Vec<ChangePoint> {
    change_points(series, least).expect("positive values")
}

#[test]
fn noise_has_no_steps() {
    type Draw = fn(&mut Rng) -> f64;
    let hosts: [(&str, Draw); 4] = [
        ("normal 1 %", |rng| (0.01 * rng.normal()).exp()),
        ("heavy tails 1 %", |rng| (0.01 * heavy_tailed(rng)).exp()),
        ("modes 80:20, 10 % apart", |rng| two(rng, 0.8, 1.0, 1.1, 0.01)),
        ("two values", |rng| if rng.unit() < 0.7 { 1.0 } else { 1.1 }),
    ];
    for (name, draw) in hosts {
        for (n, repetitions) in [(8, 1000), (20, 1000), (200, 400), (1000, 60)] {
            let mut rng = Rng::new(21).fork(n);
            let share = percent(repetitions, || {
                let series: Vec<f64> = (0..n).map(|_| draw(&mut rng)).collect();
                !found(&series, 1.0).is_empty()
            });
            println!("{name:24} n {n:4}: steps found in {share:4.1} % of series without one");
            // One percent is promised; 1 of 60 and 13 of 400 are the 97 % quantiles of chance.
            assert!(share <= 5.0, "{name}, n = {n}: {share} %");
        }
    }
}

/// A series of 200 runs, noise of 1 %, whose level changes to each of `levels` at random places at
/// least `apart` runs from each other and the ends; and these places.
fn stepped(rng: &mut Rng, levels: &[f64], apart: u64) -> (Vec<f64>, Vec<usize>) {
    const N: u64 = 200;
    let free = N - apart * (levels.len() as u64 + 1);
    let mut places: Vec<u64> = levels.iter().map(|_| rng.below(free + 1)).collect();
    places.sort_unstable();
    let places: Vec<usize> =
        places.iter().zip(1..).map(|(place, index): (&u64, u64)| (place + apart * index) as usize).collect();
    let level =
        |run: usize| places.iter().zip(levels).rev().find(|(place, _)| **place <= run).map_or(1.0, |(_, level)| *level);
    ((0..N as usize).map(|run| level(run) * (0.01 * rng.normal()).exp()).collect(), places)
}

#[test]
fn steps_are_found_in_their_places() {
    let cases: [(&str, &[f64], u64, f64, f64); 8] = [
        ("3 %", &[1.03], 10, 80.0, 85.0),
        ("5 %", &[1.05], 10, 95.0, 97.0),
        ("10 %", &[1.10], 10, 95.0, 97.0),
        ("5 % and back", &[1.05, 1.0], 10, 95.0, 96.0),
        ("5 % and back within 5 runs", &[1.05, 1.0], 5, 90.0, 90.0),
        ("5 %, 5 %", &[1.05, 1.10], 10, 95.0, 96.0),
        ("5 %, -5 %, 5 %", &[1.05, 1.0, 1.05], 10, 95.0, 95.0),
        ("3 %, 10 %, -5 %", &[1.03, 1.13, 1.07], 10, 80.0, 90.0),
    ];
    for (name, levels, apart, all, each) in cases {
        let repetitions = 100;
        let mut rng = Rng::new(22);
        let (mut right, mut placed) = (0, 0);
        for _ in 0..repetitions {
            let (series, places) = stepped(&mut rng, levels, apart);
            let steps = found(&series, 1.01);
            let near = |place: &&usize| steps.iter().any(|step| step.index.abs_diff(**place) <= 2);
            let hits = places.iter().filter(near).count();
            placed += hits;
            right += usize::from(hits == places.len() && steps.len() == places.len());
        }
        let share = |count: usize, of: usize| 100.0 * count as f64 / of as f64;
        let (right, placed) = (share(right, repetitions), share(placed, repetitions * levels.len()));
        println!(
            "{name:28}: {placed:5.1} % of steps within 2 runs of their places, {right:5.1} % of series right in all"
        );
        assert!(right >= all && placed >= each, "{name}: {right} %, {placed} %");
    }
}

/// Two odd runs in a row can take a third one for their level.
#[test]
fn one_odd_run_is_no_step_and_two_rarely_are() {
    for (odd, most) in [(1, 2.0), (2, 8.0)] {
        let mut rng = Rng::new(23);
        let share = percent(500, || {
            let at = rng.below(200 - odd) as usize;
            let level = |run: usize| if (at..at + odd as usize).contains(&run) { 2.0 } else { 1.0 };
            let series: Vec<f64> = (0..200).map(|run| level(run) * (0.01 * rng.normal()).exp()).collect();
            !found(&series, 1.01).is_empty()
        });
        println!("{odd} odd runs of twice the level: steps found in {share} % of series");
        assert!(share <= most, "{odd}: {share} %");
    }
}
