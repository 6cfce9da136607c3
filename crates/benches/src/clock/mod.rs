//! The harness's own instruments: the cost of reading the time, and the resolution of the clock.

use groma_harness::model::Family;
use groma_harness::model::family::{Figure, Row, Say, first};
use groma_harness::{Benchmark, Ctx};

mod read;
mod counter;
mod step;
mod rate;
mod offset;
mod r#loop;

pub(crate) static ABOUT: Family = Family {
    name: "clock",
    summary: "What reading the clocks costs, and how finely they tell the time",
    says: Say::Led(&[
        Say::Text("reading the clock costs {}", &[Figure::Value(first("clock.read"))]),
        Say::Text("; polled, it moves by {} at a time", &[Figure::Value(first("clock.step"))]),
    ]),
    rows: &[Row::CounterRate("clock.rate")],
};

pub(crate) const ALL: &[&Benchmark] = listed!("clock");

/// A clock that runs backwards disqualifies every result that was timed with it.
fn prove_forwards(ctx: &mut Ctx, backwards: u64) {
    ctx.prove("reads that ran backwards", "0", backwards as f64, 0.0..=0.0);
}
