//! Tests of the harness itself: known lengths, and every way in which a benchmark can fail.
//!
//! None is part of a run unless it is named. Tests of the program run them and check states and
//! messages.

use groma_harness::Benchmark;
use groma_harness::model::Family;
use groma_harness::model::family::Say;

mod spin;
mod add_chain;
mod panic;
mod crash;
mod hang;
mod print;
mod fork_after_thread;
mod no_samples;
mod broken_proof;
mod orphan;
mod dead_member;
mod slow_member;
mod missing_exec;

pub(crate) static ABOUT: Family = Family {
    name: "selftest",
    summary: "Tests of the harness itself; only measured when named",
    says: Say::Nothing,
    rows: &[],
};

pub(crate) const ALL: &[&Benchmark] = listed!("selftest");

/// Additions per iteration of the filler loop.
const FILLER_OPS: u64 = 6_400;

/// The loop for benchmarks whose value does not matter, about 2 us per iteration.
fn filler(iters: u64) {
    for _ in 0..iters {
        groma_harness::sys::arch::add_chain(FILLER_OPS);
    }
}
