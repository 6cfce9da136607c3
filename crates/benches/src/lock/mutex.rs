//! An uncontended mutex of the C library: lock and unlock.
//!
//! **Measures:** `pthread_mutex_lock` and `pthread_mutex_unlock` of a mutex of the default kind:
//! one atomic operation each, no kernel.
//!
//! **Does not measure:** Waiting for a mutex, or Rust's mutex.
//!
//! **Method:** Many pairs in one short interval. glibc omits the atomic operations in a process
//! with a single thread, so with `process=threaded` a second thread exists, and sleeps. The proof
//! is the same loop in a child cut off from the kernel. It is made before there is a second thread;
//! its path differs only in those operations.
//!
//! **Pitfalls:** The cost of a mutex in a process with one thread is not that in a program that
//! needs a mutex.
//!
//! **Sources:** will-it-scale `pthread_mutex2`, which has one thread where it runs as processes;
//! libMicro `mutex`. See docs/methods/operating-system.md#locks.

use crate::entry;
use crate::work::{Done, right_of};
use groma_harness::prelude::*;
use groma_harness::sys::sync::Mutex;
use groma_harness::sys::thread;
use std::sync::mpsc;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Uncontended mutex (pthread): lock and unlock, without the kernel",
        about: about!("mutex.rs"),
        iteration: "one lock and one unlock",
        params: &[Param::word(
            "process",
            "whether the process has a second thread, which sleeps",
            &["threaded", "single"],
        )
        .quick(&["threaded"])],
        scaling: Scaling::processes("whether there are other threads is a parameter"),
        tier: Tier::Standard,
        ..Info::new("lock.mutex")
    },
    run: Run::Here(run),
};

/// Bytes of stack for a thread that sleeps; debug builds need twice as much as release builds.
const STACK: usize = 128 << 10;

/// The name of the proof.
const LOCKED: &str = "times locked and unlocked, per time credited";

fn run(ctx: &mut Ctx) -> Outcome {
    let mutex = Mutex::new();
    let done = Done::new();
    let mut body = |iters| {
        let right = right_of(iters, || mutex.lock_unlock() == 0);
        done.add(right);
        if right == iters {
            Ok(())
        } else {
            Err(BenchError::Failed(format!("a mutex returned {}", mutex.lock_unlock())))
        }
    };
    entry::never_asks_the_kernel(ctx, &mut body)?;
    if ctx.word("process") == "single" {
        ctx.measure(body)?;
        done.prove(ctx, LOCKED);
        return Ok(());
    }
    let (measured, ended) = mpsc::channel::<()>();
    // It sleeps until the sender is dropped.
    let sleeper = thread::spawn(STACK, move || ended.recv().is_err()).context("making a thread")?;
    let outcome = ctx.measure(body);
    // Before it is told to end.
    let beside = !sleeper.is_finished();
    drop(measured);
    done.prove(ctx, LOCKED);
    let slept = sleeper.join().is_ok_and(|ended| ended);
    ctx.prove("threads that slept beside it", "1", f64::from(u8::from(beside && slept)), 1.0..=1.0);
    outcome
}
