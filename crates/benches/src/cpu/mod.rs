//! The core itself: its clock, and the cheapest things it does.

use groma_harness::Benchmark;

mod call;
mod frequency;
mod operation;

pub(crate) const ALL: &[&Benchmark] = &[&frequency::BENCH, &call::BENCH, &operation::BENCH];
