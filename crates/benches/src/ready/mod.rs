//! Asking which of many descriptors are ready.

use groma_harness::Benchmark;

pub(crate) const ALL: &[&Benchmark] = &[];
