//! The core itself: its clock, its cheapest instructions, and cache lines shared by two CPUs.

use groma_harness::sys::rates;
use groma_harness::{Benchmark, Ctx};

mod atomic;
mod boost;
mod branch;
mod call;
mod contention;
mod core_to_core;
mod false_sharing;
mod frequencies;
mod frequency;
mod operation;
mod pair;
mod random;
mod split;
mod store_forward;

pub(crate) const ALL: &[&Benchmark] = &[
    &frequency::BENCH,
    &frequencies::BENCH,
    &boost::BENCH,
    &call::BENCH,
    &operation::BENCH,
    &branch::BENCH,
    &store_forward::BENCH,
    &split::BENCH,
    &atomic::BENCH,
    &random::BENCH,
    &core_to_core::BENCH,
    &contention::BENCH,
    &false_sharing::BENCH,
];

/// Records the declared clocks of a CPU as facts: the highest as `declared`, and each by its
/// source.
fn declare_clock(ctx: &mut Ctx, cpu: u32) {
    let declared = rates::declared_core(cpu);
    if let Some((_, hz)) = declared.first() {
        ctx.fact("declared", hz);
    }
    for (name, hz) in declared {
        ctx.fact(&format!("clock.{}", name.replace(' ', "_")), hz);
    }
}

/// The median (the upper one of an even number of values); `None` without values.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
