//! The scheduler: wake-up latency, periodic wake-ups, noise.

use crate::cpu::{cpus_of_the_run, limit_idle_latency};
use groma_harness::model::Family;
use groma_harness::model::family::{Figure, Say, first, first_with};
use groma_harness::prelude::*;
use groma_harness::sys::idle_states::LatencyLimit;
use groma_harness::sys::sched;

mod wakeup;
mod periodic;
mod noise;
mod groups;
mod interactive;
mod migrate;
mod runnable;
mod workers;
mod group_depth;

mod load;
pub(crate) use load::STRIDE;
mod per_cpu;

pub(crate) static ABOUT: Family = Family {
    name: "sched",
    summary: "The scheduler: wake-ups, noise, fairness",
    says: Say::Each(&[
        Say::Text(
            "a task that is woken on an idle CPU runs {} later",
            &[Figure::Value(first_with("sched.wakeup", &[("load", "0")]))],
        ),
        Say::Text("others take {} of a CPU's time", &[Figure::Percent(first("sched.noise"))]),
    ]),
    rows: &[],
};

pub(crate) const ALL: &[&Benchmark] = listed!("sched");

/// In which class a sleeper is scheduled.
pub(crate) const POLICY: Param =
    Param::word("policy", "scheduling class: the ordinary one, or real-time (SCHED_FIFO)", &["other", "fifo"])
        .quick(&["other"]);

/// Which idle states the CPUs may enter while the round lasts.
pub(crate) const CPU_DMA_LATENCY: Param = Param::word(
    "cpu_dma_latency",
    "idle states of the CPUs: those that the system allows, or (0) those that they leave at once",
    &["default", "0"],
)
.quick(&["default"])
.named(&["0"]);

/// Asks the kernel for what [`CPU_DMA_LATENCY`] names. The request ends with the worker, however
/// that ends (docs/methods/operating-system.md#sleep).
pub(crate) fn take_cpu_dma_latency(ctx: &mut Ctx) -> Result<Option<LatencyLimit>, BenchError> {
    match ctx.word(CPU_DMA_LATENCY.name) {
        "default" => Ok(None),
        _ => limit_idle_latency(ctx, 0).map(Some),
    }
}

/// Puts this task, and those it forks, into the class named by [`POLICY`], whatever its class was
/// at start.
pub(crate) fn take_policy(ctx: &Ctx) -> Outcome {
    match ctx.word(POLICY.name) {
        "fifo" => sched::be_real_time().context("becoming a real-time task (SCHED_FIFO)"),
        _ => sched::be_ordinary().context("becoming an ordinary task (SCHED_OTHER)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    fn state_policy(ctx: &mut Ctx) -> Outcome {
        take_policy(ctx)?;
        ctx.state(sched::policy() as f64);
        Ok(())
    }

    static CLASSED: Benchmark = Benchmark {
        info: Info { timing: Timing::Stated, params: &[POLICY], ..Info::new("test.class") },
        run: Run::Here(state_policy),
    };

    /// Who is woken has slept, which must not drop a sample.
    #[test]
    fn sleeping_belongs_to_what_sleeps() {
        let all = ALL.iter().chain(crate::timer::ALL);
        let sleepers: Vec<&str> =
            all.filter(|b| b.info.interference == Interference::Blocking).map(|b| b.info.id).collect();
        assert_eq!(
            sleepers,
            [
                "sched.wakeup",
                "sched.periodic",
                "sched.groups",
                "sched.interactive",
                "sched.migrate",
                "sched.workers",
                "sched.group_depth",
                "timer.sleep"
            ]
        );
    }

    /// Both sleep as often, and as long. An ordinary task is one whatever it was before.
    #[test]
    fn the_class_is_the_one_that_is_named() {
        for (policy, number) in [("fifo", sched::FIFO), ("other", sched::OTHER)] {
            match try_out(&CLASSED, &[("policy", policy)], None) {
                Err(BenchError::Denied(why)) if policy == "fifo" => println!("skipped: {why}"),
                tried => assert_eq!(tried.expect("a policy").stated(""), Some(number as f64), "{policy}"),
            }
        }
    }
}
