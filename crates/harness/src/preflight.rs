//! What a run finds out once, before its first round: the clock, the scheduler's quantum, the interval, the noise.
//!
//! It runs in a worker like everything that measures; the supervisor turns its facts into the [`Host`] of every job. Not
//! here: what the machine declares about itself (`groma-sys`'s facts).

use crate::benchmark::Stop;
use crate::calibrate::{self, ASSUMED_QUANTUM_NS, ClockFacts};
use crate::ctx::Ctx;
use crate::instruments::Real;
use crate::model::{Host, JobResult, NoiseVerdict};
use crate::sys::arch;
use crate::sys::clock::{Clock, Monotonic};
use crate::sys::counters::Usage;
use crate::sys::{affinity, thread};
use groma_stats::order;
use groma_stats::rng::Rng;

/// The job id that asks for a preflight instead of a benchmark.
pub const ID: &str = "preflight";

/// A gap in a spin that is longer than this is time lost to somebody else (harness-methods.md 3.10).
const GAP_NS: u64 = 5_000;
/// A gap longer than this separates two turns on the CPU (3.2, step 3).
const TURN_NS: u64 = 200_000;
/// CPUs spun on at once for the noise gauge; more would only repeat what these say.
const GAUGED_CPUS: usize = 64;

/// What a spin on one CPU saw.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spin {
    /// How long it lasted, in nanoseconds.
    pub wall_ns: u64,
    /// Nanoseconds in gaps above 5 us.
    pub lost_ns: u64,
    /// Such gaps.
    pub gaps: u64,
    /// The longest gap, in nanoseconds.
    pub longest_ns: u64,
    /// The uninterrupted runs between gaps above 200 us, in nanoseconds; the first and the last left out.
    pub turns: Vec<f64>,
}

/// Reads the clock over and over for `span_ns` and notes the gaps.
pub fn spin(clock: &impl Clock, span_ns: u64) -> Spin {
    let mut seen = Spin::default();
    let start = clock.now_ns();
    let mut last = start;
    let mut turn_start = None;
    loop {
        let now = clock.now_ns();
        let gap = now.saturating_sub(last);
        if gap > GAP_NS {
            seen.gaps += 1;
            seen.lost_ns += gap;
            seen.longest_ns = seen.longest_ns.max(gap);
            if gap > TURN_NS {
                if let Some(from) = turn_start {
                    seen.turns.push((last - from) as f64);
                }
                turn_start = Some(now);
            }
        }
        last = now;
        if now.saturating_sub(start) >= span_ns {
            seen.wall_ns = now - start;
            return seen;
        }
    }
}

/// Spins on every allowed CPU at once; what each saw, by CPU.
///
/// A CPU that went offline meanwhile, or a thread that a limit forbids, is no reason to give up the others.
fn gauge(cpus: &[u32], span_ns: u64) -> Vec<Spin> {
    let one =
        |&cpu: &u32| thread::spawn(64 << 10, move || affinity::pin(cpu).ok().map(|()| spin(&Monotonic, span_ns))).ok();
    let threads: Vec<_> = cpus.iter().take(GAUGED_CPUS).filter_map(one).collect();
    threads.into_iter().filter_map(|t| t.join().ok().flatten()).collect()
}

/// The scheduler's quantum: two spinners on one CPU, the median uninterrupted turn; `None` when too few turns were seen.
fn quantum(cpu: u32, span_ns: u64) -> Option<f64> {
    let one = move || affinity::pin(cpu).ok().map(|()| spin(&Monotonic, span_ns));
    let (a, b) = (thread::spawn(64 << 10, one).ok()?, thread::spawn(64 << 10, one).ok()?);
    let mut turns: Vec<f64> = Vec::new();
    for spinner in [a, b] {
        turns.extend(spinner.join().ok().flatten().map(|s| s.turns).unwrap_or_default());
    }
    if turns.len() >= 6 { order::median(&turns) } else { None }
}

/// Work counts relative to the shortest (harness-methods.md 3.2, step 4).
const SHARES: [f64; 4] = [1.0, 1.005, 1.010, 1.020];
/// Repetitions of each.
const REPEATS: usize = 31;
/// The error that is accepted.
pub const PROPORTIONALITY_LIMIT: f64 = 0.001;

/// The largest relative error of time against work for an arithmetic chain at this interval; `None` when too few of the
/// samples were undisturbed.
fn proportionality(interval_ns: f64, rng: &mut Rng) -> Option<f64> {
    let per_op = {
        let fastest = (0..8).map(|_| crate::instruments::Instruments::canary_ns(&Real)).min()?;
        fastest as f64 / crate::instruments::CANARY_OPS as f64
    };
    // Counts in whole unrolled blocks; the shares are taken of the counts that are really run.
    let unroll = arch::CHAIN_UNROLL;
    let base = interval_ns / per_op;
    let counts = SHARES.map(|s| ((base * s / unroll as f64).round() as u64).max(1) * unroll);
    let mut times: [Vec<f64>; 4] = Default::default();
    let mut order: Vec<usize> = (0..SHARES.len()).flat_map(|i| [i; REPEATS]).collect();
    rng.shuffle(&mut order);
    for i in order {
        let before = Usage::thread();
        let start = Monotonic.now_ns();
        arch::add_chain(counts[i]);
        let elapsed = Monotonic.now_ns() - start;
        if Usage::thread().since(&before).involuntary == 0 {
            times[i].push(elapsed as f64);
        }
    }
    // The lower quartile: what is left of interrupts and steal only ever adds time.
    let time = |i: usize| (times[i].len() >= 6).then(|| order::quantile(&times[i], 0.25)).flatten();
    let base = time(0)?;
    (1..SHARES.len())
        .map(|i| Some((time(i)? / base / (counts[i] as f64 / counts[0] as f64) - 1.0).abs()))
        .try_fold(0.0, |worst, error| Some(f64::max(worst, error?)))
}

/// Ticks per second of the cycle counter if it may be used: it is said to be constant, and many bracketed intervals agree
/// within 100 ppm (3.1).
fn counter_hz() -> Result<f64, String> {
    arch::counter_usable()?;
    if std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource")
        .is_ok_and(|s| cfg!(target_arch = "x86_64") && s.trim() != "tsc")
    {
        return Err("the kernel does not trust the cycle counter as its clock source".to_owned());
    }
    // The pair of reads with the tightest bracket of several.
    let pair = || {
        (0..20)
            .map(|_| {
                let before = Monotonic.now_ns();
                let counter = arch::counter_start();
                let after = Monotonic.now_ns();
                (after - before, (before + after) as f64 / 2.0, counter)
            })
            .min_by_key(|(width, ..)| *width)
            .unwrap_or((0, 0.0, 0))
    };
    let mut rates = Vec::new();
    let mut last = pair();
    for _ in 0..50 {
        let until = Monotonic.now_ns() + 1_000_000;
        while Monotonic.now_ns() < until {}
        let now = pair();
        rates.push((now.2.wrapping_sub(last.2)) as f64 / (now.1 - last.1) * 1e9);
        last = now;
    }
    let middle = order::median(&rates).ok_or("no interval")?;
    let spread =
        (order::quantile(&rates, 0.75).unwrap_or(middle) - order::quantile(&rates, 0.25).unwrap_or(middle)) / middle;
    if spread > 100e-6 {
        return Err(format!("the cycle counter and the clock disagree by {:.0} ppm", spread * 1e6));
    }
    Ok(middle)
}

/// Runs the preflight within about `box_ns` and leaves its facts.
pub(crate) fn run(ctx: &mut Ctx) -> Result<(), Stop> {
    let budget = ctx.box_ns();
    let clock = Monotonic::choose();
    ctx.fact("clock", clock);
    ctx.fact("clock.getres_ns", crate::sys::clock::claimed_resolution_ns());
    let facts = calibrate::poll(&Monotonic).ok_or_else(|| Stop::Failed(format!("{clock} stands still")))?;
    if facts.backwards > 0 {
        return Err(Stop::Failed(format!("{clock} ran backwards {} times", facts.backwards)));
    }
    ctx.fact("clock.step_ns", facts.step_ns);
    ctx.fact("clock.cost_ns", facts.cost_ns);
    ctx.fact("clock.cost_p999_ns", facts.cost_p999_ns);

    match counter_hz() {
        Ok(hz) => ctx.fact("counter.hz", hz),
        Err(why) => ctx.note(format!("cycle counter not used: {why}")),
    }

    let cpus = affinity::allowed()?;
    let spins = gauge(&cpus, budget / 2);
    let lost = |s: &Spin| s.lost_ns as f64 / s.wall_ns.max(1) as f64;
    if spins.is_empty() {
        ctx.note("the noise could not be gauged: no thread could be started");
    } else {
        let share = spins.iter().map(lost).sum::<f64>() / spins.len() as f64;
        ctx.fact("noise.lost", share);
        ctx.fact("noise.worst_cpu_lost", spins.iter().map(lost).fold(0.0, f64::max));
        ctx.fact("noise.longest_gap_ns", spins.iter().map(|s| s.longest_ns).max().unwrap_or(0));
        ctx.fact("noise.verdict", NoiseVerdict::of_lost(share).word());
    }

    // Turns of two spinners; where the machine is so busy that the spinners above were in turn with others already, those
    // turns count as well.
    let mut turns = quantum(cpus[cpus.len() - 1], budget / 4);
    if turns.is_none() {
        let all: Vec<f64> = spins.iter().flat_map(|s| s.turns.iter().copied()).collect();
        turns = if all.len() >= 6 { order::median(&all) } else { None };
    }
    ctx.fact("quantum_ns", turns.unwrap_or(ASSUMED_QUANTUM_NS));
    ctx.fact("quantum.assumed", turns.is_none());

    affinity::pin(crate::sys::counters::current_cpu())?;
    let quantum_ns = turns.unwrap_or(ASSUMED_QUANTUM_NS);
    let (interval_ns, error) = verified_interval(&facts, quantum_ns, ctx.rng());
    ctx.fact("interval_ns", interval_ns);
    if let Some(error) = error {
        ctx.fact("interval.proportionality", error);
    }
    if error.is_none_or(|e| e > PROPORTIONALITY_LIMIT) {
        ctx.note("timing-unverified");
    }
    Ok(())
}

/// The interval whose proportionality check holds: doubled up to a quarter of the quantum, else the last one tried.
fn verified_interval(clock: &ClockFacts, quantum_ns: f64, rng: &mut Rng) -> (f64, Option<f64>) {
    let mut interval = calibrate::interval_ns(clock, quantum_ns);
    let mut best: (f64, Option<f64>) = (interval, None);
    // One disturbed run is repeated before the interval is called too short (M4).
    for attempt in 0..4 {
        let error = proportionality(interval, rng);
        if error.is_some_and(|e| e <= PROPORTIONALITY_LIMIT) {
            return (interval, error);
        }
        if best.1.is_none() || error.is_some_and(|e| best.1.is_some_and(|b| e < b)) {
            best = (interval, error);
        }
        if attempt % 2 == 1 && interval * 2.0 <= quantum_ns / 4.0 {
            interval *= 2.0;
        }
    }
    best
}

/// Reads a preflight's facts into what every job is given.
pub fn host(result: &JobResult) -> Option<Host> {
    let number = |key: &str| result.fact(key)?.parse::<f64>().ok();
    Some(Host {
        clock_step_ns: number("clock.step_ns")?,
        clock_cost_ns: number("clock.cost_ns")?,
        quantum_ns: number("quantum_ns")?,
        quantum_assumed: result.fact("quantum.assumed") == Some("true"),
        interval_ns: number("interval_ns")?,
        proportionality: number("interval.proportionality"),
        counter_hz: number("counter.hz"),
    })
}
