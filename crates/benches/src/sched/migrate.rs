//! Moving a task to another CPU.
//!
//! **Measures:** One `sched_setaffinity` that leaves a task another CPU than the one it is on:
//! - `self`: the caller moves itself. It has to stop, so a thread of the kernel takes the CPU from
//!   it and puts it into the queue of the other one, which is woken.
//! - `sleeping`: another task that sleeps, which only gets a note for its next wake-up.
//!
//! **Does not measure:** What the task's caches and TLB entries cost afterwards, or the decision of
//! the scheduler to move a task (`sched.wakeup` free).
//!
//! **Method:** The worker's CPU and another one of the run take turns, so every call moves. The
//! value is one call, of a pair that goes there and back.
//!
//! **Proofs:** After each call the task may run on the CPU named and on no other: with `self` it is
//! seen to be there.
//!
//! **Pitfalls:** The target is idle here, and in a virtual machine it may have been halted: waking
//! it takes the host.
//!
//! **Sources:** None of the earlier suites. See
//! docs/methods/operating-system.md#wake-up-latency.

use crate::cpu::cpus_of_the_run;
use crate::work::{self, Done};
use groma_harness::prelude::*;
use groma_harness::rendezvous::{Control, LEAVE, Partners};
use groma_harness::sys::affinity::{self, Target};
use groma_harness::sys::counters::current_cpu;
use std::io;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Moving a task to another CPU by sched_setaffinity",
        about: about!("migrate.rs"),
        iteration: "two calls: there and back",
        params: &[Param::word("task", "the task that is moved", &["self", "sleeping"])
            .quick(&["self"])
            .full(&["sleeping"])],
        scaling: Scaling::alone("it uses two CPUs in turn"),
        interference: Interference::Blocking,
        target_half_width: 0.05,
        tier: Tier::Standard,
        ..Info::new("sched.migrate")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let own = current_cpu();
    let other = cpus_of_the_run()?.into_iter().find(|cpu| *cpu != own);
    let Some(other) = other else {
        return Err(BenchError::Unsupported("a task moves between two CPUs".to_owned()));
    };
    if ctx.word("task") == "sleeping" {
        return move_sleeper(ctx, own, other);
    }
    let (there, back) = (Target::of(other), Target::of(own));
    let moved = Done::new();
    let measured = ctx.measure_per(2.0, |iters| {
        let mut right = 0;
        for _ in 0..iters {
            right += u64::from(there.take(0) == 0 && current_cpu() == other);
            right += u64::from(back.take(0) == 0 && current_cpu() == own);
        }
        moved.add(right);
        all_moved(2 * iters, right)
    });
    affinity::pin(own).context("going back")?;
    measured?;
    work::once_each(ctx, "moves that ended on the CPU named, per move credited", moved.count(), 2 * ctx.iterations());
    Ok(())
}

/// Moves a process that sleeps.
fn move_sleeper(ctx: &mut Ctx, own: u32, other: u32) -> Outcome {
    let mut partners = Partners::new()?;
    partners.fork(ctx, "the task that sleeps", |control: &Control| -> io::Result<()> {
        control.await_command();
        Ok(())
    })?;
    partners.all_ready()?;
    let sleeper = partners.pids().next().ok_or_else(|| BenchError::Failed("no task sleeps".to_owned()))?;
    let (there, back) = (Target::of(other), Target::of(own));
    let moved = Done::new();
    ctx.measure_per(2.0, |iters| {
        let mut right = 0;
        for _ in 0..iters {
            right += u64::from(back.take(sleeper) == 0) + u64::from(there.take(sleeper) == 0);
        }
        moved.add(right);
        all_moved(2 * iters, right)
    })?;
    let allowed = affinity::allowed_to(sleeper).context("sched_getaffinity")?;
    partners.send_command(LEAVE);
    crate::proofs::peer_ended_well(ctx, &partners.wait()?[0]);
    work::once_each(ctx, "moves answered, per move credited", moved.count(), 2 * ctx.iterations());
    let left = if allowed == [other] { 1.0 } else { 0.0 };
    ctx.prove("CPUs that the last move left to the task, of those named", "1", left, 1.0..=1.0);
    Ok(())
}

fn all_moved(wanted: u64, right: u64) -> Outcome {
    if right == wanted { Ok(()) } else { Err(BenchError::Failed(format!("{right} of {wanted} calls moved the task"))) }
}
