//! The probe that tells whether a core is shared, calibrated before the first round: its length,
//! the counter's step, and the rate of an idle core.
//!
//! The probe itself is [`CoreWatch`]. Not here: what its answers mean for a sample (`sampler`).

use crate::core_watch::CoreWatch;
use crate::instruments::{Instruments, PROBE_TURNS};
use crate::model::{CoreProbe, RateCounts};
use crate::sys::{affinity, arch};
use groma_stats::common_step;
use groma_stats::idle_rate::idle_rate;

/// The counter counts at least this far during a probe, or the probe is made longer.
const TICKS: u64 = 200;
/// The longest probe, in those of length 1: 8 us.
const LONGEST_PROBE: u64 = 20;
/// CPUs that are tried: more would only take longer.
const CPUS: usize = 4;
/// Readings of the counter from which its step is found; up to ten outliers do not matter.
const READINGS: usize = 10_000;
/// Probes between two chains, which tell the clock.
const PROBES: u32 = 16;

/// The ticks of a probe of length 1.
fn ticks() -> u64 {
    let once = || {
        let start = arch::counter_start();
        arch::issue_mixed(PROBE_TURNS);
        arch::counter_start().wrapping_sub(start)
    };
    (0..5).map(|_| once()).min().unwrap_or(1).max(1)
}

/// The step of the counter, in ticks: 26 on a Zen 5, 2 on an Emerald Rapids
/// (docs/methods/neighbour.md#probe).
fn counter_step() -> u64 {
    let readings: Vec<u64> = (0..READINGS).map(|_| arch::counter_start()).collect();
    let differences: Vec<u64> = readings.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect();
    common_step(&differences).unwrap_or(1)
}

/// What all probes so far say of an idle core; `None` of too few.
pub fn learn(probe: &CoreProbe, rates: &RateCounts) -> Option<CoreProbe> {
    let found = idle_rate(&rates.0, probe.step)?;
    Some(CoreProbe { idle: found.rate, alone: found.alone, shared_below: Some(found.shared_below), ..*probe })
}

/// Probes these CPUs for `time_ns` in all, one after the other: two that share a core would only
/// find each other. `None` where there is no counter.
///
/// The calling thread stays on the last of them.
pub fn calibrate(ins: &impl Instruments, cpus: &[u32], time_ns: u64) -> Option<CoreProbe> {
    arch::counter_usable().ok()?;
    let shortest = ticks();
    let length = TICKS.div_ceil(shortest).clamp(1, LONGEST_PROBE);
    let step = counter_step() as f64 / (shortest * length) as f64;
    let probe = CoreProbe { length: length as u32, step, idle: 0.0, alone: false, shared_below: None };
    let mut rates = RateCounts::default();
    let tried = &cpus[..cpus.len().min(CPUS)];
    for cpu in tried {
        if affinity::pin(*cpu).is_err() {
            continue;
        }
        rates.add(&rates_of(ins, probe, time_ns / tried.len() as u64));
    }
    Some(learn(&probe, &rates).unwrap_or(probe))
}

/// The rates that this probe finds where the thread is, for so long.
pub(crate) fn rates_of(ins: &impl Instruments, probe: CoreProbe, time_ns: u64) -> RateCounts {
    let start = ins.now_ns();
    let mut watch = CoreWatch::new(ins, Some(probe), 0);
    while ins.now_ns().saturating_sub(start) < time_ns {
        watch.time_chain();
        for _ in 0..PROBES {
            watch.look();
        }
    }
    watch.seen.rates
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instruments::Real;

    #[test]
    fn a_real_core_has_an_idle_rate() {
        let cpus = affinity::allowed().expect("allowed CPUs");
        let found = std::thread::spawn(move || calibrate(&Real, &cpus, 40_000_000)).join().expect("no panic");
        if let Some(probe) = found {
            // Twelve at once is more than any core does.
            assert!(0.3 < probe.idle && probe.idle < 12.0, "{probe:?}");
            let boundary = probe.shared_below.expect("it has seen enough");
            assert_eq!(boundary < probe.idle, probe.alone, "{probe:?}");
        } else {
            assert!(arch::counter_usable().is_err(), "a counter, and no rates");
        }
    }
}
