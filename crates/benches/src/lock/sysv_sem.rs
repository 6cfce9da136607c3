//! An uncontended System V semaphore: up and down.
//!
//! **Measures:** Two `semop` calls, through the C library: the kernel looks up the set by its id,
//! takes its lock, and changes a number. Unlike a POSIX semaphore, it enters the kernel each time.
//!
//! **Does not measure:** A hand-over between two tasks (`ipc.sysv_sem_rtt`), or SEM_UNDO.
//!
//! **Method:** Many pairs in one short interval, up first, so it never waits. The proofs are the
//! same loop in a child cut off from the kernel, and that the semaphore is 0 at the end. The set
//! belongs to a guardian (`groma_sys::guardian`), so nothing is left behind, not even after
//! SIGKILL. Each member of a worker group has its own set.
//!
//! **Pitfalls:** Sets that are left behind by a killed benchmark.
//!
//! **Sources:** lmbench3 `lat_sem` is `ipc.sysv_sem_rtt`. See
//! docs/methods/operating-system.md#locks.

use crate::entry;
use crate::work::Done;
use groma_harness::prelude::*;
use groma_harness::sys::sysv::{self, Semaphores};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "System V semaphore that nobody waits for: up and down",
        about: about!("sysv_sem.rs"),
        iteration: "two semop: up and down",
        scaling: Scaling::processes("the guardian of its id is forked, which a process with threads must not"),
        ..Info::new("lock.sysv_sem")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let semaphores = Semaphores::new().context("making System V semaphores")?;
    let set = semaphores.id();
    let done = Done::new();
    let mut body = |iters| {
        for _ in 0..iters {
            sysv::add(set, 0, 1).context("adding to the semaphore")?;
            sysv::add(set, 0, -1).context("taking from the semaphore")?;
            done.add(1);
        }
        Ok(())
    };
    ctx.measure(&mut body)?;
    done.prove(ctx, "turns of the semaphore, per turn credited");
    let left = sysv::value(set, 0).context("looking at the semaphore")?;
    ctx.prove("what the semaphore is at afterwards", "0", f64::from(left), 0.0..=0.0);
    entry::asks_the_kernel(ctx, body);
    Ok(())
}
