//! The core itself: its clock, and the cheapest things it does.

use groma_harness::Benchmark;

mod call;
mod contention;
mod core_to_core;
mod false_sharing;
mod frequency;
mod pair;

pub(crate) const ALL: &[&Benchmark] =
    &[&frequency::BENCH, &call::BENCH, &core_to_core::BENCH, &contention::BENCH, &false_sharing::BENCH];
