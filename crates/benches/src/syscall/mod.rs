//! System calls, by number through our own instruction: the kernel's part and nothing of libc's.

use groma_harness::Benchmark;

mod getppid;

pub(crate) const ALL: &[&Benchmark] = &[&getppid::BENCH];
