//! What a run finds out once, before its first round: the clock, the scheduler's time slice, the
//! interval, the noise.
//!
//! It runs in a worker like everything that measures; the supervisor gives the [`Host`] that it
//! found to every job. Not here: what the machine declares about itself (`groma-sys`'s facts).

mod noise;
mod proportionality;

use crate::auto_size;
use crate::clock_properties::{self, ASSUMED_TIMESLICE_NS, ClockFacts};
use crate::core_probe;
use crate::ctx::Ctx;
use crate::error::BenchError;
use crate::instruments::Real;
use crate::model::{Fact, Host, Preflight, Remark};
use crate::sys::arch;
use crate::sys::clock::{Clock, Monotonic};
use crate::sys::counters::Usage;
use crate::sys::facts::{cpu_account, process_facts};
use crate::sys::{affinity, thread};
use groma_stats::order;
use noise::{lost_to_others, noise, own_limit};
use proportionality::proportionality;

/// The job id that asks for a preflight instead of a benchmark.
pub const ID: &str = "preflight";
/// The parameter of a preflight that looks for the end of the caches.
pub const END_OF_CACHES: &str = "end_of_caches";

/// A longer gap in a spin is time lost to other work
/// (docs/methods/timing.md#host-noise).
const GAP_NS: u64 = 5_000;
/// A gap is at least so many reads of the clock: an emulated HPET takes 5 us a read, and spins on
/// it lost 93 % of the time to others who were not there.
const GAP_READS: f64 = 4.0;
/// A gap longer than this separates two turns on the CPU (docs/methods/timing.md#time-slice).
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
    /// The uninterrupted runs between gaps above 200 us, in nanoseconds; the first and the last
    /// left out.
    pub turns: Vec<f64>,
}

/// The shortest gap that counts, with a clock whose reads cost this much.
fn shortest_gap_ns(cost_ns: f64) -> u64 {
    GAP_NS.max((GAP_READS * cost_ns) as u64)
}

/// Reads the clock over and over for `span_ns` and notes the gaps longer than `gap_ns`.
pub fn spin(clock: &impl Clock, span_ns: u64, gap_ns: u64) -> Spin {
    let mut seen = Spin::default();
    let start = clock.now_ns();
    let mut last = start;
    let mut turn_start = None;
    loop {
        let now = clock.now_ns();
        let gap = now.saturating_sub(last);
        if gap > gap_ns {
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

/// Spins on every allowed CPU at once; what each saw, with the CPU, and the time that all of them
/// took together, each from the call to its end.
///
/// A CPU that went offline meanwhile, or a thread that a limit forbids, is no reason to give up the
/// others.
fn gauge(cpus: &[u32], span_ns: u64, gap_ns: u64) -> (Vec<(u32, Spin)>, u64) {
    let start = Monotonic.now_ns();
    let one = |&cpu: &u32| {
        let spinner = move || {
            affinity::pin(cpu).ok()?;
            let spin = spin(&Monotonic, span_ns, gap_ns);
            Some(((cpu, spin), Monotonic.now_ns() - start))
        };
        thread::spawn(64 << 10, spinner).ok()
    };
    let threads: Vec<_> = cpus.iter().take(GAUGED_CPUS).filter_map(one).collect();
    let (spins, times): (Vec<_>, Vec<u64>) = threads.into_iter().filter_map(|t| t.join().ok().flatten()).unzip();
    (spins, times.iter().sum())
}

/// The scheduler's time slice: two spinners on one CPU, the median uninterrupted turn; `None` when
/// too few turns were seen.
fn timeslice(cpu: u32, span_ns: u64, gap_ns: u64) -> Option<f64> {
    let one = move || affinity::pin(cpu).ok().map(|()| spin(&Monotonic, span_ns, gap_ns));
    let (a, b) = (thread::spawn(64 << 10, one).ok()?, thread::spawn(64 << 10, one).ok()?);
    let mut turns: Vec<f64> = Vec::new();
    for spinner in [a, b] {
        turns.extend(spinner.join().ok().flatten().map(|s| s.turns).unwrap_or_default());
    }
    middle_turn(&turns)
}

/// The fewest turns from which a time slice is taken.
const MIN_TURNS: usize = 6;

/// The time slice: the median of the turns, where there are enough.
fn middle_turn(turns: &[f64]) -> Option<f64> {
    if turns.len() >= MIN_TURNS { order::median(turns) } else { None }
}

/// Ticks per second of the cycle counter if it may be used: it is said to be constant, and many
/// bracketed intervals agree within 100 ppm (docs/methods/timing.md#cycle-counter).
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
    agreed(&rates)
}

/// The rate that the intervals agree on: their median, when the middle half of them is within 100
/// ppm.
fn agreed(rates: &[f64]) -> Result<f64, String> {
    let middle = order::median(rates).ok_or("no interval")?;
    let spread =
        (order::quantile(rates, 0.75).unwrap_or(middle) - order::quantile(rates, 0.25).unwrap_or(middle)) / middle;
    if spread > 100e-6 {
        return Err(format!("the cycle counter and the clock disagree by {:.0} ppm", spread * 1e6));
    }
    Ok(middle)
}

/// The longest interval that the clock may ask for: with a longer one a round has no samples.
const MAX_INTERVAL_NS: f64 = 250e6;

/// Why this clock cannot time anything; `None` where it can.
fn too_coarse(clock: &ClockFacts) -> Option<String> {
    let interval = clock_properties::interval_ns(clock);
    let (step_us, cost_us, seconds) = (clock.step_ns * 1e-3, clock.cost_ns * 1e-3, interval * 1e-9);
    (interval > MAX_INTERVAL_NS).then(|| {
        format!(
            "goes in steps of {step_us:.0} us and takes {cost_us:.1} us to read, so that an interval would last \
             {seconds:.1} s; /sys/devices/system/clocksource/clocksource0/available_clocksource lists other clocks"
        )
    })
}

/// Runs the preflight within about the time limit of the round, on these CPUs as far as one is
/// enough; on any where the list is empty. Looks for the end of the caches only if told to: that
/// fills memory, and most benchmarks do not ask.
pub(crate) fn run(ctx: &mut Ctx, among: &[u32], end_of_caches: bool) -> Result<(), BenchError> {
    let budget = ctx.time_limit_ns();
    let cpus = affinity::allowed()?;
    // The clock's cost and the check of the interval are those of the cores that measure.
    if !among.is_empty()
        && let Err(why) = affinity::restrict(among)
    {
        ctx.note(format!("the preflight is not limited to the CPUs of the run (sched_setaffinity): {why}"));
    }
    let clock = Monotonic::choose();
    let properties =
        clock_properties::poll(&Monotonic).ok_or_else(|| BenchError::Failed(format!("{clock} stands still")))?;
    if properties.backwards > 0 {
        return Err(BenchError::Failed(format!("{clock} ran backwards {} times", properties.backwards)));
    }
    if let Some(why) = too_coarse(&properties) {
        return Err(BenchError::Failed(format!("{clock} {why}")));
    }
    let counter_hz = counter_hz().map_err(|reason| ctx.remark(Remark::CounterUnused { reason })).ok();

    let (before, used) = (cpu_account(), Usage::process());
    let gap_ns = shortest_gap_ns(properties.cost_ns);
    let (spins, took_ns) = gauge(&cpus, budget / 2, gap_ns);
    // The spinners have ended, so the kernel has added up for how long they were held back.
    let used = Usage::process().since(&used);
    let lacked_ns = took_ns.saturating_sub(used.user_ns + used.system_ns);
    let cpu_limit = own_limit(before, cpu_account(), lacked_ns, &spins);
    let lost = lost_to_others(&spins, cpu_limit);
    let noise = noise(&spins, &lost);
    if noise.is_none() {
        ctx.note("the noise could not be gauged: no thread could be started");
    }

    // Turns of two spinners; where the machine is so busy that the spinners above were in turn with
    // others already, those turns count as well.
    let turns = timeslice(cpus[cpus.len() - 1], budget / 4, gap_ns).or_else(|| {
        let all: Vec<f64> = spins.iter().flat_map(|(_, spin)| spin.turns.iter().copied()).collect();
        middle_turn(&all)
    });
    let timeslice_ns = turns.unwrap_or(ASSUMED_TIMESLICE_NS);

    if let Err(why) = affinity::pin(crate::sys::counters::current_cpu()) {
        ctx.note(format!("the preflight is not pinned (sched_setaffinity): {why}"));
    }
    let first = clock_properties::interval_ns(&properties);
    let (interval_ns, proportionality) = verified_interval(first, timeslice_ns, |ns| proportionality(ns, ctx.rng()));
    let found = end_of_caches.then(|| auto_size::beyond_caches(ctx.rng()));
    let beyond_caches = found.and_then(|found| found.map_err(|why| ctx.note(&why)).ok());
    let probed = if among.is_empty() { &cpus } else { among };
    let core = core_probe::calibrate(&Real, probed, budget / 8);
    let host = Host {
        clock_step_ns: properties.step_ns,
        clock_cost_ns: properties.cost_ns,
        timeslice_ns,
        timeslice_assumed: turns.is_none(),
        interval_ns,
        proportionality,
        counter_hz,
        beyond_caches,
        core,
    };
    ctx.output.facts.extend(process_facts().into_iter().map(|(key, value)| Fact::new(key, value)));
    ctx.output.preflight = Some(Box::new(Preflight { host, noise, lost, cpu_limit }));
    Ok(())
}

/// The interval whose proportionality check holds: doubled up to a quarter of the time slice, else
/// the last one tried.
fn verified_interval(first: f64, timeslice_ns: f64, mut check: impl FnMut(f64) -> Option<f64>) -> (f64, Option<f64>) {
    let mut interval = first;
    let mut best: (f64, Option<f64>) = (interval, None);
    // One disturbed run is repeated before the interval is called too short
    // (docs/methods/timing.md#proportionality-check).
    for attempt in 0..4 {
        let error = check(interval);
        if error.is_some_and(|e| e <= Host::PROPORTIONALITY_LIMIT) {
            return (interval, error);
        }
        if best.1.is_none() || error.is_some_and(|e| best.1.is_some_and(|b| e < b)) {
            best = (interval, error);
        }
        if attempt % 2 == 1 && interval * 2.0 <= timeslice_ns / 4.0 {
            interval *= 2.0;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A clock whose reads take these nanoseconds in turn, then 100.
    struct Steps<'s>(Cell<u64>, Cell<usize>, &'s [u64]);

    impl Clock for Steps<'_> {
        fn now_ns(&self) -> u64 {
            let n = self.1.get();
            self.1.set(n + 1);
            self.0.set(self.0.get() + self.2.get(n).copied().unwrap_or(100));
            self.0.get()
        }
    }

    #[test]
    fn a_clock_of_milliseconds_is_refused_by_its_step() {
        let clock = |step_ns, cost_ns| ClockFacts { step_ns, cost_ns, cost_p999_ns: cost_ns, backwards: 0 };
        assert_eq!(too_coarse(&clock(1.0, 20.0)), None);
        // An HPET, and the ACPI timer.
        assert_eq!([clock(70.0, 6e3), clock(280.0, 1.5e3)].map(|clock| too_coarse(&clock)), [None, None]);
        let why = too_coarse(&clock(4e6, 20.0)).expect("jiffies");
        assert!(
            why.starts_with("goes in steps of 4000 us and takes 0.0 us to read, so that an interval would last 8.0 s")
        );
    }

    #[test]
    fn every_allowed_cpu_is_gauged_for_the_whole_span() {
        let cpus = affinity::allowed().expect("CPUs");
        let (spins, took_ns) = gauge(&cpus, 1_000_000, GAP_NS);
        assert!(took_ns >= spins.iter().map(|(_, spin)| spin.wall_ns).sum());
        let seen: Vec<u32> = spins.iter().map(|(cpu, _)| *cpu).collect();
        assert_eq!(seen, cpus[..cpus.len().min(GAUGED_CPUS)]);
        assert!(spins.iter().all(|(_, spin)| spin.wall_ns >= 1_000_000));
    }

    fn spun(steps: &[u64], span_ns: u64) -> Spin {
        spin(&Steps(Cell::new(1_000_000), Cell::new(0), steps), span_ns, GAP_NS)
    }

    #[test]
    fn a_spin_counts_the_gaps_and_the_turns_between_the_long_ones() {
        assert_eq!(spun(&[], 10_000), Spin { wall_ns: 10_000, ..Spin::default() });
        // 5 us are no gap; what is longer is one, and a turn ends with 200 us and more.
        let seen = spun(&[0, 5_000, 5_001, 300_000, 100, 6_000, 250_000, 100, 200_000, 100, 400_000], 2_000_000);
        assert_eq!((seen.gaps, seen.longest_ns), (6, 400_000));
        assert_eq!(seen.lost_ns, 5_001 + 300_000 + 6_000 + 250_000 + 200_000 + 400_000);
        // Between the long gaps: 100 + 6000, then 100 + 200 000 (which is not longer than 200 us) +
        // 100.
        assert_eq!(seen.turns, [6_100.0, 200_200.0]);
        assert!((2_000_000..2_000_100).contains(&seen.wall_ns), "{}", seen.wall_ns);
        assert_eq!([20.0, 1_000.0, 6_000.0].map(shortest_gap_ns), [5_000, 5_000, 24_000]);
    }

    #[test]
    fn the_time_slice_is_the_median_turn_of_six_or_more() {
        // Mean 1.6 ms, smallest 1 us.
        let turns = [1e3, 2e3, 2.9e6, 3.0e6, 3.1e6, 900.0, 2.95e6];
        assert_eq!(middle_turn(&turns), Some(2.9e6));
        assert_eq!(middle_turn(&turns[..6]), Some((2e3 + 2.9e6) / 2.0));
        assert_eq!(middle_turn(&turns[..5]), None);
    }

    #[test]
    fn the_counter_runs_at_its_reported_rate() {
        let Ok(said) = counter_hz() else { return };
        let now = || {
            let reads = (0..20).map(|_| {
                let before = Monotonic.now_ns();
                let counter = arch::counter_start();
                (Monotonic.now_ns() - before, before, counter)
            });
            reads.min().expect("20")
        };
        let (_, start, from) = now();
        while Monotonic.now_ns() < start + 5_000_000 {}
        let (_, end, to) = now();
        let seen = (to - from) as f64 / (end - start) as f64 * 1e9;
        assert!((seen / said - 1.0).abs() < 0.01, "{seen} ticks a second, not {said}");
    }

    #[test]
    fn a_time_slice_is_longer_than_a_gap_or_is_not_seen() {
        let cpus = affinity::allowed().expect("CPUs");
        let found = timeslice(cpus[0], 60_000_000, GAP_NS);
        assert!(found.is_none_or(|ns| ns > GAP_NS as f64 && ns < 60e6), "{found:?}");
        // Nothing is seen where nothing is watched.
        assert_eq!(timeslice(cpus[0], 0, GAP_NS), None);
    }

    #[test]
    fn the_rate_of_the_counter_is_the_median_where_the_middle_half_agrees() {
        // Mean, smallest and first are far from it.
        let rates = [1.0, 2.3e9, 2.3e9 + 1e4, 2.3e9, 9e12, 2.3e9 + 2e4, 2.3e9 + 1e4];
        assert_eq!(agreed(&rates), Ok(2.3e9 + 1e4));
        let apart = |ppm: f64| {
            let by = 2e9 * ppm * 1e-6;
            agreed(&[2e9 - 2.0 * by, 2e9 - by / 2.0, 2e9, 2e9 + by / 2.0, 2e9 + 2.0 * by])
        };
        assert_eq!(apart(99.0), Ok(2e9));
        assert_eq!(apart(101.0), Err("the cycle counter and the clock disagree by 101 ppm".to_owned()));
        assert!(agreed(&[]).is_err());
    }

    /// The interval that is chosen where the checks say so, and the intervals that were tried.
    fn chosen(errors: [Option<f64>; 4], timeslice_ns: f64) -> ((f64, Option<f64>), Vec<f64>) {
        let mut tried = Vec::new();
        let chosen = verified_interval(200_000.0, timeslice_ns, |ns| {
            tried.push(ns);
            errors[tried.len() - 1]
        });
        (chosen, tried)
    }

    #[test]
    fn an_interval_is_tried_twice_and_doubled_once_where_the_time_slice_allows_it() {
        let (good, bad, worse) = (Some(0.001), Some(0.0011), Some(0.5));
        assert_eq!(chosen([good, None, None, None], 4e6), ((200_000.0, good), vec![200_000.0]));
        assert_eq!(chosen([bad, good, None, None], 4e6), ((200_000.0, good), vec![200_000.0; 2]));
        assert_eq!(chosen([bad, worse, good, None], 4e6), ((400_000.0, good), vec![200_000.0, 200_000.0, 400_000.0]));
        // None is good: the best of them.
        assert_eq!(chosen([worse, worse, bad, worse], 4e6).0, (400_000.0, bad));
        assert_eq!(chosen([None, worse, None, bad], 4e6).0, (400_000.0, bad));
        assert_eq!(chosen([None; 4], 4e6).0.1, None);
        // A quarter of the time slice is the limit.
        assert_eq!(chosen([bad; 4], 1.6e6).1, [200_000.0, 200_000.0, 400_000.0, 400_000.0]);
        assert_eq!(chosen([bad; 4], 1.5e6).1, [200_000.0; 4]);
    }

    #[test]
    fn a_preflight_provides_everything_about_the_host() {
        static INFO: crate::model::Info = crate::model::Info::new(ID);
        let bench = crate::Benchmark { info: INFO, run: crate::Run::NotHere("") };
        let job = crate::testing::job(&bench, &[], None, 1, crate::model::WorkerKind::Processes);
        let before = affinity::allowed().expect("the CPUs that are allowed");
        let mut ctx = Ctx::new(&job, &INFO, None);
        let ran = run(&mut ctx, &[], false);
        affinity::restrict(&before).expect("all CPUs again");
        ran.expect("it runs everywhere");
        let Preflight { host, noise, lost, .. } = *ctx.output.preflight.expect("what it found");
        assert!(host.clock_step_ns > 0.0 && host.clock_cost_ns > 0.0 && host.timeslice_ns > 0.0, "{host:?}");
        assert!(host.interval_ns >= 40_000.0, "{host:?}");
        let noise = noise.expect("a thread can be started");
        assert!((0.0..=1.0).contains(&noise.lost) && noise.worst_cpu_lost >= noise.lost, "{noise:?}");
        let mean = lost.iter().map(|(_, lost)| lost).sum::<f64>() / lost.len() as f64;
        assert!((mean - noise.lost).abs() < 1e-12 && lost.iter().all(|(cpu, _)| before.contains(cpu)), "{lost:?}");
        // Either the counter is used, or the run says why not.
        let why = ctx.output.remarks.iter().any(|remark| matches!(remark, Remark::CounterUnused { .. }));
        assert_eq!(why, host.counter_hz.is_none(), "{:?}", ctx.output.remarks);
    }
}
