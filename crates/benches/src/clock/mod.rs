//! The harness's own instruments: the cost of reading the time, and the resolution of the clock.

use groma_harness::{Benchmark, Ctx};

mod counter;
mod r#loop;
mod offset;
mod rate;
mod read;
mod step;

pub(crate) const ALL: &[&Benchmark] =
    &[&read::BENCH, &counter::BENCH, &step::BENCH, &rate::BENCH, &offset::BENCH, &r#loop::BENCH];

/// A clock that runs backwards disqualifies every result that was timed with it.
fn prove_forwards(ctx: &mut Ctx, backwards: u64) {
    ctx.prove("reads that ran backwards", "0", backwards as f64, 0.0..=0.0);
}
