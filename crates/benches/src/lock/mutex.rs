//! A mutex of the C library that nobody else wants: lock and unlock.
//!
//! Measures `pthread_mutex_lock` and `pthread_mutex_unlock` of a mutex of the default kind: an atomic operation each,
//! no kernel. Does not measure waiting for a mutex, nor the mutex of Rust.
//!
//! Method: many pairs in one short interval. glibc leaves the atomic operations out while a process has a single
//! thread, so it depends on that: with `process=threaded` another thread exists, and sleeps. The proof is the same loop
//! in a child cut off from the kernel, made before there is a second thread; the path is the same but for those
//! operations.
//!
//! Traps: the mutex of a process with one thread taken for that of a program that needs one.
//!
//! Source: will-it-scale `pthread_mutex2`, which has one thread where it runs as processes; libMicro `mutex`.

use crate::entry;
use crate::work::Done;
use groma_harness::prelude::*;
use groma_harness::sys::sync::Mutex;
use groma_harness::sys::thread;
use std::sync::mpsc;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Mutex (pthread) that nobody else wants: lock and unlock, without the kernel",
        about: about!("mutex.rs"),
        iteration: "one lock and one unlock",
        params: &[Param::word(
            "process",
            "whether the process has a second thread, which sleeps",
            &["threaded", "single"],
        )
        .quick(&["threaded"])],
        scaling: Scaling::processes("whether there are other threads is a parameter"),
        lineage: &["wis:pthread_mutex2", "libmicro:mutex"],
        tier: Tier::Standard,
        ..Info::new("lock.mutex")
    },
    run: Run::Here(run),
};

/// Room for a thread that sleeps; debug builds want the double of release builds.
const STACK: usize = 128 << 10;

/// What is proven.
const LOCKED: &str = "times locked and unlocked, per time credited";

fn run(ctx: &mut Ctx) -> Outcome {
    let mutex = Mutex::new();
    let done = Done::new();
    let mut body = |iters| {
        let mut right = 0;
        for _ in 0..iters {
            right += u64::from(mutex.lock_unlock() == 0);
        }
        done.add(right);
        if right == iters {
            Ok(())
        } else {
            Err(BenchError::Failed(format!("a mutex answered {}", mutex.lock_unlock())))
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
    drop(measured);
    done.prove(ctx, LOCKED);
    let slept = sleeper.join().is_ok_and(|ended| ended);
    ctx.prove("threads that slept beside it", "1", f64::from(u8::from(slept)), 1.0..=1.0);
    outcome
}
