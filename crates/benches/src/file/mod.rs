//! Files: made, removed, and read again out of memory. Nothing here waits for a disk.

use groma_harness::Benchmark;

mod create_delete;
mod reread;

pub(crate) const ALL: &[&Benchmark] = &[&create_delete::BENCH, &reread::BENCH];
