//! What the kernel lets a program do without entering it.

use groma_harness::Benchmark;

mod clock_gettime;

pub(crate) const ALL: &[&Benchmark] = &[&clock_gettime::BENCH];
