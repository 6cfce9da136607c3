//! Context switches: handing the CPU from one task to another.
//!
//! Three ways to hand over the CPU, which share a switch and nothing else, check each other:
//! - `ctx.switch`: a pipe wakes the next task.
//! - `ctx.futex`: a futex wakes the next task.
//! - `ctx.yield`: nobody sleeps and nobody is woken.
//!
//! With two tasks and no working set, `ctx.yield.net` is the switch alone (and the scheduler's
//! choice); `ctx.futex.net` adds a sleep and a wake-up; so does `ctx.switch.net`, through a pipe.
//! So between threads yield <= futex, and futex and switch lie within a fraction of each other. A
//! result far outside shows that one of the three measures something else. Processes cost more than
//! threads by a change of the address space. See docs/methods/operating-system.md#context-switches.

use groma_harness::model::Family;
use groma_harness::model::family::{Figure, Say, Select};
use groma_harness::prelude::*;
use groma_harness::sys::affinity;
use groma_harness::sys::counters::{self, Usage};
use std::io;

mod switch;
mod futex;
mod r#yield;

mod tasks;

pub(crate) static ABOUT: Family = Family {
    name: "ctx",
    summary: "Switching the CPU from one task to another",
    says: Say::FirstOf(&[
        Say::Text("a switch costs {}", &[Figure::Range(Select::Metric("ctx.switch.net"))]),
        Say::Text("a switch costs {}", &[Figure::Range(Select::Metric("ctx.switch"))]),
    ]),
    rows: &[],
};

pub(crate) const ALL: &[&Benchmark] = listed!("ctx");

/// Pins this task, and those it starts, to one CPU, so that every hand-over needs a switch.
///
/// Alone, and in a worker group with a placement, that is the CPU on which it already runs. Members
/// of a worker group without a placement are spread over the allowed CPUs, because all of them
/// would otherwise stay where they were forked. A placement on two CPUs, which a user can ask for,
/// is refused: it would spread the processes of a ring over both CPUs and keep threads on one.
fn on_one_cpu(ctx: &Ctx) -> Outcome {
    refuse_apart(counters::current_cpu(), ctx.peer_cpu())?;
    let allowed = affinity::allowed().context("reading the allowed CPUs")?;
    let cpu = match (ctx.workers(), allowed.as_slice()) {
        (2.., cpus @ [_, _, ..]) => cpus[ctx.member() as usize % cpus.len()],
        _ => counters::current_cpu(),
    };
    affinity::pin(cpu).context("pinning the tasks")
}

/// Refuses a placement of the peer on another CPU.
fn refuse_apart(here: u32, there: Option<u32>) -> Outcome {
    match there {
        Some(there) if there != here => {
            Err(BenchError::Unsupported("its tasks share one CPU: --placement same-cpu or free".to_owned()))
        }
        _ => Ok(()),
    }
}

/// Context switches of all these tasks, voluntary and involuntary.
fn switches<'u>(tasks: impl Iterator<Item = &'u Usage>) -> u64 {
    tasks.map(|usage| usage.voluntary + usage.involuntary).sum()
}

/// Sleeps of all these tasks: the switches that a task asked for.
fn sleeps<'u>(tasks: impl Iterator<Item = &'u Usage>) -> u64 {
    tasks.map(|usage| usage.voluntary).sum()
}

/// Says so where the tasks could not be made `SCHED_BATCH`.
fn note_class(ctx: &mut Ctx, batch: io::Result<()>) {
    if let Err(e) = batch {
        ctx.note(format!("the tasks are not of the class SCHED_BATCH ({e}): a wake-up may preempt the waker"));
    }
}

/// Proves one switch per hand-over at least: two where the woken task preempts its waker, and any
/// number where others take the CPU meanwhile (5.7 beside tasks of a higher priority). If the count
/// is 0 although tasks slept, the kernel does not count switches, and there is no proof.
fn prove_switches(ctx: &mut Ctx, name: &str, switches: u64, hand_overs: f64) {
    if switches == 0 {
        return ctx.note("the kernel counts no switches; on one CPU nothing is handed over without one");
    }
    ctx.prove(name, "1 or more (0.95)", switches as f64 / hand_overs.max(1.0), 0.95..=f64::INFINITY);
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::sys::sched;
    use groma_harness::testing::{stating, try_failing, try_out};

    #[test]
    fn tasks_that_sleep_are_batch_tasks() {
        for bench in [&switch::BENCH, &futex::BENCH] {
            sched::be_ordinary().expect("an ordinary task");
            let tried = try_out(bench, &[], None).expect("two tasks");
            let policy = sched::policy();
            assert!(tried.has_remark("SCHED_BATCH") || policy == sched::BATCH, "{}: {policy}", bench.info.id);
        }
    }

    #[test]
    fn switches_are_those_of_all_tasks_and_of_both_kinds() {
        let counted = |voluntary, involuntary| Usage { voluntary, involuntary, ..Usage::default() };
        let tasks = [counted(3, 50), counted(400, 7000)];
        assert_eq!((switches(tasks.iter()), sleeps(tasks.iter())), (7453, 403));
    }

    #[test]
    fn two_cpus_are_refused() {
        assert!(refuse_apart(1, None).is_ok() && refuse_apart(1, Some(1)).is_ok());
        assert!(matches!(refuse_apart(1, Some(0)), Err(BenchError::Unsupported(_))));
    }

    #[test]
    fn a_kernel_that_counts_no_switches_is_believed_and_one_that_counts_too_few_is_not() {
        fn none(ctx: &mut Ctx) -> Outcome {
            prove_switches(ctx, "switches", 0, 100.0);
            ctx.state(1.0);
            Ok(())
        }
        fn few(ctx: &mut Ctx) -> Outcome {
            prove_switches(ctx, "switches", 50, 100.0);
            ctx.state(1.0);
            Ok(())
        }
        let tried = |run| try_failing(&stating(run), &[], None).expect("a value").result;
        let (none, few) = (tried(none), tried(few));
        assert!(
            none.output.proofs.is_empty()
                && none.output.remarks.iter().any(|r| r.to_string().contains("counts no switches"))
        );
        assert!(few.output.proofs.iter().any(|p| p.name == "switches" && !p.holds));
    }
}
