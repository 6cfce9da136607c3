//! The core itself: its clock, and the cheapest things it does.

use groma_harness::Benchmark;

mod atomic;
mod call;
mod frequency;
mod operation;
mod random;

pub(crate) const ALL: &[&Benchmark] =
    &[&frequency::BENCH, &call::BENCH, &operation::BENCH, &atomic::BENCH, &random::BENCH];
