//! A POSIX semaphore that nobody waits for: up and down again.
//!
//! Measures `sem_post` and `sem_wait` of the C library where the semaphore is never below 1 when it is waited for: two
//! atomic operations, no kernel. Does not measure a hand-over between two tasks (`ipc.posix_sem_rtt`): that is another
//! quantity, a hundred times as large.
//!
//! Method: many pairs in one short interval. Up comes first, so even where all members of a worker group share one semaphore
//! (`object=shared`, in a mapped file) none ever waits: what they share is a cache line. The proof is the same loop in
//! a child cut off from the kernel: it must not notice; and the semaphore is at 0 in the end.
//!
//! Traps: this number called the cost of a semaphore (will-it-scale `posix_semaphore1`).
//!
//! Source: will-it-scale `posix_semaphore1`.

use super::{OBJECT, shared_file};
use crate::entry;
use crate::work::Done;
use groma_harness::prelude::*;
use groma_harness::sys::sync::Semaphores;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "POSIX semaphore that nobody waits for: post and wait, without the kernel",
        about: about!("posix_sem.rs"),
        iteration: "one sem_post and one sem_wait",
        params: &[OBJECT],
        needs: &[Need::WorkDir],
        lineage: &["wis:posix_semaphore1"],
        tier: Tier::Standard,
        ..Info::new("lock.posix_sem")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let semaphores = match shared_file(ctx)? {
        Some(file) => Semaphores::in_file(&file, 1),
        None => Semaphores::new(1),
    };
    let semaphores = semaphores.context("making a semaphore")?;
    let done = Done::new();
    let mut body = |iters| {
        for _ in 0..iters {
            semaphores.post(0).context("posting the semaphore")?;
            semaphores.wait(0).context("waiting for the semaphore")?;
            done.add(1);
        }
        Ok(())
    };
    ctx.measure(&mut body)?;
    done.prove(ctx, "turns of the semaphore, per turn credited");
    // The others of a worker group may be between up and down.
    if ctx.workers() == 1 {
        let left = semaphores.value(0).context("looking at the semaphore")?;
        ctx.prove("what the semaphore is at afterwards", "0", f64::from(left), 0.0..=0.0);
    }
    entry::never_asks_the_kernel(ctx, body)
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::scratch::testing::Place;
    use groma_harness::model::WorkerKind;
    use groma_harness::testing::try_group;

    #[test]
    fn a_worker_group_shares_a_semaphore_and_nobody_waits() {
        let place = Place::new();
        for kind in [WorkerKind::Processes, WorkerKind::Threads] {
            let tried =
                try_group(&BENCH, &[("object", "shared")], Some(place.path()), 2, kind).expect("a worker group");
            assert!(tried.samples("") >= 1);
        }
        std::fs::remove_file(place.path().join("object")).expect("the object that was shared");
    }
}
