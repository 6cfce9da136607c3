//! Virtual memory: what it costs to get the pages of a mapping.

use groma_harness::Benchmark;

mod fault;

pub(crate) const ALL: &[&Benchmark] = &[&fault::BENCH];
