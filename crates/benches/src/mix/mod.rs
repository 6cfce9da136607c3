//! Mixtures of operations, as programs make them: not storage tests.

use groma_harness::Benchmark;

pub(crate) const ALL: &[&Benchmark] = &[];
