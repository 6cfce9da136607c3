//! Clock ramp: how the clock rises when an idle core starts to compute.
//!
//! **Measures:** The time from the end of a sleep until the core's clock is within 1 % of the clock
//! at which it settles. `first` is the clock of the first sample. No time is reported, and a note
//! says "no ramp seen", where the first sample is there already (the ramp, if any, was over within
//! a sample), where the clock falls from the first sample on, or where it does not settle (it
//! changes with the load of neighbours).
//!
//! **Does not measure:** The latency of the wake-up itself.
//!
//! **Method:** A timer sleep of 20 ms, which lets the core go idle, then a hundred samples of about
//! 135 us without a pause. A sample is three chains of dependent additions, of which the fastest
//! counts, so that one interruption does not look like a low clock. The settled clock is the median
//! of the second half.
//!
//! **Calls:**
//! - once: `TIMER_ABSTIME`; a core that was busy before shows no ramp
//!
//! **Pitfalls:**
//! - On a busy machine the CPU is not idle while this process sleeps, and there is no ramp.
//! - The governor matters: `schedutil` remembers past load, `performance` keeps the clock up.
//! - In a virtual machine, the host decides what an idle core does.
//!
//! **Sources:** The idea of clamchowder's BoostClockChecker. See
//! docs/methods/processor.md#boost-ramp.

use groma_harness::prelude::*;
use groma_harness::stats::upper_median;
use groma_harness::sys::arch::{ADD_TAKES_ONE_CYCLE, add_chain, chain_ops};
use groma_harness::sys::counters;
use groma_harness::sys::sleep::{Sleeper, Way};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Time until an idle core's clock is within 1 % of where it settles",
        about: about!("boost.rs"),
        iteration: "a sleep of 20 ms and a hundred samples of the clock",
        timing: Timing::Stated,
        outputs: &[
            Output::MAIN,
            Output::named("first", "the clock of the first sample").quantity(Quantity::Rate),
            Output::named("settled", "the clock of the second half of the samples").quantity(Quantity::Rate),
        ],
        scaling: Scaling::alone("it states what one core does after being idle"),
        target_half_width: 0.1,
        tier: Tier::Standard,
        ..Info::new("cpu.boost")
    },
    run: Run::Here(run),
};

/// Length of the sleep in nanoseconds: longer than a timer tick at 100 Hz.
const IDLE_NS: u64 = 20_000_000;
/// Number of samples, and of chains in one.
const SAMPLES: usize = 100;
const CHAINS: usize = 3;
/// Additions in a chain: 45 us at 3 GHz, three of which make a sample of 135 us.
const OPS: u64 = chain_ops(135_000);
/// A sample within this fraction of the settled clock is near it.
const NEAR_SHARE: f64 = 0.01;
/// The share of the second half that has to be near; otherwise the clock does not settle.
const SETTLED_SHARE: f64 = 0.75;
/// The fewest samples below the settled clock that make a ramp: a single one may have any cause.
const RAMP_SAMPLES: usize = 2;

/// A sample: its end, in seconds since the end of the sleep, and the clock.
#[derive(Clone, Copy, Debug)]
struct Sample {
    end: f64,
    hz: f64,
}

/// What a series of samples shows.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ramp {
    /// It rises; the first sample near the settled clock ended after this number of seconds.
    Rises(f64),
    /// It is at the settled clock from the first sample on.
    None,
    /// It starts above where it settles.
    Falls,
    /// It does not settle.
    Restless,
}

/// The clock at which the fastest of some chains takes so many nanoseconds.
fn clock(chains_ns: [u64; CHAINS]) -> f64 {
    let fastest = chains_ns.into_iter().min().unwrap_or_default();
    OPS as f64 / fastest.max(1) as f64 * 1e9
}

/// The clocks beside the time, by their outputs.
fn clocks(samples: &[Sample], settled: f64) -> [(&'static str, f64); 2] {
    [("first", samples[0].hz), ("settled", settled)]
}

/// The ramp of the samples, and the clock where they settle.
fn ramp(samples: &[Sample]) -> Option<(Ramp, f64)> {
    let half = &samples[samples.len() / 2..];
    let settled = upper_median(&half.iter().map(|s| s.hz).collect::<Vec<_>>())?;
    let off = |s: &Sample| s.hz / settled - 1.0;
    let near = |s: &Sample| off(s).abs() <= NEAR_SHARE;
    let calm = half.iter().filter(|s| near(s)).count() as f64 >= SETTLED_SHARE * half.len() as f64;
    // An interruption longer than a sample looks like a low clock, so one of these four may be off.
    let arrives = |i: usize| samples[i..].iter().take(4).filter(|s| near(s)).count() >= 3;
    let first = (0..samples.len()).find(|i| near(&samples[*i]) && arrives(*i));
    let shape = match first {
        _ if !calm => Ramp::Restless,
        None => Ramp::Restless,
        // A single sample at another clock is no ramp.
        Some(first) if first < RAMP_SAMPLES => Ramp::None,
        Some(first) if samples[..first].iter().all(|s| off(s) < -NEAR_SHARE) => Ramp::Rises(samples[first].end),
        Some(first) if samples[..first].iter().all(|s| off(s) > NEAR_SHARE) => Ramp::Falls,
        Some(_) => Ramp::Restless,
    };
    Some((shape, settled))
}

/// Takes all samples, from now on. Returns how often the kernel took the CPU away meanwhile.
fn take(samples: &mut Vec<Sample>, now_ns: impl Fn() -> u64) -> u64 {
    let start = now_ns();
    let before = counters::Usage::thread();
    for _ in 0..SAMPLES {
        let mut chains_ns = [0; CHAINS];
        for ns in &mut chains_ns {
            let began = now_ns();
            add_chain(OPS);
            *ns = now_ns().saturating_sub(began);
        }
        let end = now_ns().saturating_sub(start) as f64 * 1e-9;
        samples.push(Sample { end, hz: clock(chains_ns) });
    }
    counters::Usage::thread().since(&before).involuntary
}

fn run(ctx: &mut Ctx) -> Outcome {
    if !ADD_TAKES_ONE_CYCLE {
        return Err(BenchError::Unsupported("no chain of one-cycle instructions was written for this CPU".to_owned()));
    }
    super::declare_clock(ctx, counters::current_cpu());
    let sleeper = Sleeper::new(Way::ClockNanosleepAbs, IDLE_NS).context("preparing to sleep")?;
    let mut samples = Vec::with_capacity(SAMPLES);
    // Loads the code before the core goes idle.
    add_chain(OPS);
    sleeper.sleep().context("sleeping")?;
    let preempted = take(&mut samples, || ctx.now_ns());
    ctx.fact("boost.preemptions", preempted);
    ctx.prove("samples of the clock", "100", samples.len() as f64, 100.0..=100.0);
    let Some((shape, settled)) = ramp(&samples) else {
        return Err(BenchError::Failed("no sample of the clock".to_owned()));
    };
    for (name, hz) in clocks(&samples, settled) {
        ctx.state_as(name, hz);
    }
    match shape {
        Ramp::Rises(seconds) => ctx.state(seconds),
        Ramp::None => ctx.unresolved("", "no ramp seen: the clock was within 1 % of where it settled from the start"),
        Ramp::Falls => ctx.unresolved("", "no ramp seen: the clock starts above where it settles, and falls"),
        Ramp::Restless => ctx.unresolved("", "no ramp seen: the clock does not settle"),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    fn samples(hz: impl Fn(usize) -> f64) -> Vec<Sample> {
        (0..SAMPLES).map(|i| Sample { end: (i + 1) as f64 * 135e-6, hz: hz(i) }).collect()
    }

    fn shape(hz: impl Fn(usize) -> f64) -> Ramp {
        ramp(&samples(hz)).expect("samples").0
    }

    #[test]
    fn a_step_and_a_slope_are_ramps() {
        assert_eq!(shape(|i| if i < 7 { 1.2e9 } else { 3.6e9 }), Ramp::Rises(8.0 * 135e-6));
        // 0.2 GHz a sample from 1 GHz on: within 1 % of 3 GHz at the tenth step.
        let Ramp::Rises(time) = shape(|i| (1e9 + i as f64 * 0.2e9).min(3e9)) else { panic!("a slope") };
        assert!((time - 11.0 * 135e-6).abs() < 1e-9, "{time}");
        // One disturbed sample behind the ramp changes nothing.
        assert_eq!(shape(|i| if i < 7 || i == 9 { 1.2e9 } else { 3.6e9 }), Ramp::Rises(8.0 * 135e-6));
    }

    #[test]
    fn what_is_no_ramp_is_not_called_one() {
        assert_eq!(shape(|_| 3e9), Ramp::None);
        // The first sample alone, or some 0.5 % off.
        assert_eq!(shape(|i| if i == 0 { 2e9 } else { 3e9 }), Ramp::None);
        assert_eq!(shape(|i| 3e9 * (1.0 + (i % 3) as f64 * 0.003)), Ramp::None);
        assert_eq!(shape(|i| if i < 10 { 3.6e9 } else { 3.3e9 }), Ramp::Falls);
        // Hops of a tenth all the time, and a first half that goes up and down.
        assert_eq!(shape(|i| if i % 2 == 0 { 3.0e9 } else { 3.4e9 }), Ramp::Restless);
        assert_eq!(
            shape(|i| if i > 20 {
                3e9
            } else if i % 2 == 0 {
                3.3e9
            } else {
                2.7e9
            }),
            Ramp::Restless
        );
        assert!(ramp(&[]).is_none());
    }

    #[test]
    fn the_first_clock_is_stated_and_a_time_or_a_note() {
        let tried = match try_out(&BENCH, &[], None) {
            Err(BenchError::Unsupported(why)) => return println!("skipped: {why}"),
            tried => tried.expect("a timer"),
        };
        let many = |name: &str| tried.result.series(name).map_or(0, |s| s.values.len());
        assert_eq!((many("first"), many("settled")), (1, 1));
        assert_eq!(many("") + usize::from(tried.has_remark("no ramp seen")), 1);
        tried.proven("samples of the clock");
    }

    /// A clock that moves by a microsecond when it is read: twice for each chain, and once for the
    /// end of a sample. The sleep before is in none of them.
    #[test]
    fn samples_begin_with_the_first_and_follow_each_other() {
        let (reads, mut samples) = (std::cell::Cell::new(20_000_000), Vec::new());
        take(&mut samples, || {
            reads.set(reads.get() + 1000);
            reads.get()
        });
        assert_eq!(samples.len(), SAMPLES);
        for (i, sample) in samples.iter().enumerate() {
            let end = (i + 1) as f64 * (2 * CHAINS + 1) as f64 * 1e-6;
            assert!((sample.end - end).abs() < 1e-12 && sample.hz == clock([1000; CHAINS]), "{i}: {sample:?}");
        }
    }

    #[test]
    fn an_addition_of_the_fastest_chain_is_a_cycle() {
        assert_eq!(clock([OPS; CHAINS]), 1e9);
        assert_eq!(clock([3 * OPS, 2 * OPS, 4 * OPS]), 0.5e9);
    }

    /// The settled clock is the median of the second half: neither its mean nor that of all.
    #[test]
    fn each_clock_has_its_name() {
        let samples = samples(|i| match i {
            0..60 => 1.2e9,
            i if i % 10 == 0 => 3.3e9,
            _ => 3.6e9,
        });
        let (_, settled) = ramp(&samples).expect("samples");
        assert_eq!(clocks(&samples, settled), [("first", 1.2e9), ("settled", 3.6e9)]);
    }
}
