//! Remote procedure calls.

use groma_harness::Benchmark;

pub(crate) const ALL: &[&Benchmark] = &[];
