//! The futex call with nothing to do: no waiter to wake, or a word that has already changed.
//!
//! **Measures:** FUTEX_WAKE that wakes nobody and FUTEX_WAIT that does not wait: the entry into the
//! kernel, the lookup of the word, and its bucket of waiters. Locks make these calls when they lose
//! a race.
//!
//! **Does not measure:** A wake-up (`ipc.futex_rtt`).
//!
//! **Method:** Many calls by number in one short interval. Every wake must return 0 and every wait
//! EAGAIN. The word is looked up as private to the process, or as shared between processes, which
//! takes the kernel longer. With `object=shared` all members of a worker group use one word in a
//! mapped file, and therefore one bucket. The proof is the same loop in a child cut off from the
//! kernel.
//!
//! **Calls:**
//! - `op=wake key=private`: `FUTEX_WAKE_PRIVATE`, not `FUTEX_WAIT`
//! - `op=wake key=shared`: `FUTEX_WAKE,`, not `FUTEX_WAKE_PRIVATE`
//! - `op=wait key=private`: `FUTEX_WAIT_PRIVATE`, not `FUTEX_WAKE`
//! - `op=wait key=shared`: `FUTEX_WAIT,`, not `FUTEX_WAIT_PRIVATE`
//!
//! **Pitfalls:**
//! - A wake of a word without waiters does not take its bucket's lock.
//! - Kernels since 6.16 have a futex table per process.
//!
//! **Sources:** will-it-scale `futex1` to `futex4`. See docs/methods/operating-system.md#locks.

use super::{OBJECT, shared_file};
use crate::work::{ANSWERED, Done, measure_calls};
use groma_harness::prelude::*;
use groma_harness::sys::shared::Shared;
use groma_harness::sys::sync::{Key, OTHER_VALUE, futex_wait, futex_wake};
use std::sync::atomic::AtomicU32;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Futex call with nothing to do: no waiter, or a changed word",
        about: about!("futex.rs"),
        iteration: "one call",
        params: &[
            Param::word("op", "wake nobody, or wait on a word that has changed", &["wake", "wait"]).quick(&["wake"]),
            Param::word(
                "key",
                "how the kernel looks up the futex word: private to the process, or shared between processes",
                &["private", "shared"],
            )
            .quick(&["private"]),
            OBJECT,
        ],
        needs: &[Need::WorkDir],
        ..Info::new("lock.futex")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let key = if ctx.word("key") == "private" { Key::Private } else { Key::Shared };
    let words = match shared_file(ctx)? {
        Some(file) => Shared::<AtomicU32>::in_file(&file, 1),
        None => Shared::<AtomicU32>::new(1),
    };
    let words = words.context("mapping the word")?;
    let word = &words[0];
    if ctx.word("op") == "wake" {
        let call = || futex_wake(word, key);
        measure(ctx, 0, call)
    } else {
        let call = || futex_wait(word, 1, key);
        measure(ctx, OTHER_VALUE, call)
    }
}

/// Measures a call that must return `expected`.
fn measure(ctx: &mut Ctx, expected: isize, call: impl Fn() -> isize) -> Outcome {
    let done = Done::new();
    measure_calls(ctx, ANSWERED, &done, |iters| {
        let (mut wrong, mut right) = (None, 0);
        for _ in 0..iters {
            let answer = call();
            if answer == expected {
                right += 1;
            } else {
                wrong = Some(answer);
            }
        }
        done.add(right);
        match wrong {
            None => Ok(()),
            Some(answer) => Err(BenchError::Failed(format!("futex returned {answer}, not {expected}"))),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::scratch::testing::Place;
    use groma_harness::model::WorkerKind;
    use groma_harness::testing::try_group;

    #[test]
    fn a_worker_group_shares_a_word() {
        let place = Place::new();
        let chosen = [("key", "shared"), ("object", "shared")];
        for kind in [WorkerKind::Processes, WorkerKind::Threads] {
            let tried = try_group(&BENCH, &chosen, Some(place.path()), 2, kind).expect("a worker group");
            assert!(tried.samples("") >= 1);
        }
        std::fs::remove_file(place.path().join("object")).expect("the object that was shared");
    }
}
