//! A task that mostly sleeps, beside tasks on its CPU that never do: how late it runs.
//!
//! **Measures:** The overshoot of a sleep on a CPU that others want all the time: the timer
//! interrupt, the scheduler's decision whether the woken task goes first, and the switch, or else
//! the wait for the end of the other task's slice. By `class`, what tells the scheduler which one
//! is in a hurry:
//! - `none`: nothing; all are ordinary tasks.
//! - `nice`: the busy tasks have nice 19. `batch` and `idle`: they are SCHED_BATCH or SCHED_IDLE.
//! - `slice`: the sleeper asks for slices of 0.1 ms (Linux 6.12).
//! - `fifo`: the sleeper is a real-time task.
//!
//! **Does not measure:** A sleeper that may go to another CPU (`sched.wakeup load=100`), or sleeps
//! on an idle machine (`timer.sleep`).
//!
//! **Method:** The busy tasks share the sleeper's CPU. The sleeper runs for 20 us after each
//! wake-up, as one that handles an event does, then sleeps until 1 to 3 ms later, at random, so
//! that wake-ups do not lock onto ticks. Each wake-up is a value of its own: the median says what
//! is usual, p99 whether a slice had to be waited for.
//!
//! **Calls:**
//! - no trace of `busy`: more tasks make the same calls
//!
//! **Proofs:** No sleep ends before its time, the busy tasks run to the end, and the sleeper runs
//! on its CPU alone. The fact interactive.preempted says how often a busy task lost the CPU per
//! wake-up.
//!
//! **Pitfalls:**
//! - Where the scheduler splits the CPU between sessions or control groups first, nice acts within
//!   a group only. Sleeper and busy tasks are in one group here.
//! - Other load on this CPU is one more busy task.
//!
//! **Sources:** Kolivas' `interbench` and rt-tests' `cyclictest` ask this question. See
//! docs/methods/operating-system.md#wake-up-latency.

use super::load::Load;
use groma_harness::prelude::*;
use groma_harness::sys::counters::current_cpu;
use groma_harness::sys::{affinity, sched, sleep};
use std::io;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Overshoot of a sleep on a CPU that busy tasks want",
        about: about!("interactive.rs"),
        iteration: "one wake-up",
        timing: Timing::Stated,
        params: &[
            Param::word(
                "class",
                "what tells the sleeper from the busy tasks",
                &["none", "nice", "batch", "idle", "slice", "fifo"],
            )
            .quick(&["none"])
            .standard(&["nice", "slice", "fifo"])
            .full(&["batch", "idle"]),
            Param::count("busy", "busy tasks on the sleeper's CPU")
                .takes(Memory::PerMember(Memory::TASK))
                .quick(&["1"])
                .full(&["8"]),
        ],
        scaling: Scaling::alone("it has busy tasks of its own, and states values"),
        interference: Interference::Blocking,
        target_half_width: 0.05,
        tier: Tier::Standard,
        ..Info::new("sched.interactive")
    },
    run: Run::Here(run),
};

/// What the sleeper computes after a wake-up, and how long it then sleeps, in nanoseconds.
const WORK_NS: u64 = 20_000;
const REST_NS: std::ops::Range<u64> = 1_000_000..3_000_000;
/// The slice that `class=slice` asks for: the shortest that the kernel allows.
const SLICE_NS: u64 = 100_000;
/// Wake-ups that are not counted, the fewest in a round, and the most.
const WARM: usize = 2;
const MIN_WAKEUPS: usize = 10;
const MAX_WAKEUPS: usize = 1000;

fn run(ctx: &mut Ctx) -> Outcome {
    let class = ctx.word("class");
    let cpu = current_cpu();
    affinity::pin(cpu).context("staying on one CPU")?;
    let hog: fn() -> io::Result<()> = match class {
        "nice" => sched::be_nice,
        "batch" => sched::be_batch,
        "idle" => sched::be_idle,
        _ => || Ok(()),
    };
    let load = Load::on(ctx, &[cpu], ctx.int("busy") as usize, hog)?;
    match class {
        "fifo" => sched::be_real_time().context("becoming a real-time task (SCHED_FIFO)")?,
        "slice" => sched::ask_for_slice(SLICE_NS).map_err(|error| match error.kind() {
            io::ErrorKind::Unsupported => {
                BenchError::Unsupported("this kernel lets no task ask for a slice".to_owned())
            }
            _ => BenchError::from_io("sched_setattr", &error),
        })?,
        _ => {}
    }
    // As in `timer.sleep`: slack is another subject. Where it cannot be set, there is none.
    drop(sched::set_timer_slack(1));
    let (mut early, mut elsewhere, mut counted) = (0u64, 0u64, 0);
    let (begun, mut end) = (ctx.now_ns(), u64::MAX);
    let mut wakes = 0;
    while counted < MIN_WAKEUPS || (counted < MAX_WAKEUPS && ctx.now_ns() < end) {
        let due = sleep::now_ns() + REST_NS.start + ctx.rng().below(REST_NS.end - REST_NS.start);
        while let Err(error) = sleep::until(due) {
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(BenchError::from_io("clock_nanosleep", &error));
            }
        }
        let now = sleep::now_ns();
        wakes += 1;
        if wakes == WARM {
            end = ctx.now_ns() + ctx.time_limit_ns();
        }
        if wakes > WARM {
            early += u64::from(now < due);
            elsewhere += u64::from(current_cpu() != cpu);
            ctx.state((now as f64 - due as f64) * 1e-9);
            counted += 1;
        }
        while sleep::now_ns() < now + WORK_NS {
            std::hint::spin_loop();
        }
    }
    ctx.sampled_since(begun);
    let preempted = load.stop(ctx)? as f64 / wakes as f64;
    ctx.prove("wake-ups before their time", "0", early as f64, 0.0..=0.0);
    ctx.prove("wake-ups on another CPU", "0", elsewhere as f64, 0.0..=0.0);
    ctx.fact("interactive.preempted", format!("{preempted:.2}"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    /// Whoever wakes first has taken the CPU from a busy task, which was on it and nowhere else.
    #[test]
    fn the_sleeper_takes_the_cpu_from_a_busy_task() {
        let tried = match try_out(&BENCH, &[("class", "fifo"), ("busy", "2")], None) {
            Err(BenchError::Denied(why)) => return println!("skipped: {why}"),
            tried => tried.expect("busy tasks"),
        };
        assert_eq!(tried.proven("busy tasks at work to the end"), 2.0);
        let cpus: f64 = tried.result.fact("load.cpus").expect("told").parse().expect("a number");
        assert!(cpus <= 1.05, "busy tasks had {cpus} CPUs: they were not on one");
    }
}
