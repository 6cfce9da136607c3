//! Timers: how late a sleep ends.

use groma_harness::Benchmark;

mod sleep;

pub(crate) const ALL: &[&Benchmark] = &[&sleep::BENCH];
