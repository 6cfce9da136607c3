//! Work that was done, compared with work that is credited.
//!
//! The harness credits a loop with the iterations that it asked for; only the loop can tell whether
//! it did them. So a loop counts what only a completed operation leaves behind: answers, pages,
//! bytes. Counting `iters` itself would prove nothing. See
//! docs/methods/operating-system.md#rules-for-every-metric.

use crate::entry;
use groma_harness::model::FIRST;
use groma_harness::prelude::*;
use groma_harness::sys::arch;
use groma_harness::sys::clock::{Clock, Monotonic};
use std::cell::Cell;

/// What an interactive program pays for a round trip: the median of the first trips of a fresh pair
/// of processes, which the harness states.
pub(crate) const FIRST_TRIPS: Output =
    Output::named(FIRST, "the first 32 trips of a fresh pair, before the system has adapted to them");

/// Operations that have been observed.
#[derive(Debug, Default)]
pub(crate) struct Done(Cell<u64>);

impl Done {
    /// Starts at 0.
    pub(crate) fn new() -> Done {
        Done::default()
    }

    /// Adds `n` observed operations.
    pub(crate) fn add(&self, n: u64) {
        self.0.set(self.0.get() + n);
    }

    /// The number observed so far.
    pub(crate) fn count(&self) -> u64 {
        self.0.get()
    }

    /// Proves exactly one operation for each iteration that was credited.
    pub(crate) fn prove(&self, ctx: &mut Ctx, what: &str) {
        once_each(ctx, what, self.count(), ctx.iterations());
    }

    /// Proves exactly one operation for each iteration that the variant `name` was credited with.
    pub(crate) fn prove_of(&self, ctx: &mut Ctx, name: &str, what: &str) {
        once_each(ctx, what, self.count(), ctx.iterations_of(name));
    }
}

/// Proves that each credited operation was seen exactly once. `what` names the ratio: "calls
/// answered, per call credited".
pub(crate) fn once_each(ctx: &mut Ctx, what: &str, seen: u64, credited: u64) {
    // Without credit the proof fails: 0 / 0 is NaN, which is in no range.
    ctx.prove(what, "exactly 1", seen as f64 / credited as f64, 1.0..=1.0);
}

/// Additions of a probe: about 50 us at 3 GHz.
const PROBE: u64 = 150_016;
/// Probes, of which the fastest counts.
const PROBES: u32 = 20;

/// The nanoseconds of an addition of [`arch::add_chain`] at this moment: what work of a given
/// length is made of. Not of a loop in Rust, which the compiler lays out anew wherever it stands:
/// one took 8 % less time where it worked than where it had been measured.
pub(crate) fn addition_ns() -> f64 {
    let one = |_| {
        let from = Monotonic.now_ns();
        arch::add_chain(PROBE);
        Monotonic.now_ns() - from
    };
    (0..PROBES).map(one).min().unwrap_or(0).max(1) as f64 / arch::chain_ops(PROBE) as f64
}

/// The additions that take nearest to `ns` nanoseconds: a multiple of [`arch::CHAIN_UNROLL`], and
/// none for 0 alone.
pub(crate) fn additions_for(ns: u64, addition_ns: f64) -> u64 {
    let turns = (ns as f64 / addition_ns / arch::CHAIN_UNROLL as f64).round() as u64;
    if ns == 0 { 0 } else { turns.max(1).saturating_mul(arch::CHAIN_UNROLL) }
}

/// The proof of most loops of system calls.
pub(crate) const ANSWERED: &str = "calls answered as they should be, per call credited";

/// Measures a system call that should return `WANTED`; a negative answer is an error number. Proves
/// one right answer for each call credited, and that every call enters the kernel. `what` is what
/// an error says was tried; `proof` names the ratio, as in [`once_each`].
///
/// `WANTED` is a constant of the loop, so that the compiler can compare with an immediate.
pub(crate) fn calls<const WANTED: isize>(
    ctx: &mut Ctx,
    what: &str,
    proof: &str,
    mut call: impl FnMut() -> isize,
) -> Outcome {
    let done = Done::new();
    let seen = &done;
    measure_calls(ctx, proof, &done, move |iters| {
        #[expect(clippy::redundant_closure, reason = "`&mut call` would load each captured reference in every turn")]
        let (least, right) = least_of(iters, WANTED, || call());
        seen.add(right);
        all_gave(WANTED, least, what)
    })
}

/// As [`calls`], for a call that returns whether its answer was right.
pub(crate) fn checked_calls(ctx: &mut Ctx, what: &str, proof: &str, mut call: impl FnMut() -> bool) -> Outcome {
    let done = Done::new();
    let seen = &done;
    measure_calls(ctx, proof, &done, move |iters| {
        #[expect(clippy::redundant_closure, reason = "`&mut call` would load each captured reference in every turn")]
        let right = right_of(iters, || call());
        seen.add(right);
        if right == iters {
            Ok(())
        } else {
            Err(BenchError::Failed(format!("{what}: {} of {iters} answers were wrong", iters - right)))
        }
    })
}

/// Measures a loop of system calls that counts in `done` what it did, and proves the same as
/// [`calls`].
pub(crate) fn measure_calls(ctx: &mut Ctx, proof: &str, done: &Done, mut body: impl FnMut(u64) -> Outcome) -> Outcome {
    ctx.measure(&mut body)?;
    done.prove(ctx, proof);
    entry::asks_the_kernel(ctx, body);
    Ok(())
}

/// Calls `iters` times; returns the smallest answer, at most `wanted`, and how many were `wanted`.
#[inline(always)]
pub(crate) fn least_of<T: Ord + Copy>(iters: u64, wanted: T, mut call: impl FnMut() -> T) -> (T, u64) {
    let (mut least, mut right) = (wanted, 0);
    for _ in 0..iters {
        let answer = call();
        least = answer.min(least);
        right += u64::from(answer == wanted);
    }
    (least, right)
}

/// Calls `iters` times; returns how many answers were right.
#[inline(always)]
pub(crate) fn right_of(iters: u64, mut call: impl FnMut() -> bool) -> u64 {
    let mut right = 0;
    for _ in 0..iters {
        right += u64::from(call());
    }
    right
}

/// The outcome of calls that should all return `wanted`. `least` is the smallest answer: a negative
/// error number, or too small a count.
pub(crate) fn all_gave(wanted: isize, least: isize, what: &str) -> Outcome {
    if least == wanted {
        Ok(())
    } else if least < 0 {
        Err(BenchError::from_io(what, &std::io::Error::from_raw_os_error(-least as i32)))
    } else {
        Err(BenchError::Failed(format!("{what}: {least} instead of {wanted}")))
    }
}

/// As [`Ctx::probe`], for a body that returns the number of operations done. Unless that is
/// `per_iter` for each iteration, the round fails.
pub(crate) fn probe(
    ctx: &mut Ctx,
    windows: u32,
    per_iter: u64,
    body: impl FnMut(u64) -> Result<u64, BenchError>,
) -> Result<Cost, BenchError> {
    probe_at_most(ctx, windows, u64::MAX, per_iter, body)
}

/// As [`probe`], with windows of at most `most` iterations.
pub(crate) fn probe_at_most(
    ctx: &mut Ctx,
    windows: u32,
    most: u64,
    per_iter: u64,
    mut body: impl FnMut(u64) -> Result<u64, BenchError>,
) -> Result<Cost, BenchError> {
    let before = ctx.iterations();
    let mut done = 0;
    let cost = ctx.probe_at_most(windows, most, |iters| {
        done += body(iters)?;
        Ok(())
    })?;
    let credited = (ctx.iterations() - before) * per_iter;
    if done == credited {
        Ok(cost)
    } else {
        Err(BenchError::Failed(format!("proof broken: a probe did {done} operations and was credited with {credited}")))
    }
}

#[cfg(test)]
mod tests {
    //! What the shared proofs refuse: each is given a bad value and must detect it.
    use super::*;
    use crate::proofs;
    use groma_harness::sys::counters::{self, Usage};
    use groma_harness::sys::process::Exit;
    use groma_harness::sys::{affinity, fork, raw};
    use groma_harness::testing::{Tried, stating, try_failing};

    /// One round of this benchmark.
    fn round(run: fn(&mut Ctx) -> Outcome) -> Tried {
        match try_failing(&stating(run), &[], None) {
            Ok(tried) => tried,
            Err(why) => panic!("{why}"),
        }
    }

    /// Which of its proofs hold, in order.
    fn proofs_held(run: fn(&mut Ctx) -> Outcome) -> Vec<bool> {
        round(run).proofs_held("")
    }

    /// A child that exited with this code and never slept.
    fn exit_with(code: i32) -> Exit {
        fork::fork(move || code).expect("fork").wait().expect("wait")
    }

    #[test]
    fn less_or_more_than_credited_breaks_the_proof() {
        fn run(ctx: &mut Ctx) -> Outcome {
            for (seen, credited) in [(100, 100), (50, 100), (99, 100), (101, 100), (200, 100), (0, 100), (0, 0), (1, 0)]
            {
                once_each(ctx, "calls", seen, credited);
            }
            ctx.state(1.0);
            Ok(())
        }
        assert_eq!(proofs_held(run), [true, false, false, false, false, false, false, false]);
    }

    #[test]
    fn one_wrong_answer_ends_the_round() {
        assert_eq!(all_gave(1, 1, "reading"), Ok(()));
        assert_eq!(all_gave(1, 0, "reading"), Err(BenchError::Failed("reading: 0 instead of 1".to_owned())));
        assert!(matches!(all_gave(0, -9, "reading"), Err(BenchError::Failed(why)) if why.contains("os error 9")));
        let mut answers = [1, -9, 1, 0, -4].into_iter();
        assert_eq!(least_of(4, 1, || answers.next().unwrap_or_default()), (-9, 2));
        let mut answers = [true, false, true, true].into_iter();
        assert_eq!(right_of(3, || answers.next().unwrap_or_default()), 2);
    }

    #[test]
    fn work_is_as_long_as_it_is_to_be() {
        assert_eq!([0, 1, 100, 1000].map(|ns| additions_for(ns, 0.25)), [0, 64, 384, 4032]);
        // Of two stretches of the same length, the longer one was interrupted.
        let additions = additions_for(100_000, addition_ns());
        let took = |_| {
            let from = Monotonic.now_ns();
            arch::add_chain(additions);
            Monotonic.now_ns() - from
        };
        let least = (0..100).map(took).min().expect("some") as f64 / 100_000.0;
        assert!((0.5..2.0).contains(&least), "{least} of the time asked for");
    }

    #[test]
    fn a_probe_that_does_less_or_more_fails() {
        fn probes(ctx: &mut Ctx) -> Outcome {
            let outcomes = [1, 2, 3, 0].map(|each| {
                probe(ctx, 2, 2, |iters| {
                    (0..iters).for_each(|_| std::hint::spin_loop());
                    Ok(each * iters)
                })
                .is_ok()
            });
            assert_eq!(outcomes, [false, true, false, false]);
            ctx.state(1.0);
            Ok(())
        }
        round(probes);
    }

    #[test]
    fn only_exit_code_0_of_the_peer_holds() {
        fn run(ctx: &mut Ctx) -> Outcome {
            for code in [0, 1, 2, 101] {
                proofs::peer_ended_well(ctx, &exit_with(code));
            }
            let mut killed = fork::fork(|| {
                loop {
                    std::thread::park()
                }
            })
            .expect("fork");
            sys::process::kill(killed.pid());
            while killed.poll().expect("wait").is_none() {
                std::thread::yield_now();
            }
            proofs::peer_ended_well(ctx, &killed.wait().expect("wait"));
            ctx.state(1.0);
            Ok(())
        }
        assert_eq!(proofs_held(run), [true, false, false, false, false]);
    }

    #[test]
    fn sides_that_never_slept_break_the_proof() {
        fn run(ctx: &mut Ctx) -> Outcome {
            let before = Usage::thread();
            ctx.probe(1, |iters| {
                (0..iters).for_each(|_| std::hint::spin_loop());
                Ok(())
            })?;
            proofs::switches(ctx, &before, &exit_with(0));
            ctx.state(1.0);
            Ok(())
        }
        assert_eq!(proofs_held(run), [false]);
    }

    #[test]
    fn tasks_that_were_not_created_break_the_proof() {
        fn run(ctx: &mut Ctx) -> Outcome {
            // The kernel counts all tasks of the machine, but others do not create one per
            // iteration.
            let before = counters::tasks_created();
            ctx.probe(1, |iters| {
                (0..iters).for_each(|_| std::hint::spin_loop());
                Ok(())
            })?;
            proofs::tasks_created(ctx, before);
            ctx.state(1.0);
            Ok(())
        }
        if counters::tasks_created().is_none() {
            return eprintln!("skipped: the kernel does not say how many tasks it has made");
        }
        assert_eq!(proofs_held(run), [false]);
    }

    #[test]
    fn half_of_the_calls_break_the_proof() {
        fn half(ctx: &mut Ctx) -> Outcome {
            let mut turn = 0;
            // Enters the kernel every second time.
            entry::asks_the_kernel(ctx, |_| {
                turn += 1;
                if turn % 2 == 0 || raw::getppid() >= 0 {
                    Ok(())
                } else {
                    Err(BenchError::Failed("no kernel".to_owned()))
                }
            });
            entry::asks_the_kernel(ctx, |_| Ok(()));
            ctx.state(1.0);
            Ok(())
        }
        let tried = round(half);
        if tried.result.output.proofs.is_empty() {
            return eprintln!("skipped: {:?}", tried.result.output.remarks);
        }
        let seen: Vec<(f64, bool)> = tried.result.output.proofs.iter().map(|p| (p.seen, p.holds)).collect();
        assert_eq!(seen, [(50.0, false), (0.0, false)]);
    }

    #[test]
    fn one_call_that_enters_the_kernel_is_unsupported() {
        fn once(ctx: &mut Ctx) -> Outcome {
            let mut turn = 0;
            entry::never_asks_the_kernel(ctx, |_| {
                turn += 1;
                if turn != 50 || raw::getppid() >= 0 { Ok(()) } else { Err(BenchError::Failed("no kernel".to_owned())) }
            })?;
            ctx.state(1.0);
            Ok(())
        }
        match try_failing(&stating(once), &[], None) {
            Err(BenchError::Unsupported(why)) => assert!(why.contains("entered"), "{why}"),
            Ok(tried) if tried.result.output.proofs.is_empty() => {
                eprintln!("skipped: {:?}", tried.result.output.remarks)
            }
            other => panic!("{other:?}"),
        }
        assert!(!affinity::allowed().expect("an affinity").is_empty());
    }
}
