//! A task that wakes every millisecond: how late each wake-up is, on one CPU or on all at once.
//!
//! **Measures:** The overshoot of absolute sleeps that follow each other in a fixed rhythm, as in a
//! control loop or an audio thread: the timer interrupt, the exit from the idle state, the
//! scheduler's choice, and the switch.
//!
//! **Does not measure:** Single sleeps of other lengths and by other calls (`timer.sleep`), or
//! wake-ups by another task (`sched.wakeup`).
//!
//! **Method:** A task on each CPU sleeps with `clock_nanosleep` until one millisecond after its
//! previous due time. No period is skipped: a task held up for five periods counts all five, each
//! as late as it was. The timer slack is 1 ns, since slack is the subject of `timer.sleep`. Each
//! overshoot is a value of its own, so that the record shows their distribution; `max` is the
//! latest of all rounds, and the fact periodic.worst_cpu names the CPU of the latest one.
//! `cpu_dma_latency=0`, the default of `cyclictest`, keeps the CPUs out of idle states that take
//! time to leave.
//!
//! **Calls:**
//! - no trace of `cpus`: the test leaves out calls that choose CPUs
//!
//! **Proofs:** No sleep ends before its time by the clock that the timers run on, and each task
//! wakes once per period.
//!
//! **Pitfalls:**
//! - Relative sleeps drift, and omit the worst cases, since a late task asks for its next sleep
//!   late.
//! - The worst case of an ordinary task depends on the scheduler, that of a real-time task on the
//!   kernel and the machine. In a virtual machine both depend on the host.
//!
//! **Sources:** rt-tests `cyclictest`. See docs/methods/operating-system.md#periodic-wake-ups.

use super::per_cpu::{CPUS, Tasks};
use super::{CPU_DMA_LATENCY, POLICY, take_cpu_dma_latency, take_policy};
use groma_harness::prelude::*;
use groma_harness::sys::sched::{set_timer_slack, timer_slack};
use groma_harness::sys::sleep;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Overshoot of a task that wakes every millisecond",
        about: about!("periodic.rs"),
        iteration: "one period",
        timing: Timing::Stated,
        outputs: &[Output::MAIN, Output::named("max", "the latest wake-up of all rounds").max("")],
        params: &[POLICY, CPUS, CPU_DMA_LATENCY],
        scaling: Scaling::alone("it goes to all CPUs itself (cpus=all), and states values"),
        interference: Interference::Blocking,
        target_half_width: 0.05,
        tier: Tier::Standard,
        ..Info::new("sched.periodic")
    },
    run: Run::Here(run),
};

const PERIOD_NS: u64 = 1_000_000;
/// Periods that are not counted: the first ones bring in the pages.
const WARM: usize = 2;
/// The fewest periods in a round, however short its time limit is.
const MIN_PERIODS: u64 = 10;
/// The most periods in a round: more values would only fill the store.
const MAX_PERIODS: u64 = 1000;

/// Wakes once per period until the row is full. Fails if the sleep does. Tests pass a clock of
/// their own.
fn wake_periodically(
    row: &[AtomicU64],
    now_ns: impl Fn() -> u64,
    until: impl Fn(u64) -> io::Result<()>,
) -> io::Result<()> {
    let mut next = now_ns();
    let mut wake = || {
        next += PERIOD_NS;
        loop {
            match until(next) {
                Ok(()) => return Ok(now_ns().wrapping_sub(next)),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    };
    for _ in 0..WARM {
        wake()?;
    }
    for word in row {
        let late = wake()?;
        // Distinguishes a word that was never written from a wake-up without delay.
        word.store(late.wrapping_add(1), SeqCst);
    }
    Ok(())
}

fn run(ctx: &mut Ctx) -> Outcome {
    let _awake = take_cpu_dma_latency(ctx)?;
    take_policy(ctx)?;
    // Inherited by the tasks. Where the slack cannot be set, there is none.
    drop(set_timer_slack(1));
    if let Ok(ns) = timer_slack() {
        ctx.fact("timer.slack_ns", ns);
    }
    let periods = (ctx.time_limit_ns() / PERIOD_NS).clamp(MIN_PERIODS, MAX_PERIODS) as usize;
    let tasks = Tasks::new(ctx, periods, |_, row| wake_periodically(row, sleep::now_ns, sleep::until))?;
    let cpus = tasks.cpus.clone();
    let rows = tasks.work()?;

    let (mut early, mut woken, mut worst) = (0u64, 0, (i64::MIN, 0));
    for (cpu, row) in cpus.iter().zip(&rows) {
        for word in row.iter().filter(|word| **word != 0) {
            let late = word.wrapping_sub(1) as i64;
            early += u64::from(late < 0);
            woken += 1;
            worst = worst.max((late, *cpu));
            ctx.state(late as f64 * 1e-9);
        }
    }
    let all = (cpus.len() * periods) as f64;
    ctx.prove("wake-ups per period of each task", "1", f64::from(woken) / all, 1.0..=1.0);
    ctx.prove("wake-ups before their time", "0", early as f64, 0.0..=0.0);
    ctx.fact("periodic.worst_cpu", format!("CPU {}", worst.1));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;
    use std::cell::Cell;

    #[test]
    fn every_period_wakes_once_on_each_cpu() {
        let allowed = super::super::cpus_of_the_run().expect("an affinity");
        for (cpus, many) in [("one", 1), ("all", allowed.len())] {
            for policy in ["other", "fifo"] {
                match try_out(&BENCH, &[("cpus", cpus), ("policy", policy)], None) {
                    Ok(tried) => {
                        let values = tried.result.series("").map_or(0, |s| s.values.len());
                        // The time limit of a test holds 20 periods.
                        assert_eq!(values, 20 * many, "{cpus} {policy}");
                        assert_eq!(tried.proven("wake-ups per period of each task"), 1.0);
                        // Values are in the order of the CPUs.
                        let late = &tried.result.series("").expect("values").values;
                        let most = late.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                        let of_most = late.iter().enumerate().filter(|(_, late)| **late == most);
                        let mut worst = of_most.map(|(i, _)| format!("CPU {}", allowed[i / 20]));
                        let told = tried.result.fact("periodic.worst_cpu").expect("told");
                        assert!(cpus == "one" || worst.any(|cpu| cpu == told), "{told}: {late:?}");
                        assert_eq!(tried.proven("wake-ups before their time"), 0.0);
                    }
                    Err(BenchError::Denied(why)) => println!("skipped: {why}"),
                    Err(stop) => panic!("{cpus} {policy}: {stop}"),
                }
            }
        }
    }

    #[test]
    fn a_late_task_counts_every_period_that_it_missed() {
        // Woken on time, except for the third period after the warm-up, when the task is held up
        // for three and a half periods.
        let now = Cell::new(0);
        let until = |at: u64| {
            let held_up = if at == (WARM as u64 + 3) * PERIOD_NS { PERIOD_NS * 7 / 2 } else { 0 };
            now.set(now.get().max(at) + held_up);
            Ok(())
        };
        let row: Vec<AtomicU64> = (0..8).map(|_| AtomicU64::new(0)).collect();
        wake_periodically(&row, || now.get(), until).expect("no sleep failed");
        let late: Vec<u64> = row.iter().map(|word| word.load(SeqCst) - 1).collect();
        assert_eq!(late, [0, 0, 3_500_000, 2_500_000, 1_500_000, 500_000, 0, 0]);
    }

    #[test]
    fn an_interrupted_sleep_goes_on_and_a_refused_one_ends() {
        let tries = Cell::new(0);
        let until = |_| {
            tries.set(tries.get() + 1);
            if tries.get() % 2 == 1 { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
        };
        let row = [AtomicU64::new(0)];
        wake_periodically(&row, || 0, until).expect("no sleep was refused");
        assert_eq!(tries.get(), 2 * (WARM + 1));
        wake_periodically(&row, || 0, |_| Err(io::ErrorKind::InvalidInput.into())).expect_err("refused");
    }
}
