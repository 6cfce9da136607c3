//! Sleeping: how late a timer is.

use groma_harness::Benchmark;

mod sleep;

pub(crate) const ALL: &[&Benchmark] = &[&sleep::BENCH];
