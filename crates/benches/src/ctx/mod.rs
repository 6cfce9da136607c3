//! Handing the CPU from one task to another.

use groma_harness::Benchmark;

mod switch;

pub(crate) const ALL: &[&Benchmark] = &[&switch::BENCH];
