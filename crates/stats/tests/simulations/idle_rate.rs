//! The rate of an idle core and what is below it, from the rates of a probe: cores that are shared
//! for a while and then not, with spreads as seen on guests (docs/methods/neighbour.md#boundary).

use groma_stats::idle_rate::{IdleRate, idle_rate, log_bin};
use groma_stats::rng::Rng;

/// A core that is probed every so often.
struct Core {
    /// The part of the time in which it is idle, from 0 to 1.
    idle: f64,
    /// How long it stays idle, on average, in milliseconds.
    dwell_ms: f64,
    /// The rate when shared, as a part of the idle one: from, to. Each stretch has another one.
    rate: (f64, f64),
    /// The spread of the idle rate, as a fraction.
    spread: f64,
    /// How far the idle rate wanders to either side, as a fraction.
    drift: f64,
    /// The step of the counter as a fraction of a probe.
    step: f64,
}

/// Milliseconds from one probe to the next.
const EVERY_MS: f64 = 0.2;
/// The time in which a wandering rate comes back.
const DRIFT_MS: f64 = 7_000.0;
/// The idle rate.
const RATE: f64 = 5.6;

/// Probes of the core: whether it was idle, and the rate.
fn probes(core: &Core, n: usize, rng: &mut Rng) -> Vec<(bool, f64)> {
    let mut idle = rng.unit() < core.idle;
    // By what it takes: on a busy Zen 3 a tenth of the shared probes took less than 1.2 times as
    // long, half of them more than 1.5 times.
    let (least, most) = (1.0 / core.rate.1, 1.0 / core.rate.0);
    let stretch = |rng: &mut Rng| 1.0 / (least + (most - least) * rng.unit().sqrt());
    let mut rate = stretch(rng);
    let mut seen = Vec::with_capacity(n);
    for i in 0..n {
        let busy_ms = core.dwell_ms * (1.0 - core.idle) / core.idle.max(1e-9);
        let dwell = if idle { core.dwell_ms } else { busy_ms };
        if rng.unit() < EVERY_MS / dwell {
            idle = core.idle >= 1.0 || (!idle && core.idle > 0.0);
            rate = stretch(rng);
        }
        // Interrupts only ever add time; a chain that was held up makes a probe look faster.
        let odd = if rng.unit() < 0.002 { 0.4 } else { 1.0 } * if rng.unit() < 0.0005 { 1.3 } else { 1.0 };
        let own = 1.0 - core.spread * rng.normal().abs();
        let drift = 1.0 + core.drift * (i as f64 * EVERY_MS / DRIFT_MS * std::f64::consts::TAU).sin();
        let exact = RATE * drift * odd * own * if idle { 1.0 } else { rate };
        // The counter shows whole steps of what takes 1 at the idle rate.
        let ticks = RATE / exact;
        let shown = if core.step > 0.0 { ((ticks / core.step).floor() + 1.0) * core.step } else { ticks };
        seen.push((idle, RATE / shown));
    }
    seen
}

fn found(probes: &[(bool, f64)], step: f64) -> Option<IdleRate> {
    let mut bins: Vec<i16> = probes.iter().filter_map(|(_, rate)| log_bin(*rate)).collect();
    bins.sort_unstable();
    let counts: Vec<(i16, u32)> = bins.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u32)).collect();
    idle_rate(&counts, step)
}

/// A continuum from just below the idle rate to half of it has no valley, and a rate of one kind of
/// sibling is a mode of its own.
#[test]
fn shared_cores_are_recognised_however_rarely_they_are_idle() {
    for idle in [0.02, 0.05, 0.2, 0.5, 0.95] {
        for (dwell_ms, rate) in [(1.0, (0.5, 0.98)), (1.0, (0.55, 0.6)), (10.0, (0.5, 0.9)), (1000.0, (0.5, 0.98))] {
            for (spread, drift, step) in [(0.003, 0.0, 0.0), (0.003, 0.0, 0.025), (0.005, 0.005, 0.002)] {
                let core = Core { idle, dwell_ms, rate, spread, drift, step };
                let (mut missed, mut of_shared, mut wrong, mut of_idle) = (0, 0, 0, 0);
                for seed in 0..6 {
                    let seen = probes(&core, 40_000, &mut Rng::new(seed));
                    let is_idle = seen.iter().filter(|(idle, _)| *idle).count();
                    // A core that happened to be hardly ever idle is another case; where the
                    // counter shows three rates between idle and 8 % slower, 2 % are too few.
                    if is_idle < if step > 0.01 { 1_200 } else { 400 } {
                        continue;
                    }
                    let end = found(&seen, step).map_or(0.0, |found| found.shared_below);
                    // What takes 4 % longer, or a step of the counter, is no other core.
                    let near = RATE * (1.0 - 0.04_f64.max(1.5 * step) - drift);
                    let clearly = seen.iter().filter(|(idle, rate)| !*idle && *rate < near);
                    of_shared += clearly.clone().count();
                    of_idle += is_idle;
                    missed += clearly.filter(|(_, rate)| *rate >= end).count();
                    wrong += seen.iter().filter(|(idle, rate)| *idle && *rate < end).count();
                }
                let (missed, wrong) = (missed as f64 / of_shared.max(1) as f64, wrong as f64 / of_idle.max(1) as f64);
                let case = format!("idle {idle}, {dwell_ms} ms, {rate:?}, {spread}, {drift}, {step}");
                assert!(missed <= 0.02, "{case}: {missed} of the shared probes missed");
                assert!(wrong <= 0.02, "{case}: {wrong} of the idle probes called shared");
            }
        }
    }
}

#[test]
fn a_core_that_is_never_shared_is_idle_but_for_interrupts() {
    for spread in [0.002, 0.005, 0.01] {
        for n in [100, 1_000, 10_000] {
            let core = Core { idle: 1.0, dwell_ms: 1.0, rate: (1.0, 1.0), spread, drift: 0.0, step: 0.0 };
            for seed in 0..100 {
                let seen = probes(&core, n, &mut Rng::new(seed));
                let found = found(&seen, 0.0).expect("enough");
                let slow = seen.iter().filter(|(_, rate)| *rate < found.shared_below).count();
                assert!(found.alone && slow as f64 <= 5.0 + 0.05 * n as f64, "spread {spread}: {slow} of {n}");
            }
        }
    }
}

#[test]
fn a_core_that_is_never_idle_is_not_called_alone() {
    for rate in [(0.5, 0.9), (0.5, 0.98), (0.7, 0.9)] {
        let core = Core { idle: 0.0, dwell_ms: 1.0, rate, spread: 0.003, drift: 0.0, step: 0.0 };
        let wrong = (0..50).filter(|seed| {
            let mut rng = Rng::new(*seed);
            // Each probe beside another load: a continuum.
            let seen: Vec<(bool, f64)> = (0..4000).map(|_| probes(&core, 1, &mut rng)[0]).collect();
            found(&seen, 0.0).is_some_and(|found| found.alone)
        });
        assert_eq!(wrong.count(), 0, "{rate:?}");
    }
}
