//! Asking the kernel through the rings of io_uring.

use groma_harness::Benchmark;

pub(crate) const ALL: &[&Benchmark] = &[];
