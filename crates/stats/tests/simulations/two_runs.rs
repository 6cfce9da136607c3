//! Two stored runs: the noise floor between runs of the same thing, and the rule for differences on
//! suites of 150 metrics (docs/methods/statistics.md#the-rule-for-two-runs).

use groma_stats::comparison::SUITE_LEVEL;
use groma_stats::{Comparison, Measured, Rng, RunNoise, compare, median};

use crate::distributions::{floor_and_exponential, heavy_tailed, two};
use crate::percent;

const METRICS: usize = 150;

/// Suites without changes for each host; a tenth of that number have changes. The table in the
/// document has 1,000.
const SUITES: usize = 40;

/// How the runs of one metric behave.
struct Host {
    /// The standard deviation between runs, and between rounds of a run.
    between: f64,
    within: f64,
    /// How many times the second run is as noisy.
    noisier: f64,
    noise: fn(&mut Rng) -> f64,
}

impl Host {
    /// The rounds of a run.
    fn run(&self, rng: &mut Rng, rounds: usize, ratio: f64, noisier: f64) -> Vec<f64> {
        let level = ratio.ln() + self.between * (self.noise)(rng);
        (0..rounds).map(|_| (level + noisier * self.within * (self.noise)(rng)).exp()).collect()
    }
}

/// The rounds of two runs, and the headlines of earlier ones.
struct Metric {
    before: Vec<f64>,
    after: Vec<f64>,
    earlier: Vec<f64>,
}

impl Metric {
    fn new(host: &Host, rng: &mut Rng, rounds: usize, earlier: usize, ratio: f64) -> Self {
        let headline = |rng: &mut Rng| median(&host.run(rng, rounds, 1.0, 1.0)).expect("rounds");
        Self {
            earlier: (0..earlier).map(|_| headline(rng)).collect(),
            before: host.run(rng, rounds, 1.0, 1.0),
            after: host.run(rng, rounds, ratio, host.noisier),
        }
    }

    fn measured(&self) -> Measured<'_> {
        Measured { before: &self.before, after: &self.after, earlier: &self.earlier }
    }
}

/// A kind of suite.
#[derive(Clone, Copy)]
struct Case {
    noise: fn(&mut Rng) -> f64,
    /// How many times the second run is as noisy from round to round.
    noisier: f64,
    rounds: usize,
    earlier: usize,
}

impl Case {
    const PLAIN: Self = Self { noise: Rng::normal, noisier: 1.0, rounds: 10, earlier: 6 };

    fn host(self, between: f64, rng: &mut Rng) -> Host {
        Host { between, within: 0.005 * 6.0_f64.powf(rng.unit()), noisier: self.noisier, noise: self.noise }
    }

    /// What [`compare`] makes of a suite whose first `changed` metrics change by `ratio`.
    fn suite(self, rng: &mut Rng, between: Between, changed: usize, ratio: f64) -> Vec<Comparison> {
        let metric = |index: usize| {
            let host = self.host(between[index % between.len()], rng);
            Metric::new(&host, rng, self.rounds, self.earlier, if index < changed { ratio } else { 1.0 })
        };
        let metrics: Vec<Metric> = (0..METRICS).map(metric).collect();
        let measured: Vec<Measured> = metrics.iter().map(Metric::measured).collect();
        compare(&measured).into_iter().map(|found| found.expect("positive values")).collect()
    }

    /// The share of equal suites with any false alarm, in percent.
    fn false_alarms(self, between: Between) -> f64 {
        let mut rng = Rng::new(28);
        percent(SUITES, || self.suite(&mut rng, between, 0, 1.0).iter().any(differs))
    }

    /// The share of changes by `ratio` that is found, in percent.
    fn power(self, between: Between, ratio: f64) -> f64 {
        const CHANGED: usize = 15;
        const CHANGED_SUITES: usize = SUITES.div_ceil(10);
        let mut rng = Rng::new(29);
        let suites = (0..CHANGED_SUITES).map(|_| self.suite(&mut rng, between, CHANGED, ratio));
        let found: usize = suites.map(|suite| suite[..CHANGED].iter().filter(|found| differs(found)).count()).sum();
        100.0 * found as f64 / (CHANGED_SUITES * CHANGED) as f64
    }

    /// Prints a row for each host, and returns the shares of false alarms.
    fn run(self, name: &str) -> [f64; BETWEEN.len()] {
        BETWEEN.map(|between| {
            let alarms = self.false_alarms(between);
            let power = [1.02, 1.03, 1.05, 1.10].map(|ratio| self.power(between, ratio));
            println!("{name:18} {:2} rounds, {:2} earlier, {between:?} between: {alarms:4.1} % of equal suites; +2, 3, 5, 10 %: {power:3.0?}", self.rounds, self.earlier);
            alarms
        })
    }
}

/// The standard deviations between runs, of the metrics in turns.
type Between = &'static [f64];

const BETWEEN: [Between; 5] = [&[0.0], &[0.01], &[0.02], &[0.04], &[0.0, 0.01, 0.02, 0.04]];

fn mean(shares: [f64; BETWEEN.len()]) -> f64 {
    shares.iter().sum::<f64>() / shares.len() as f64
}

fn differs(found: &Comparison) -> bool {
    found.p.expect("there are earlier runs") < SUITE_LEVEL
}

/// Five percent are promised; three standard deviations of chance are 4.6 points.
#[test]
fn equal_suites_rarely_have_a_difference() {
    let alarms = mean(Case::PLAIN.run("normal"));
    assert!(alarms <= 8.0, "{alarms} %");
}

#[test]
fn more_earlier_runs_find_more() {
    let case = Case { earlier: 12, ..Case::PLAIN };
    assert!(mean(case.run("normal")) <= 8.0);
    assert!(case.power(&[0.0], 1.05) >= 75.0 && case.power(&[0.01], 1.10) >= 90.0);
}

#[test]
fn few_rounds_are_compared_too() {
    let case = Case { rounds: 5, ..Case::PLAIN };
    assert!(mean(case.run("normal")) <= 8.0);
    assert!(case.power(&[0.0], 1.10) >= 70.0);
}

#[test]
fn a_noisier_second_run_is_not_a_change() {
    let alarms = mean(Case { noisier: 3.0, ..Case::PLAIN }.run("second run noisier"));
    assert!(alarms <= 10.0, "{alarms} %");
}

/// What earlier runs did not show cannot be known: heavy tails between runs alarm more often than
/// promised (docs/methods/statistics.md#the-rule-for-two-runs).
#[test]
fn heavy_tails_between_runs_alarm() {
    let alarms = Case { noise: heavy_tailed, ..Case::PLAIN }.run("heavy tails");
    assert!(alarms[0] <= 5.0 && mean(alarms) <= 50.0, "{alarms:?} %");
}

/// A change of the detectable size is found in 70 to 90 % of second runs.
#[test]
fn detectable_changes_of_a_second_run_are_found() {
    const REPETITIONS: usize = 250;
    for (name, noise) in [("normal", Rng::normal as fn(&mut Rng) -> f64), ("heavy tails", heavy_tailed)] {
        for (between, rounds, earlier, metrics) in [
            (0.0, 10, 12, 1),
            (0.0, 10, 12, 20),
            (0.0, 15, 12, 20),
            (0.02, 10, 6, 1),
            (0.02, 10, 6, 20),
            (0.02, 10, 12, 20),
        ] {
            let mut rng = Rng::new(30);
            let case = Case { noise, noisier: 1.0, rounds, earlier };
            let share = percent(REPETITIONS, || {
                let host = case.host(between, &mut rng);
                let mut metric = Metric::new(&host, &mut rng, rounds, earlier, 1.0);
                // Copies of the metric give the level of a suite of this size.
                let first = |metric: &Metric| compare(&vec![metric.measured(); metrics])[0].expect("positive values");
                let detectable = first(&metric).detectable.expect("earlier runs");
                metric.after = host.run(&mut rng, rounds, detectable, 1.0);
                differs(&first(&metric))
            });
            println!(
                "{name:12} {between:4.2} between, {rounds} rounds, {earlier} earlier, {metrics} metrics: found in {share:4.1} %"
            );
            assert!((70.0..=90.0).contains(&share), "{name}, {between}, {rounds}, {earlier}, {metrics}: {share} %");
        }
    }
}

/// Two modes 10 % apart, the first with this share.
fn modes(rng: &mut Rng, share: f64) -> f64 {
    two(rng, share, 1.0, 1.1, 0.005)
}

/// How often two runs of the same thing differ by more than the noise floor of earlier ones
/// (docs/methods/statistics.md#noise-floor).
#[test]
fn two_runs_exceed_the_floor_as_rarely_as_promised() {
    const REPETITIONS: usize = 10_000;
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
            let middle = 100.0 * (median(&floors).expect("floors") - 1.0);
            println!("{name:24} {k:2} runs: exceeded in {share:5.2} %, median floor {middle:6.2} %");
            assert!(share <= most, "{name}, {k} runs: {share} %");
        }
    }
}
