//! Work that was done against work that is credited.
//!
//! The harness credits a loop with the iterations that it asked for; whether the loop did them only the loop can tell. So it
//! counts answers, pages, bytes: what an operation that did not happen would not have brought. Counting `iters` itself would
//! prove nothing.

use groma_harness::prelude::*;
use std::cell::Cell;

/// Operations that were seen to happen.
#[derive(Debug, Default)]
pub(crate) struct Done(Cell<u64>);

impl Done {
    /// None yet.
    pub(crate) fn new() -> Done {
        Done::default()
    }

    /// So many more were seen.
    pub(crate) fn add(&self, n: u64) {
        self.0.set(self.0.get() + n);
    }

    /// How many they are.
    pub(crate) fn count(&self) -> u64 {
        self.0.get()
    }

    /// Exactly one for each iteration that was credited.
    pub(crate) fn prove(&self, ctx: &mut Ctx, what: &str) {
        once_each(ctx, what, self.count(), ctx.iterations());
    }

    /// Exactly one for each iteration that the loop of this name was credited with.
    pub(crate) fn prove_of(&self, ctx: &mut Ctx, name: &str, what: &str) {
        once_each(ctx, what, self.count(), ctx.iterations_of(name));
    }
}

/// What was seen is as much as what is credited: `what` says of what, "calls answered, per call credited".
pub(crate) fn once_each(ctx: &mut Ctx, what: &str, seen: u64, credited: u64) {
    // No credit, no proof: 0 of 0 is not a number, and a proof that is none does not hold.
    ctx.prove(what, "exactly 1", seen as f64 / credited as f64, 1.0..=1.0);
}

/// As [`Ctx::probe`], of a body that tells how much it has done: `per_iter` for each iteration, or the round has failed.
pub(crate) fn probe(
    ctx: &mut Ctx,
    windows: u32,
    per_iter: u64,
    mut body: impl FnMut(u64) -> Result<u64, Stop>,
) -> Result<Cost, Stop> {
    let before = ctx.iterations();
    let mut done = 0;
    let cost = ctx.probe(windows, |iters| {
        done += body(iters)?;
        Ok(())
    })?;
    let credited = (ctx.iterations() - before) * per_iter;
    if done == credited {
        Ok(cost)
    } else {
        Err(Stop::Failed(format!("proof broken: a probe did {done} operations and was credited with {credited}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    static BENCH: Benchmark =
        Benchmark { info: Info { timing: Timing::Stated, ..Info::new("work.test") }, run: Run::Here(run) };

    fn run(ctx: &mut Ctx) -> Outcome {
        for (seen, credited) in [(100, 100), (50, 100), (99, 100), (101, 100), (200, 100), (0, 100), (0, 0), (1, 0)] {
            once_each(ctx, "calls", seen, credited);
        }
        Ok(())
    }

    #[test]
    fn only_as_much_as_was_credited_will_do() {
        let tried = match try_out(&BENCH, &[], None) {
            Ok(tried) => tried,
            Err(why) => panic!("{why}"),
        };
        let held: Vec<bool> = tried.result.proofs.iter().map(|p| p.holds).collect();
        assert_eq!(held, [true, false, false, false, false, false, false, false]);
    }
}
