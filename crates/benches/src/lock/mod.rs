//! Locks and semaphores that nobody contends for.

use groma_harness::Benchmark;

pub(crate) const ALL: &[&Benchmark] = &[];
