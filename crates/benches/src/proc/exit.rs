//! The end of a process: from its last instruction until its parent's wait returns.
//!
//! **Measures:** `exit_group` of a child that does nothing else any more, the teardown of its
//! address space, the wake-up of its parent, and `wait4`.
//!
//! **Does not measure:** The creation of the child, which happens before, and the little that the
//! kernel does later, when it frees what is left of the task.
//!
//! **Method:** A batch of children is forked before anything is timed. Each touches as much memory
//! as `resident` says and sleeps on a word of shared memory. Then each child is released alone, so
//! that no exit overlaps with another; it writes a time stamp to shared memory and exits. The value
//! is the time from the stamp to the return of the wait, all on one CPU, and so excludes the
//! release.
//!
//! **Calls:**
//! - `resident=1M`: `wait4(`, not `munmap(`; a process that unmapped its memory first would exit
//!   faster
//! - `resident=1M`: `madvise(.., 1048576, MADV_POPULATE_WRITE)`
//!
//! **Proofs:** The exit code of each child, and its page faults, one for each page that it has to
//! touch. A stamp outside the interval from the release to the wait is a failure.
//!
//! **Pitfalls:**
//! - Fork and exit timed together are not exit.
//! - Children of unequal size give unequal values.
//! - Memory that is mapped but not touched: freeing it costs nothing.
//! - Huge pages: they are freed 512 times as fast, so the benchmark refuses them.
//!
//! **Sources:** libMicro `exit`, which releases a whole batch at once. See
//! docs/methods/operating-system.md#processes.

use super::{Children, GOOD, PROCESSES, no_child};
use groma_harness::prelude::*;
use groma_harness::sys::clock::{Clock, Monotonic};
use groma_harness::sys::fork::{self, Child};
use groma_harness::sys::pages::{Map, Policy, page_size};
use groma_harness::sys::process;
use groma_harness::sys::shared::{Shared, Word};
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "The end of a process: from its exit until its parent has waited",
        about: about!("exit.rs"),
        iteration: "one child: _exit, the return of wait4",
        timing: Timing::Each,
        params: &[Param::size("resident", "bytes that the child has touched beyond what it got from its parent")
            .takes(Memory::PerMember(BATCH as u64))
            .quick(&["0"])
            .full(&["1M", "16M", "64M"])],
        scaling: PROCESSES,
        interference: Interference::Tasks,
        target_half_width: 0.03,
        tier: Tier::Standard,
        version: 2,
        ..Info::new("proc.exit")
    },
    run: Run::Here(run),
};

/// Children that sleep at the same time: as many operations as the harness times between two
/// readings of its counters.
const BATCH: usize = 8;
/// Exit code of a child that could not map its memory.
const EXIT_WITHOUT_MEMORY: i32 = 43;

fn run(ctx: &mut Ctx) -> Outcome {
    process::refuse_huge_pages();
    let resident = ctx.int("resident");
    let mut parked = Parked::new(resident as usize)?;
    let children = Children::new();
    ctx.measure_staged(|iters, watch| {
        for _ in 0..iters {
            let (child, i) = parked.next()?;
            let released = watch.now_ns();
            parked.release(i);
            let exit = child.wait().context("waiting for the child")?;
            let waited = watch.now_ns();
            let left = parked.stamp(i);
            children.count_exit(&exit)?;
            let Some((from, to)) = since_end(released, left, waited) else {
                return Err(BenchError::Failed(format!("a child left at {left}, not within {released}..{waited} ns")));
            };
            watch.span(from, to);
        }
        Ok(())
    })?;
    children.prove(ctx);
    let pages = resident / page_size() as u64;
    children.prove_faults(ctx, "one a page that they were to touch, or more", pages as f64);
    Ok(())
}

/// From the last instruction of a child to the end of the wait; `None` where its stamp is not
/// within the time since it was released.
fn since_end(released: u64, left: u64, waited: u64) -> Option<(u64, u64)> {
    (released..=waited).contains(&left).then_some((left, waited))
}

/// State of a child that does not sleep yet.
const STARTING: u32 = 0;
const ASLEEP: u32 = 1;
const RELEASED: u32 = 2;

/// Children that sleep until they are released, each on a word of its own. Dropping this ends those
/// that were never released.
struct Parked {
    resident: usize,
    words: Shared<Word>,
    stamps: Shared<AtomicU64>,
    children: Vec<Child>,
}

impl Parked {
    fn new(resident: usize) -> Result<Parked, BenchError> {
        let words = Shared::new(BATCH).context("mapping shared memory")?;
        let stamps = Shared::new(BATCH).context("mapping shared memory")?;
        Ok(Parked { resident, words, stamps, children: Vec::with_capacity(BATCH) })
    }

    /// A sleeping child and its index.
    fn next(&mut self) -> Result<(Child, usize), BenchError> {
        if self.children.is_empty() {
            self.fill()?;
        }
        let Some(child) = self.children.pop() else { unreachable!("there is a batch of them now") };
        Ok((child, self.children.len()))
    }

    /// Forks a whole batch and waits until all children sleep.
    fn fill(&mut self) -> Outcome {
        for i in 0..BATCH {
            self.words[i].store(STARTING, Ordering::Relaxed);
            self.stamps[i].store(0, Ordering::Relaxed);
            let child = fork::fork(|| self.life(i));
            self.children.push(child.map_err(|e| no_child(&format!("making child {} of {BATCH}", i + 1), &e))?);
        }
        for (child, word) in self.children.iter_mut().zip(self.words.iter()) {
            word.wait_until(
                |state| state != STARTING,
                || match child.poll().context("polling a child")? {
                    None => Ok(()),
                    Some(exit) => {
                        let kind = if exit.code() == Some(EXIT_WITHOUT_MEMORY) {
                            BenchError::Denied
                        } else {
                            BenchError::Failed
                        };
                        Err(kind(format!("a child that was to wait {exit}")))
                    }
                },
            )?;
        }
        Ok(())
    }

    /// The body of a child; returns its exit code.
    fn life(&self, i: usize) -> i32 {
        let Ok(mut memory) = Map::anonymous(self.resident.max(1), Policy::Base) else { return EXIT_WITHOUT_MEMORY };
        if self.resident > 0 {
            memory.populate();
        }
        let word = &self.words[i];
        word.set(ASLEEP);
        word.wait_while(ASLEEP);
        // The exit has to free the memory, not `drop`.
        std::mem::forget(memory);
        self.stamps[i].store(Monotonic.now_ns(), Ordering::Relaxed);
        i32::from(GOOD)
    }

    fn release(&self, i: usize) {
        self.words[i].set(RELEASED);
    }

    /// The time at which child `i` exited.
    fn stamp(&self, i: usize) -> u64 {
        self.stamps[i].load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use groma_harness::testing::try_group;

    #[test]
    fn a_worker_group_has_children_each() {
        let kind = groma_harness::model::WorkerKind::Processes;
        let tried = try_group(&BENCH, &[], None, 2, kind).expect("two members");
        assert_eq!(tried.proven("children that left with code 42, per iteration"), 1.0);
    }

    /// The release of a child and its way out of its sleep are not its end.
    #[test]
    fn the_end_of_a_life_is_that_behind_the_stamp() {
        assert_eq!(since_end(10, 13, 20), Some((13, 20)));
        let is_within = [10, 20, 9, 21, 0].map(|left| since_end(10, left, 20).is_some());
        assert_eq!(is_within, [true, true, false, false, false]);
    }

    /// What the batch before has left in the words would let a child be released that still starts.
    #[test]
    fn each_batch_is_asleep_before_the_first_of_it_is_released() {
        let mut parked = Parked::new(0).expect("memory");
        for _ in 0..2 * BATCH {
            let (child, i) = parked.next().expect("children");
            assert!(parked.words[..=i].iter().all(|word| word.load(Ordering::SeqCst) == ASLEEP));
            assert!(parked.stamps[..=i].iter().all(|stamp| stamp.load(Ordering::SeqCst) == 0));
            parked.release(i);
            assert_eq!(child.wait().expect("wait").code(), Some(i32::from(GOOD)));
            assert!(parked.stamp(i) > 0);
        }
    }

    #[test]
    fn children_that_nobody_releases_are_gone_with_their_owner() {
        let mut parked = Parked::new(0).expect("memory");
        let (child, i) = parked.next().expect("children");
        let others: Vec<i32> = parked.children.iter().map(Child::pid).collect();
        assert_eq!((others.len(), i), (BATCH - 1, BATCH - 1));
        drop((child, parked));
        assert!(others.into_iter().all(|pid| process::reap(pid).is_err()));
    }
}
