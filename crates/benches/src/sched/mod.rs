//! The scheduler: wake-up latency, periodic wake-ups, noise.

use crate::cpus::of_the_run as cpus_of_the_run;
use groma_harness::model::Family;
use groma_harness::model::family::{Figure, Say, first, least};
use groma_harness::prelude::*;
use groma_harness::sys::sched;

mod load;
mod noise;
mod per_cpu;
mod periodic;
mod wakeup;

/// What the family says about itself.
pub(crate) static ABOUT: Family = Family {
    name: "sched",
    summary: "The scheduler: wake-ups, noise, fairness",
    says: Say::Each(&[
        Say::Text("a task that is woken runs {} later", &[Figure::Value(least("sched.wakeup"))]),
        Say::Text("others take {} of a CPU's time", &[Figure::Percent(first("sched.noise"))]),
    ]),
    rows: &[],
};

pub(crate) const ALL: &[&Benchmark] = &[&wakeup::BENCH, &periodic::BENCH, &noise::BENCH];

/// In which class a sleeper is scheduled.
pub(crate) const POLICY: Param =
    Param::word("policy", "scheduling class: the ordinary one, or real-time (SCHED_FIFO)", &["other", "fifo"])
        .quick(&["other"]);

/// Puts this task, and those it forks, into the class named by [`POLICY`], whatever its class was
/// at start.
pub(crate) fn take_policy(ctx: &Ctx) -> Outcome {
    match ctx.word(POLICY.name) {
        "fifo" => sched::be_real_time().context("becoming a real-time task (SCHED_FIFO)"),
        _ => sched::be_ordinary().context("becoming an ordinary task (SCHED_OTHER)"),
    }
}
