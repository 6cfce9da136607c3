//! Member 1 of a worker group exits in its loop: the round has to be `failed` and name it.
//!
//! **Measures:** Nothing: the samples of the other members must not count, since the worker group
//! was not complete.
//!
//! **Method:** Member 1 exits with code 3 after 20 ms of work.
//!
//! **Sources:** See docs/methods/timing.md#start-of-a-worker-group and
//! docs/methods/operating-system.md#self-tests.

use groma_harness::prelude::*;
use groma_harness::sys::clock::{Clock, Monotonic};
use groma_harness::sys::fork;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "A member of the worker group dies: must come back as failed, naming it",
        about: about!("dead_member.rs"),
        iteration: "one chain of additions",
        scaling: Scaling::processes("a thread that leaves takes its process along"),
        tier: Tier::Named,
        ..Info::new("selftest.dead_member")
    },
    run: Run::Here(run),
};

/// How long the member works before it exits, in nanoseconds: longer than the search for the length
/// of a batch.
const LIFE_NS: u64 = 20_000_000;

fn run(ctx: &mut Ctx) -> Outcome {
    if ctx.workers() < 2 {
        return Err(BenchError::Unsupported("needs a worker group of two or more (-P 2)".to_owned()));
    }
    let doomed = ctx.member() == 1;
    let start = Monotonic.now_ns();
    ctx.measure(|iters| {
        super::filler(iters);
        if doomed && Monotonic.now_ns() - start > LIFE_NS {
            fork::exit_now(3);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::model::WorkerKind;
    use groma_harness::testing::{try_group, try_out};

    #[test]
    fn the_worker_group_fails_and_names_the_member() {
        let stop = try_group(&BENCH, &[], None, 3, WorkerKind::Processes).expect_err("member 1 leaves");
        assert_eq!(stop, BenchError::Failed("member 1 of the worker group exited with code 3".to_owned()));
        assert!(matches!(try_out(&BENCH, &[], None), Err(BenchError::Unsupported(_))));
    }
}
