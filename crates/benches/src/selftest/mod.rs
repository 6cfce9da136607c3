//! Benchmarks of the harness itself: known lengths, and every way in which a benchmark can go wrong.
//!
//! None is part of a run unless it is named. Tests of the program run them and check state and wording.

use groma_harness::Benchmark;
use groma_harness::model::Family;
use groma_harness::model::family::Say;

mod add_chain;
mod broken_proof;
mod crash;
mod dead_member;
mod fork_after_thread;
mod hang;
mod missing_exec;
mod no_samples;
mod orphan;
mod panic;
mod print;
mod slow_member;
mod spin;

/// What the family says about itself.
pub(crate) static ABOUT: Family = Family {
    name: "selftest",
    summary: "Tests of the harness itself; only measured when named",
    says: Say::Nothing,
    rows: &[],
};

pub(crate) const ALL: &[&Benchmark] = &[
    &spin::BENCH,
    &add_chain::BENCH,
    &panic::BENCH,
    &crash::BENCH,
    &hang::BENCH,
    &print::BENCH,
    &fork_after_thread::BENCH,
    &no_samples::BENCH,
    &broken_proof::BENCH,
    &orphan::BENCH,
    &dead_member::BENCH,
    &slow_member::BENCH,
    &missing_exec::BENCH,
];

/// Operations of the loop that these benchmarks run where what they measure does not matter.
const FILLER_OPS: u64 = 6_400;

/// That loop, about 2 us an iteration.
fn filler(iters: u64) {
    for _ in 0..iters {
        groma_harness::sys::arch::add_chain(FILLER_OPS);
    }
}
