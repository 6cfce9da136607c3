//! The sampler on hosts as they were recorded and as they may be: what of the samples that it calls
//! clean had a busy sibling, and what they say of the idle core (docs/methods/neighbour.md#truth).

mod host;

use super::*;
use crate::core_probe::{learn, rates_of};
use crate::course::Course;
use crate::fake::rules;
use crate::model::{CoreProbe, RateCounts};
use groma_stats::idle_rate::log_bin;
use groma_stats::{headline, median};
use host::{Busy, CYCLES, Host, Way, simulated, steal};

/// One second of each, of one CPU: Zen 3 guests beside which others worked.
const RECORDED: [(&str, &[u8]); 3] = [
    ("Zen 3, idle for 8 %", include_bytes!("../../../tests/courses/zen3-8-percent.course")),
    ("Zen 3, idle for 10 %", include_bytes!("../../../tests/courses/zen3-10-percent.course")),
    ("Zen 3, idle for 56 %", include_bytes!("../../../tests/courses/zen3-56-percent.course")),
];

fn recorded() -> impl Iterator<Item = (&'static str, Course)> {
    RECORDED.iter().map(|(name, file)| (*name, Course::read(file).expect(name)))
}

/// A probe that has learned from 40 ms of looks, at many times of the course.
fn learned_on(way: &Way, step: f64) -> CoreProbe {
    let probe = CoreProbe { length: 1, step, idle: 0.0, alone: false, shared_below: None };
    let (mut rates, mut rng) = (RateCounts::default(), Rng::new(3));
    for _ in 0..100 {
        rates.add(&rates_of(&Host::somewhere(way, &mut rng), probe, 400_000));
    }
    learn(&probe, &rates).expect("enough probes")
}

/// What rounds at random times of a course found.
#[derive(Default)]
struct Found {
    /// Clean samples, and those of them beside which the sibling worked.
    clean: usize,
    busy: usize,
    /// The median of each round's clean samples, in cycles, and how many it had.
    values: Vec<(f64, usize)>,
}

impl Found {
    /// Rounds with so many clean samples at least.
    fn with(&self, least: usize) -> impl Iterator<Item = f64> {
        self.values.iter().filter(move |(_, clean)| *clean >= least).map(|(cycles, _)| *cycles)
    }

    /// How far a value of ten clean samples is from that of an idle core, at most.
    fn farthest(&self) -> f64 {
        self.with(10).map(|cycles| (cycles / CYCLES - 1.0).abs()).fold(0.0, f64::max)
    }
}

/// A round of a loop that takes so many cycles alone.
fn round(way: &Way, core: CoreProbe, cycles: f64, rng: &mut Rng, found: &mut Found) {
    let host = Host::somewhere(way, rng);
    let rules = Rules { core: Some(core), wait_ns: 4_000_000, interval_ns: 40_000.0, ..rules() };
    let body = |iters: u64| {
        host.work(cycles * iters as f64);
        Ok(())
    };
    let variants = &mut [Variant::new("", body)];
    let output = alone(&host, &rules, variants, &[(String::new(), 400)], rng).expect("it does not fail").output;
    let hz = output.core_hz.expect("its clock was timed");
    let (mut own, series) = (Vec::new(), &output.series[0]);
    for sample in clean(&series.samples, &rules).filter(|sample| !sample.labels.has(Label::Shared)) {
        found.busy += usize::from(way.is_busy(sample.t0_ns, sample.t0_ns + sample.elapsed_ns));
        own.push(sample.elapsed_ns as f64 / sample.iters as f64 * hz * 1e-9);
    }
    found.clean += own.len();
    found.values.push((median(&own).unwrap_or(f64::NAN), own.len()));
}

fn rounds(way: &Way, core: CoreProbe, n: u32) -> Found {
    let (mut found, mut rng) = (Found::default(), Rng::new(11));
    (0..n).for_each(|_| round(way, core, CYCLES, &mut rng, &mut found));
    found
}

/// Of the clean samples at most 2 % had a busy sibling, and every ten of them have the value of the
/// idle core.
fn expect_truth(case: &str, found: &Found, least: usize) {
    let (share, rounds) = (found.busy as f64 / found.clean.max(1) as f64, found.with(10).count());
    let farthest = found.farthest();
    println!(
        "{case}: {rounds} of {} rounds with ten clean samples, {:.2} % of {} had a busy sibling; within {:.2} %",
        found.values.len(),
        100.0 * share,
        found.clean,
        100.0 * farthest
    );
    assert!(share < 0.02, "{case}: {share} of the clean samples had a busy sibling");
    assert!(farthest < 0.005, "{case}: a value is off by {farthest}");
    assert!(rounds >= least, "{case}: {rounds} rounds with ten clean samples");
}

#[test]
fn clean_samples_of_a_recorded_host_are_those_of_its_idle_core() {
    for (name, course) in recorded() {
        let way = Way::recorded(&course, 0);
        let found = rounds(&way, learned_on(&way, course.head.step), 100);
        expect_truth(name, &found, 10);
    }
}

#[test]
fn the_idle_rate_of_a_recorded_host_is_found() {
    for (name, course) in recorded() {
        let mut all = RateCounts::default();
        course.rates(0).flatten().filter_map(log_bin).for_each(|bin| all.count(bin, 1));
        let probe = CoreProbe { step: course.head.step, ..crate::fake::core() };
        let way = Way::recorded(&course, 0);
        for found in [learn(&probe, &all).expect("enough"), learned_on(&way, course.head.step)] {
            let off = found.idle / course.head.idle - 1.0;
            println!("{name}: {:.4}, {:+.2} % of {}", found.idle, 100.0 * off, course.head.idle);
            assert!(found.alone && off.abs() < 0.003, "{name}: {found:?}, {} is known", course.head.idle);
        }
    }
}

/// Siblings that come and go within 50 us to 10 s.
#[test]
fn clean_samples_are_those_of_the_idle_core_however_busy_the_sibling_is() {
    for idle in [0.02, 0.05, 0.2, 0.5, 0.95] {
        for (name, busy) in [("continuum", Busy::Continuum), ("two modes", Busy::TwoModes)] {
            let mut rng = Rng::new(5);
            let plain = || simulated(idle, busy, 10e9, &mut Rng::new(5));
            let wanders = plain().wandering(0.01);
            for (also, way) in [("", plain()), (", the clock wanders", wanders), (", steal", steal(plain(), &mut rng))]
            {
                let found = rounds(&way, learned_on(&way, 0.0), 80);
                expect_truth(&format!("idle {idle}, {name}{also}"), &found, 1);
            }
        }
    }
}

/// Nine rounds whose loops differ by 1 %, as processes do.
#[test]
fn intervals_of_rounds_beside_neighbours_cover() {
    const RUNS: usize = 500;
    for idle in [0.1, 0.5] {
        let (mut covered, mut judged) = (0, 0);
        for run in 0..RUNS {
            let mut rng = Rng::new(23).fork(run as u64);
            let way = simulated(idle, Busy::Continuum, 20e6, &mut rng);
            let core = CoreProbe { shared_below: Some(0.97 * host::IDLE), idle: host::IDLE, ..crate::fake::core() };
            let mut found = Found::default();
            // Rounds without a core of their own are made up for.
            for _ in 0..36 {
                let cycles = CYCLES * (1.0 + 0.01 * rng.normal());
                round(&way, core, cycles, &mut rng, &mut found);
                if found.with(3).count() == 9 {
                    break;
                }
            }
            let values: Vec<f64> = found.with(3).collect();
            if values.len() < 9 {
                continue;
            }
            judged += 1;
            let interval = headline(&values).and_then(|headline| headline.display);
            covered += usize::from(interval.is_some_and(|interval| interval.contains(CYCLES)));
        }
        let share = covered as f64 / judged as f64;
        println!("idle {idle}: {:.1} % of {judged} runs of {RUNS}", 100.0 * share);
        assert!(judged > RUNS * 4 / 5 && (0.92..=0.98).contains(&share), "idle {idle}: {share} of {judged}");
    }
}
