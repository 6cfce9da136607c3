//! Switching between tasks of one CPU that all want to run, by how many there are.
//!
//! **Measures:** One switch from a process that yields to the one that the scheduler chooses among
//! all the others: the search in its queue, which grows with their number, and the loss of what
//! each task had in the caches and the TLB, which grows with it as well.
//!
//! **Does not measure:** Waking a task (`ctx.switch`, whose `tasks` sleep), or a yield to nobody.
//!
//! **Method:** Each process counts a turn and yields, again and again, on one CPU. The first one
//! looks at all counters and at the CPU time of all processes once a millisecond, and less often
//! where they are many. A value is the CPU time over the turns taken in it: beside a task of
//! another kind a yield costs that task's slice, which is no time of these processes.
//!
//! **Proofs:** Every process has had its turns: the one with the fewest at least a tenth of the
//! average. By the kernel's count there were as many switches as turns, within 5 %.
//!
//! **Pitfalls:** By the wall clock, which this benchmark used at first, two tasks beside four busy
//! loops took 667 us for a switch.
//!
//! **Sources:** lat_ctx asks how a switch depends on the number of tasks, with tasks that sleep.
//! See docs/methods/operating-system.md#context-switches.

use super::load::STRIDE;
use groma_harness::prelude::*;
use groma_harness::sys::counters::{Usage, cpu_ns_of, current_cpu, thread_cpu_ns};
use groma_harness::sys::fork::Child;
use groma_harness::sys::sched::yield_now;
use groma_harness::sys::shared::Shared;
use groma_harness::sys::{affinity, sleep};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Switching between tasks of one CPU that all want to run",
        about: about!("runnable.rs"),
        iteration: "one switch, by yielding",
        timing: Timing::Stated,
        params: &[Param::count("tasks", "processes that want the CPU")
            .takes(Memory::PerMember(Memory::TASK))
            .quick(&["2"])
            .standard(&["100"])
            .full(&["10", "1000"])],
        scaling: Scaling::alone("it has a CPU full of tasks of its own, and states values"),
        interference: Interference::Tasks,
        target_half_width: 0.05,
        tier: Tier::Standard,
        ..Info::new("sched.runnable")
    },
    run: Run::Here(run),
};

/// The shortest time of a value, and what it is at least for each task whose CPU time is read.
const WINDOW_NS: u64 = 1_000_000;
const WINDOW_NS_PER_TASK: u64 = 50_000;
/// Turns of the first task for each look at the clock, which the others do not make.
const TURNS_A_LOOK: u32 = 8;
/// The fewest values in a round, and the most.
const MIN_VALUES: usize = 10;
const MAX_VALUES: usize = 1000;

/// Calls that are tried before anything is measured, and the least share of them that gives the CPU
/// to another task. Linux 6.18 does so in each; 5.10, whose scheduler is another, in 2 to 40 %.
const TRIED: u32 = 256;
const HANDS_OVER: f64 = 0.9;
/// Calls for each task after which all have had their first turns, where three calls suffice.
const MAX_CALLS: usize = 1000;

fn run(ctx: &mut Ctx) -> Outcome {
    let tasks = ctx.int("tasks") as usize;
    if tasks < 2 {
        return Err(BenchError::Unsupported("a switch takes two tasks".to_owned()));
    }
    let cpu = current_cpu();
    affinity::pin(cpu).context("staying on one CPU")?;
    let turns = Shared::<AtomicU64>::new(tasks * STRIDE).context("sharing counters")?;
    let count = |task: usize| &turns[task * STRIDE];
    let children: Vec<Child> = (1..tasks)
        .map(|task| {
            ctx.fork_peer(&[], || {
                loop {
                    count(task).fetch_add(1, Relaxed);
                    yield_now();
                }
            })
        })
        .collect::<Result<_, _>>()?;
    let all = || (0..tasks).map(|task| count(task).load(Relaxed)).sum::<u64>();
    let turn = || {
        count(0).fetch_add(1, Relaxed);
        yield_now();
    };
    // All are there, and the first turns have brought in their pages.
    let mut calls = 0;
    while (1..tasks).any(|task| count(task).load(Relaxed) < 3) {
        turn();
        calls += 1;
        if calls > MAX_CALLS * tasks {
            let why = format!("{calls} calls of sched_yield did not give each task three turns here");
            return Err(BenchError::Unsupported(why));
        }
    }
    let own = Usage::thread();
    (0..TRIED).for_each(|_| turn());
    let own = Usage::thread().since(&own);
    let switched = (own.voluntary + own.involuntary) as f64 / f64::from(TRIED);
    if switched > 0.0 && switched < HANDS_OVER {
        return Err(BenchError::Unsupported(format!(
            "sched_yield hands the CPU over in {:.0} % of its calls here: this scheduler lets the caller go on",
            switched * 100.0
        )));
    }
    let began: Vec<u64> = (0..tasks).map(|task| count(task).load(Relaxed)).collect();
    let own = Usage::thread();
    let (begun, end) = (ctx.now_ns(), ctx.now_ns() + ctx.time_limit_ns());
    let mut values = 0;
    // While this task reads, no other one of them has the CPU.
    let others_ns = || -> Result<u64, BenchError> {
        children.iter().map(|child| cpu_ns_of(child.pid()).context("reading the CPU time of a task")).sum()
    };
    let window_ns = WINDOW_NS.max(WINDOW_NS_PER_TASK * tasks as u64);
    while values < MIN_VALUES || (values < MAX_VALUES && ctx.now_ns() < end) {
        let (before, seen) = (others_ns()?, all());
        let own_ns = thread_cpu_ns();
        let until = sleep::now_ns() + window_ns;
        while sleep::now_ns() < until {
            (0..TURNS_A_LOOK).for_each(|_| turn());
        }
        let own_ns = thread_cpu_ns() - own_ns;
        let spent = own_ns + others_ns()? - before;
        ctx.state(spent as f64 * 1e-9 / (all() - seen) as f64);
        values += 1;
    }
    ctx.sampled_since(begun);
    let own = Usage::thread().since(&own);
    let had: Vec<u64> = (0..tasks).map(|task| count(task).load(Relaxed) - began[task]).collect();
    let mut ended = 0u32;
    for child in children {
        ended += u32::from(child.stop().context("ending a task")?.signal().is_some());
    }
    let average = had.iter().sum::<u64>() as f64 / tasks as f64;
    let fewest = had.iter().copied().min().unwrap_or(0) as f64 / average;
    ctx.prove("turns of the task with the fewest, of the average", "0.1 or more", fewest, 0.1..);
    let switched = (own.voluntary + own.involuntary) as f64 / had[0] as f64;
    if own.voluntary + own.involuntary > 0 {
        // A task of another kind that takes the CPU adds a switch without a turn.
        ctx.prove("switches of the first task per turn", "1 (0.95 or more)", switched, 0.95..);
    }
    let others = (tasks - 1) as f64;
    ctx.prove("tasks at work to the end", "all of them", f64::from(ended), others..=others);
    Ok(())
}
