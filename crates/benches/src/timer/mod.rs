//! Sleeping: how late a timer is.

use groma_harness::Benchmark;

pub(crate) const ALL: &[&Benchmark] = &[];
