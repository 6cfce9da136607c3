//! An uncontended POSIX semaphore: post and wait.
//!
//! **Measures:** `sem_post` and `sem_wait` of the C library where the semaphore is never below 1
//! when it is waited for: two atomic operations, no kernel.
//!
//! **Does not measure:** A hand-over between two tasks (`ipc.posix_sem_rtt`), which is another
//! quantity, a hundred times as large.
//!
//! **Method:** Many pairs in one short interval. The post comes first, so nobody waits even where
//! all members of a worker group share one semaphore (`object=shared`, in a mapped file); what they
//! share is a cache line. The proofs are that the same loop succeeds in a child cut off from the
//! kernel, and that the semaphore is 0 at the end.
//!
//! **Calls:**
//! - once `object=shared`: `PROT_READ|PROT_WRITE, MAP_SHARED,`
//!
//! **Pitfalls:** will-it-scale `posix_semaphore1` reports this number as the cost of a semaphore,
//! although nobody waits.
//!
//! **Sources:** will-it-scale `posix_semaphore1`. See docs/methods/operating-system.md#locks.

use super::{OBJECT, shared_file};
use crate::entry;
use crate::work::Done;
use groma_harness::prelude::*;
use groma_harness::sys::sync::Semaphores;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "POSIX semaphore without waiters: post and wait, in user space",
        about: about!("posix_sem.rs"),
        iteration: "one sem_post and one sem_wait",
        params: &[OBJECT],
        needs: &[Need::WorkDir],
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
    // Other members of a worker group may be between post and wait.
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
