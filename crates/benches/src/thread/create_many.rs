//! Many threads alive at once: created one after another, held until all exist, released, joined.
//!
//! **Measures:** The cost per thread of starting a pool of threads and shutting it down. Each
//! thread sleeps at a gate and is woken, which `thread.create_join` does not include. The threads
//! are Rust's (libc's plus a shared result), with stacks of 64 KiB.
//!
//! **Does not measure:** Threads that work while others are still being created.
//!
//! **Method:** One operation is the life of all threads, from before the first is created to after
//! the last is joined, on their creator's CPU, divided by their number. The gate is a word on which
//! they sleep. It opens when all have arrived, so they are provably alive together.
//!
//! **Proofs:** All threads arrive before the gate opens, each answers with its own number, and the
//! kernel's count of tasks agrees.
//!
//! **Pitfalls:**
//! - Above 640 threads with this stack size, glibc cannot keep all stacks (40 MiB), and some are
//!   new each time.
//! - A limit on tasks may be reached half way, which would leave the other threads asleep for ever;
//!   the gate then opens all the same.
//!
//! **Sources:** No paper measures it. See docs/methods/operating-system.md#threads.

use super::STACK;
use crate::proofs;
use groma_harness::prelude::*;
use groma_harness::sys::shared::{wait, wake};
use groma_harness::sys::{counters, process, thread};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Creating and joining many threads that live at once, per thread",
        about: about!("create_many.rs"),
        iteration: "all threads: created, at the gate, released, joined",
        timing: Timing::Each,
        params: &[Param::count("threads", "threads alive at once")
            .takes(Memory::PerMember(STACK as u64 + (32 << 10)))
            .quick(&["16"])
            .full(&["1", "4", "64", "256", "1024"])],
        interference: Interference::Tasks,
        target_half_width: 0.03,
        tier: Tier::Standard,
        version: 2,
        ..Info::new("thread.create_many")
    },
    run: Run::Here(run),
};

/// How long to sleep before checking again while threads start; the last one wakes the sleeper.
const PATIENCE: Duration = Duration::from_millis(20);

/// Where threads wait until all have arrived.
#[derive(Default)]
struct Gate {
    come: AtomicU32,
    open: AtomicU32,
}

impl Gate {
    /// The body of a thread: arrives, sleeps until the gate opens, answers.
    fn pass(&self, number: u32, all: u32) -> u32 {
        if self.come.fetch_add(1, Ordering::AcqRel) + 1 == all {
            wake(&self.come);
        }
        while self.open.load(Ordering::Acquire) == 0 {
            wait(&self.open, 0, None);
        }
        number + 1
    }

    /// Waits until `all` threads have arrived.
    fn await_all(&self, all: u32) {
        loop {
            match self.come.load(Ordering::Acquire) {
                come if come == all => return,
                come => wait(&self.come, come, Some(PATIENCE)),
            }
        }
    }

    fn open(&self) {
        self.open.store(1, Ordering::Release);
        wake(&self.open);
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    process::refuse_huge_pages();
    let all = u32::try_from(ctx.int("threads")).unwrap_or(u32::MAX);
    if all == 0 {
        return Err(BenchError::Unsupported("one thread at least".to_owned()));
    }
    let tasks = counters::tasks_created();
    let (mut answered, mut threads) = (0u64, Vec::with_capacity(all.min(4096) as usize));
    let lives = Variant::new("", |iters| {
        for _ in 0..iters {
            answered += together(all, &mut threads)?;
        }
        Ok(())
    });
    ctx.measure_variants(&mut [lives.per_iter(f64::from(all))])?;
    let each = answered as f64 / ctx.iterations() as f64;
    ctx.prove("threads that came and answered, per iteration", "all of them", each, f64::from(all)..=f64::from(all));
    proofs::tasks_created(ctx, tasks);
    Ok(())
}

/// Runs `all` threads from creation to join; returns how many answered correctly.
fn together(all: u32, threads: &mut Vec<JoinHandle<u32>>) -> Result<u64, BenchError> {
    let gate = Arc::new(Gate::default());
    let mut made = Ok(());
    for number in 0..all {
        let theirs = Arc::clone(&gate);
        match thread::spawn(STACK, move || theirs.pass(number, all)) {
            Ok(thread) => threads.push(thread),
            Err(e) => {
                made = Err(BenchError::no_task(&format!("making thread {} of {all}", number + 1), &e));
                break;
            }
        }
    }
    release(&gate, all, made.is_ok());
    let good = |(number, thread): (usize, JoinHandle<u32>)| thread.join().is_ok_and(|n| n as usize == number + 1);
    let good = threads.drain(..).enumerate().map(good).filter(|good| *good).count();
    made.map(|()| good as u64)
}

/// Opens the gate when all threads have come, or at once if not all were made.
#[inline]
fn release(gate: &Gate, all: u32, made: bool) {
    if made {
        gate.await_all(all);
    }
    gate.open();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that is counted is the same when each thread finds the gate open.
    #[test]
    fn the_gate_is_closed_until_the_last_thread_has_come() {
        let gate = Arc::new(Gate::default());
        let theirs = Arc::clone(&gate);
        let late = thread::spawn(STACK, move || {
            let is_open = |_| {
                std::thread::yield_now();
                theirs.open.load(Ordering::Acquire) > 0
            };
            let was_open = (0..10_000).any(is_open);
            theirs.pass(0, 1);
            was_open
        });
        release(&gate, 1, true);
        assert!(!late.expect("a thread").join().expect("no panic"));
        // Those that were made are let go when the others cannot be.
        let gate = Gate::default();
        release(&gate, 2, false);
        assert_eq!(gate.pass(0, 2), 1);
    }

    #[test]
    fn the_gate_opens_for_nobody_before_all_have_come() {
        let gate = Arc::new(Gate::default());
        let come = |number| {
            let theirs = Arc::clone(&gate);
            thread::spawn(STACK, move || theirs.pass(number, 2)).expect("a thread")
        };
        let first = come(0);
        while gate.come.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        assert!(!first.is_finished());
        let second = come(1);
        gate.await_all(2);
        assert!(!first.is_finished() && !second.is_finished());
        gate.open();
        assert_eq!((first.join().expect("the first"), second.join().expect("the second")), (1, 2));
    }
}
