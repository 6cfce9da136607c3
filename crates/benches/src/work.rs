//! Work that was done, compared with work that is credited.
//!
//! The harness credits a loop with the iterations that it asked for; only the loop can tell whether
//! it did them. So a loop counts what only a completed operation leaves behind: answers, pages,
//! bytes. Counting `iters` itself would prove nothing. See
//! docs/methods/operating-system.md#rules-for-every-metric.

use groma_harness::model::FIRST;
use groma_harness::prelude::*;
use std::cell::Cell;

/// The output of a round trip that says what an interactive program pays: the median of the first
/// trips of a fresh pair of processes, which the harness states.
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

/// Proves that as many operations were seen as are credited. `what` names the ratio: "calls
/// answered, per call credited".
pub(crate) fn once_each(ctx: &mut Ctx, what: &str, seen: u64, credited: u64) {
    // Without credit the proof fails: 0 / 0 is NaN, which is in no range.
    ctx.prove(what, "exactly 1", seen as f64 / credited as f64, 1.0..=1.0);
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
    use crate::{entry, proofs};
    use groma_harness::sys::counters::{self, Usage};
    use groma_harness::sys::process::Exit;
    use groma_harness::sys::{affinity, fork, raw};
    use groma_harness::testing::{Tried, stating, try_failing};

    /// A round that does just that. The harness has then run no loop, or as many as it reports.
    fn round(run: fn(&mut Ctx) -> Outcome) -> Tried {
        match try_failing(&stating(run), &[], None) {
            Ok(tried) => tried,
            Err(why) => panic!("{why}"),
        }
    }

    /// Which of its proofs hold, in the order in which they were stated.
    fn held(run: fn(&mut Ctx) -> Outcome) -> Vec<bool> {
        round(run).held("")
    }

    /// A child that exited with this code and never slept.
    fn ended(code: i32) -> Exit {
        fork::fork(move || code).expect("fork").wait().expect("wait")
    }

    #[test]
    fn only_as_much_as_was_credited_will_do() {
        fn run(ctx: &mut Ctx) -> Outcome {
            for (seen, credited) in [(100, 100), (50, 100), (99, 100), (101, 100), (200, 100), (0, 100), (0, 0), (1, 0)]
            {
                once_each(ctx, "calls", seen, credited);
            }
            ctx.state(1.0);
            Ok(())
        }
        assert_eq!(held(run), [true, false, false, false, false, false, false, false]);
    }

    #[test]
    fn a_probe_that_does_less_or_more_has_failed() {
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
    fn the_exit_code_of_the_other_side_has_to_be_0() {
        fn run(ctx: &mut Ctx) -> Outcome {
            for code in [0, 1, 2, 101] {
                proofs::peer_ended_well(ctx, &ended(code));
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
        assert_eq!(held(run), [true, false, false, false, false]);
    }

    #[test]
    fn a_side_that_never_slept_was_not_talked_to() {
        fn run(ctx: &mut Ctx) -> Outcome {
            let before = Usage::thread();
            ctx.probe(1, |iters| {
                (0..iters).for_each(|_| std::hint::spin_loop());
                Ok(())
            })?;
            proofs::switches(ctx, &before, &ended(0));
            ctx.state(1.0);
            Ok(())
        }
        assert_eq!(held(run), [false]);
    }

    #[test]
    fn tasks_that_were_not_made_are_missed() {
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
        assert_eq!(held(run), [false]);
    }

    #[test]
    fn half_of_the_calls_are_not_all() {
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
    fn one_call_that_asks_the_kernel_is_one_too_many() {
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
