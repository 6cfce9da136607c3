//! Disks, through files by default.

use groma_harness::Benchmark;

pub(crate) const ALL: &[&Benchmark] = &[];
