//! The scheduler: wake-ups, noise, fairness.

use groma_harness::prelude::*;
use groma_harness::sys::{affinity, process, sched};

mod load;
mod noise;
mod per_cpu;
mod periodic;
mod wakeup;

pub(crate) const ALL: &[&Benchmark] = &[&wakeup::BENCH, &periodic::BENCH, &noise::BENCH];

/// In which class a sleeper is scheduled.
pub(crate) const POLICY: Param = Param {
    name: "policy",
    help: "scheduling class: the ordinary one, or real-time (SCHED_FIFO)",
    kind: ParamKind::Word(&["other", "fifo"]),
    quick: &[],
    default: &["other"],
    full: &["other", "fifo"],
};

/// Puts this task, and those it forks, into the class that [`POLICY`] names, whatever class it was started in.
pub(crate) fn take_policy(ctx: &Ctx) -> Outcome {
    match ctx.word(POLICY.name) {
        "fifo" => sched::be_real_time().doing("becoming a real-time task (SCHED_FIFO)"),
        _ => sched::be_ordinary().doing("becoming an ordinary task (SCHED_OTHER)"),
    }
}

/// The CPUs that the run may use. A worker is pinned to one of them when this is asked; its supervisor is not.
fn cpus_of_the_run() -> Result<Vec<u32>, Stop> {
    affinity::allowed_to(process::parent_id()).or_else(|_| affinity::allowed()).doing("reading the allowed CPUs")
}
