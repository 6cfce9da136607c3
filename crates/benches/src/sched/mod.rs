//! The scheduler: wake-ups, noise, fairness.

use groma_harness::Benchmark;

pub(crate) const ALL: &[&Benchmark] = &[];
