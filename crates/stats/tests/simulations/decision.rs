//! The rule for two stored runs on suites of 150 metrics
//! (docs/methods/statistics.md#the-rule-for-two-runs).

use groma_stats::comparison::SUITE_LEVEL;
use groma_stats::{Comparison, Measured, Rng, compare, median};

use crate::distributions::heavy_tailed;
use crate::percent;

const METRICS: usize = 150;

/// Equal suites for each host; a tenth as many have changes. The table in the document has 1,000.
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

    /// Prints a row for each host, and returns the mean share of false alarms.
    fn run(self, name: &str) -> f64 {
        let alarms = BETWEEN.map(|between| {
            let alarms = self.false_alarms(between);
            let power = [1.02, 1.03, 1.05, 1.10].map(|ratio| self.power(between, ratio));
            println!("{name:18} {:2} rounds, {:2} earlier, {between:?} between: {alarms:4.1} % of equal suites; +2, 3, 5, 10 %: {power:3.0?}", self.rounds, self.earlier);
            alarms
        });
        alarms.iter().sum::<f64>() / alarms.len() as f64
    }
}

/// The standard deviations between runs, of the metrics in turns.
type Between = &'static [f64];

const BETWEEN: [Between; 5] = [&[0.0], &[0.01], &[0.02], &[0.04], &[0.0, 0.01, 0.02, 0.04]];

fn differs(found: &Comparison) -> bool {
    found.p.expect("there are earlier runs") < SUITE_LEVEL
}

/// Five percent are promised; three standard deviations of chance are 4.6 points.
#[test]
fn equal_suites_rarely_have_a_difference() {
    let alarms = Case::PLAIN.run("normal");
    assert!(alarms <= 8.0, "{alarms} %");
}

#[test]
fn more_earlier_runs_find_more() {
    let case = Case { earlier: 12, ..Case::PLAIN };
    assert!(case.run("normal") <= 8.0);
    assert!(case.power(&[0.0], 1.05) >= 75.0 && case.power(&[0.01], 1.10) >= 90.0);
}

#[test]
fn few_rounds_are_compared_too() {
    let case = Case { rounds: 5, ..Case::PLAIN };
    assert!(case.run("normal") <= 8.0);
    assert!(case.power(&[0.0], 1.10) >= 70.0);
}

#[test]
fn a_noisier_second_run_is_not_a_change() {
    let alarms = Case { noisier: 3.0, ..Case::PLAIN }.run("second run noisier");
    assert!(alarms <= 10.0, "{alarms} %");
}

/// What earlier runs did not show cannot be known: heavy tails between runs alarm more often than
/// promised (docs/methods/statistics.md#the-rule-for-two-runs).
#[test]
fn heavy_tails_between_runs_alarm() {
    let case = Case { noise: heavy_tailed, ..Case::PLAIN };
    let alarms = case.run("heavy tails");
    assert!(case.false_alarms(&[0.0]) <= 5.0 && alarms <= 50.0, "{alarms} %");
}

/// What is said to be detectable is found in 70 to 90 % of second runs.
#[test]
fn second_runs_have_what_they_are_said_to_show() {
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
                // As many equal metrics put the level where a suite of that many puts it.
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
