//! Threads.

use groma_harness::Benchmark;

mod create_join;

pub(crate) const ALL: &[&Benchmark] = &[&create_join::BENCH];
