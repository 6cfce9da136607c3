//! CPU time that the system takes from a task that asks it for nothing, and the longest gap.
//!
//! **Measures:** The gaps in a loop that only reads the clock, on one CPU or on all at once: ticks
//! and other interrupts, the kernel's work after them, other tasks, and in a virtual machine the
//! host. The main value is the share of time in gaps of more than 1 us; `longest` is the longest
//! time between two readings in all rounds, `gaps` the number of gaps per second.
//!
//! **Does not measure:** What the caches lose by it, or slow-downs without a gap, such as a busy
//! sibling thread or a lower clock speed.
//!
//! **Method:** A pinned child that touches no memory reads the CPU's own counter, or the harness's
//! clock where the counter cannot keep time, again and again for the duration of the round. A first
//! pass brings in its pages. A gap is counted whole, so each is too long by one reading, about
//! 20 ns. Every gap is kept with the round (series `gap`, 1000 per task at most).
//!
//! Facts show where the gaps may come from, summed over all measured CPUs: interrupts by kind, time
//! waiting for the CPU (schedstat), preemptions, page faults, and ticks that the hypervisor reports
//! as stolen.
//!
//! **Proofs:** A reading takes at most half of the shortest gap, else the result is `unsupported`;
//! the child stays on its CPU; the kernel counts no waiting for the CPU beyond what the gaps show,
//! except for 1 ms.
//!
//! **Pitfalls:**
//! - A short round sees no rare event. The longest gap grows with the duration, so compare it only
//!   between equal profiles.
//! - The host's interference looks like the machine's own noise.
//! - A clock that needs a system call makes its own gaps.
//!
//! **Sources:** The osnoise tracer of Linux and rt-tests `oslat`, by their method. See
//! docs/methods/operating-system.md#noise.

use super::per_cpu::{CPUS, Tasks};
use groma_harness::prelude::*;
use groma_harness::sys::clock::{Clock, Monotonic};
use groma_harness::sys::counters::{Usage, current_cpu};
use groma_harness::sys::{arch, interrupts, sched};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Share of a CPU's time that a task reading the clock does not get",
        about: about!("noise.rs"),
        quantity: Quantity::Ratio,
        better: Some(Better::Lower),
        iteration: "the round's time, spent reading the clock",
        timing: Timing::Stated,
        outputs: &[
            Output::MAIN,
            Output::named("longest", "longest time between two readings in all rounds")
                .max("longest")
                .quantity(Quantity::Latency),
            // A rate would say that more is better.
            Output::named("gaps", "gaps of more than 1 us per second").quantity(Quantity::Count),
        ],
        params: &[CPUS],
        scaling: Scaling::alone("it goes to all CPUs itself (cpus=all), and states values"),
        target_half_width: 0.1,
        // 2: `longest` is the longest of all rounds, not the median of each round's.
        version: 2,
        ..Info::new("sched.noise")
    },
    run: Run::Here(run),
};

/// The shortest gap between two readings, in seconds.
const GAP: f64 = 1e-6;
/// Length of the first pass, which brings in the pages, in seconds.
const WARM: f64 = 200e-6;
/// The gaps that a task keeps individually; further gaps are only counted and added up.
const KEPT: usize = 1000;
/// How much waiting for the CPU the gaps need not explain, in seconds: waits shorter than a gap,
/// and rounding by the kernel's clock. Up to 0.13 ms were seen at load 30. If a busy machine's gaps
/// were missed, whole time slices of 4 ms would be unexplained.
const UNEXPLAINED: f64 = 1e-3;

/// The words at the start of a task's row. Times are in ticks of the clock that it reads.
#[derive(Clone, Copy)]
enum Found {
    Elapsed,
    Stolen,
    Longest,
    Gaps,
    Readings,
    /// Time from before the first reading of the kernel's counters to after the last, without
    /// `Elapsed`.
    Outside,
    /// Nanoseconds plus one; 0 where the kernel does not count them.
    Waited,
    Preempted,
    Faults,
    Elsewhere,
    /// The number of words above.
    All,
}

const WIDTH: usize = Found::All as usize + KEPT;

/// The gaps between readings of a clock.
struct Gaps<'r> {
    last: u64,
    /// The longest distance that is not a gap, in ticks.
    ordinary: u64,
    stolen: u64,
    longest: u64,
    count: u64,
    readings: u64,
    kept: &'r [AtomicU64],
}

impl<'r> Gaps<'r> {
    fn new(start: u64, ordinary: u64, kept: &'r [AtomicU64]) -> Gaps<'r> {
        Gaps { last: start, ordinary, stolen: 0, longest: 0, count: 0, readings: 0, kept }
    }

    #[inline(always)]
    fn see(&mut self, now: u64) {
        // A clock that runs backwards makes no gap.
        let distance = now.saturating_sub(self.last);
        self.last = now;
        self.readings += 1;
        if distance > self.ordinary {
            self.stolen += distance;
            if let Some(word) = self.kept.get(self.count as usize) {
                word.store(distance, SeqCst);
            }
            self.count += 1;
        }
        self.longest = self.longest.max(distance);
    }
}

/// Reads the clock for `ticks`; returns the ticks that it took.
#[inline(never)]
fn spin(read: fn() -> u64, ticks: u64, gaps: &mut Gaps<'_>) -> u64 {
    let start = gaps.last;
    while gaps.last.saturating_sub(start) < ticks {
        gaps.see(read());
    }
    gaps.last - start
}

/// Watches one CPU and records the result in its row.
fn watch(cpu: u32, row: &[AtomicU64], read: fn() -> u64, hz: f64, seconds: f64) {
    let ticks = |s: f64| (s * hz) as u64;
    let (found, kept) = row.split_at(Found::All as usize);
    // Treats every reading as a gap, so that the rare path through the loop is brought in as well.
    spin(read, ticks(WARM), &mut Gaps::new(read(), 0, kept));
    kept.iter().for_each(|word| word.store(0, SeqCst));

    let began = read();
    let (waited, used) = (sched::run_delay_ns(), Usage::thread());
    let mut gaps = Gaps::new(read(), ticks(GAP), kept);
    let elapsed = spin(read, ticks(seconds), &mut gaps);
    let (waited_after, used) = (sched::run_delay_ns(), Usage::thread().since(&used));
    let outside = read().saturating_sub(began).saturating_sub(elapsed);

    let put = |place: Found, value: u64| found[place as usize].store(value, SeqCst);
    put(Found::Elapsed, elapsed);
    put(Found::Stolen, gaps.stolen);
    put(Found::Longest, gaps.longest);
    put(Found::Gaps, gaps.count);
    put(Found::Readings, gaps.readings);
    put(Found::Outside, outside);
    put(Found::Waited, waited.zip(waited_after).map_or(0, |(before, after)| after.saturating_sub(before) + 1));
    put(Found::Preempted, used.involuntary);
    put(Found::Faults, used.minor_faults + used.major_faults);
    put(Found::Elsewhere, u64::from(current_cpu() != cpu));
}

/// The seconds of waiting for the CPU that gaps and what lies outside the watch do not show, from
/// the word for the wait and the seconds of both; `None` where the kernel does not count it.
fn unexplained(waited: u64, stolen: f64, outside: f64) -> Option<f64> {
    let waited = waited.checked_sub(1)? as f64 * 1e-9;
    // A twentieth is allowed for the difference of the two clocks.
    Some(waited * 0.95 - stolen - outside)
}

fn read_clock() -> u64 {
    Monotonic.now_ns()
}

fn run(ctx: &mut Ctx) -> Outcome {
    let (read, hz, clock): (fn() -> u64, f64, _) = match ctx.host().counter_hz {
        Some(hz) => (arch::counter_start, hz, arch::COUNTER_NAME),
        None => (read_clock, 1e9, "clock_gettime"),
    };
    ctx.fact("noise.clock", clock);
    let seconds = ctx.time_limit_ns() as f64 * 1e-9;
    let tasks = Tasks::new(ctx, WIDTH, |cpu, row| {
        watch(cpu, row, read, hz, seconds);
        Ok(())
    })?;
    let cpus = tasks.cpus.clone();
    let (host, before) = (sys::facts::host_counters(), interrupts::of_cpus(&cpus));
    let rows = tasks.work()?;
    let added = interrupts::since(&interrupts::of_cpus(&cpus), &before);
    let host = sys::facts::host_counters().since(&host);

    let mut most_unexplained = f64::NEG_INFINITY;
    for row in &rows {
        let count = |value: Found| row[value as usize] as f64;
        let time = |value: Found| count(value) / hz;
        let ordinary = (time(Found::Elapsed) - time(Found::Stolen)) / (count(Found::Readings) - count(Found::Gaps));
        // NaN if all readings are gaps.
        let fine = ordinary <= GAP / 2.0;
        if !fine {
            return Err(BenchError::Unsupported(format!(
                "a reading of {clock} takes {:.2} us: gaps of 1 us cannot be seen",
                time(Found::Elapsed) / count(Found::Readings) * 1e6
            )));
        }
        ctx.state(time(Found::Stolen) / time(Found::Elapsed));
        ctx.state_as("longest", time(Found::Longest));
        ctx.state_as("gaps", count(Found::Gaps) / time(Found::Elapsed));
        for ticks in row[Found::All as usize..].iter().filter(|ticks| **ticks > 0) {
            ctx.state_as("gap", *ticks as f64 / hz);
        }
        let waited = row[Found::Waited as usize];
        if let Some(seconds) = unexplained(waited, time(Found::Stolen), time(Found::Outside)) {
            most_unexplained = most_unexplained.max(seconds);
        }
    }
    let total = |value: Found| rows.iter().map(|row| row[value as usize]).sum::<u64>();
    ctx.prove("tasks that were found on another CPU", "0", total(Found::Elsewhere) as f64, 0.0..=0.0);
    if most_unexplained.is_finite() {
        let name = "seconds of waiting for the CPU that no gap shows";
        ctx.prove(name, "0.001 or less", most_unexplained, ..=UNEXPLAINED);
        let waited = total(Found::Waited) - rows.len() as u64;
        ctx.fact("noise.waited_s", format!("{:.6}", waited as f64 * 1e-9));
    }
    ctx.fact("noise.preemptions", total(Found::Preempted));
    ctx.fact("noise.faults", total(Found::Faults));
    if let Some(ticks) = host.steal_ticks {
        ctx.fact("noise.steal_ticks", ticks);
    }
    for (kind, n) in added {
        ctx.fact(&format!("interrupts.{kind}"), n);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn every_cpu_says_what_it_lost() {
        let all = super::super::cpus_of_the_run().expect("an affinity").len();
        for (cpus, many) in [("one", 1), ("all", all)] {
            let tried = match try_out(&BENCH, &[("cpus", cpus)], None) {
                Err(BenchError::Unsupported(why)) => return println!("skipped: {why}"),
                tried => tried.expect("a clock"),
            };
            let values = |name: &str| tried.result.series(name).map_or(Vec::new(), |s| s.values.clone());
            assert_eq!((values("").len(), values("longest").len(), values("gaps").len()), (many, many, many));
            assert!(values("").iter().all(|share| (0.0..=1.0).contains(share)));
            assert!(values("gap").iter().all(|gap| *gap > GAP));
            let longest = values("gap").into_iter().fold(0.0, f64::max);
            assert!(longest <= values("longest").into_iter().fold(0.0, f64::max));
            assert_eq!(tried.proven("tasks that were found on another CPU"), 0.0);
        }
    }

    #[test]
    fn gaps_are_what_lies_between_readings() {
        let kept: Vec<AtomicU64> = (0..2).map(|_| AtomicU64::new(0)).collect();
        let mut gaps = Gaps::new(1000, 100, &kept);
        for now in [1020, 1120, 1300, 1290, 1310, 5310, 5320, 5500] {
            gaps.see(now);
        }
        // 180, 4000 and 180 are gaps; 100 and a step backwards are not. Two are kept.
        assert_eq!((gaps.count, gaps.stolen, gaps.longest, gaps.readings), (3, 4360, 4000, 8));
        let kept: Vec<u64> = kept.iter().map(|word| word.load(SeqCst)).collect();
        assert_eq!(kept, [180, 4000]);
    }

    #[test]
    fn a_slow_clock_sees_only_gaps() {
        fn slow() -> u64 {
            static TICKS: AtomicU64 = AtomicU64::new(0);
            TICKS.fetch_add(5000, SeqCst)
        }
        let row: Vec<AtomicU64> = (0..WIDTH).map(|_| AtomicU64::new(0)).collect();
        watch(current_cpu(), &row, slow, 1e9, 0.001);
        let at = |value: Found| row[value as usize].load(SeqCst);
        assert_eq!(at(Found::Gaps), at(Found::Readings));
        assert_eq!(at(Found::Stolen), at(Found::Elapsed));
    }

    /// A wait that the gaps do not show has been missed.
    #[test]
    fn what_gaps_do_not_show_of_a_wait_is_unexplained() {
        let left = unexplained(10_000_001, 4e-3, 1e-3).expect("the kernel counts it");
        assert!((left - 4.5e-3).abs() < 1e-9, "{left}");
        assert_eq!((unexplained(1, 0.0, 0.0), unexplained(0, 0.0, 0.0)), (Some(0.0), None));
    }

    /// Readings half a microsecond apart are no gaps, however many ticks that is.
    #[test]
    fn a_gap_is_a_time_and_not_a_number_of_ticks() {
        fn quick() -> u64 {
            static TICKS: AtomicU64 = AtomicU64::new(0);
            TICKS.fetch_add(2000, SeqCst)
        }
        let row: Vec<AtomicU64> = (0..WIDTH).map(|_| AtomicU64::new(0)).collect();
        watch(current_cpu(), &row, quick, 4e9, 1e-3);
        let at = |value: Found| row[value as usize].load(SeqCst);
        assert_eq!((at(Found::Gaps), at(Found::Stolen), at(Found::Longest)), (0, 0, 2000));
        // All of the time, and two readings beside it.
        assert_eq!((at(Found::Elapsed), at(Found::Readings), at(Found::Outside)), (4_000_000, 2000, 4000));
    }

    /// The gaps a second are the share of the time that is lost over the mean of a gap.
    #[test]
    fn gaps_are_counted_by_the_second() {
        for _ in 0..5 {
            let tried = match try_out(&BENCH, &[("cpus", "one")], None) {
                Err(BenchError::Unsupported(why)) => return println!("skipped: {why}"),
                tried => tried.expect("a clock"),
            };
            let values = |name: &str| tried.result.series(name).map_or(Vec::new(), |s| s.values.clone());
            let gaps = values("gap");
            if gaps.is_empty() || gaps.len() >= KEPT {
                continue;
            }
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let rate = values("")[0] / mean;
            assert!((values("gaps")[0] / rate - 1.0).abs() < 1e-3, "{} and not {rate} a second", values("gaps")[0]);
        }
    }
}
