//! Handing the CPU from one task to another.
//!
//! Three ways to hand it over, which share a switch and nothing else, check each other: in `ctx.switch` a pipe wakes
//! the next task, in `ctx.futex` a futex does, and in `ctx.yield` nobody sleeps and nobody is woken. With two tasks and
//! an empty working set, `ctx.yield.net` is the switch alone (and the scheduler's choice); `ctx.futex.net` adds a sleep
//! and a wake-up; so does `ctx.switch.net`, through a pipe. So between threads yield <= futex, and futex and switch lie
//! within a fraction of each other; a result far outside says that one of the three measures something else. Processes
//! cost a change of address space more than threads.

use groma_harness::model::Family;
use groma_harness::model::family::{Figure, Say, Select};
use groma_harness::prelude::*;
use groma_harness::sys::affinity;
use groma_harness::sys::counters::{self, Usage};

mod futex;
mod switch;
mod tasks;
mod r#yield;

/// What the family says about itself.
pub(crate) static ABOUT: Family = Family {
    name: "ctx",
    summary: "Switching the CPU from one task to another",
    says: Say::FirstOf(&[
        Say::Text("a switch costs {}", &[Figure::Range(Select::Metric("ctx.switch.net"))]),
        Say::Text("a switch costs {}", &[Figure::Range(Select::Metric("ctx.switch"))]),
    ]),
    rows: &[],
};

pub(crate) const ALL: &[&Benchmark] = &[&switch::BENCH, &futex::BENCH, &r#yield::BENCH];

/// Puts this task, and those it starts, on one CPU: then a hand-over cannot happen without a switch.
///
/// Alone and in a worker group that was placed, that is the CPU where it already is. The members of a worker group that nobody placed
/// go round the allowed CPUs: they would else all stay where they were forked. A placement on two CPUs, which anybody can
/// ask for, would have the processes of a ring on both, and the threads on one.
fn on_one_cpu(ctx: &Ctx) -> Outcome {
    refuse_apart(counters::current_cpu(), ctx.peer_cpu())?;
    let allowed = affinity::allowed().context("reading the allowed CPUs")?;
    let cpu = match (ctx.workers(), allowed.as_slice()) {
        (2.., cpus @ [_, _, ..]) => cpus[ctx.member() as usize % cpus.len()],
        _ => counters::current_cpu(),
    };
    affinity::pin(cpu).context("pinning the tasks")
}

/// Refuses another CPU for the other side.
fn refuse_apart(here: u32, there: Option<u32>) -> Outcome {
    match there {
        Some(there) if there != here => {
            Err(BenchError::Unsupported("its tasks share one CPU: --placement same-cpu or free".to_owned()))
        }
        _ => Ok(()),
    }
}

/// Context switches of all these tasks, whoever wanted them.
fn switches<'u>(tasks: impl Iterator<Item = &'u Usage>) -> u64 {
    tasks.map(|usage| usage.voluntary + usage.involuntary).sum()
}

/// One switch for each hand-over, or two where whoever is woken preempts its waker. A kernel that counted none at all among
/// tasks that slept counts none.
fn prove_switches(ctx: &mut Ctx, name: &str, switches: u64, hand_overs: f64) {
    if switches == 0 {
        return ctx.note("the kernel counts no switches; on one CPU nothing is handed over without one");
    }
    ctx.prove(name, "1 (0.95..2.2)", switches as f64 / hand_overs.max(1.0), 0.95..=2.2);
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_failing;

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
        let tried = |run| {
            let info = Info { timing: Timing::Stated, ..Info::new("test.switches") };
            try_failing(&Benchmark { info, run: Run::Here(run) }, &[], None).expect("a value").result
        };
        let (none, few) = (tried(none), tried(few));
        assert!(
            none.output.proofs.is_empty()
                && none.output.remarks.iter().any(|r| r.to_string().contains("counts no switches"))
        );
        assert!(few.output.proofs.iter().any(|p| p.name == "switches" && !p.holds));
    }
}
