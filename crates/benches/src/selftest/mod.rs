//! Tests of the harness itself: known lengths, and every way in which a benchmark can fail.
//!
//! None is part of a run unless it is named. Tests of the program run them and check states and
//! messages.

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

/// Additions per iteration of the filler loop.
const FILLER_OPS: u64 = 6_400;

/// The loop for benchmarks whose value does not matter, about 2 us per iteration.
fn filler(iters: u64) {
    for _ in 0..iters {
        groma_harness::sys::arch::add_chain(FILLER_OPS);
    }
}
