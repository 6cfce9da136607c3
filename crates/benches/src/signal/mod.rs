//! Signals.

use groma_harness::Benchmark;
use groma_harness::model::Scaling;

mod catch;
mod install;
mod kill;

pub(crate) const ALL: &[&Benchmark] = &[&install::BENCH, &kill::BENCH, &catch::BENCH];

/// Why none of these runs as threads.
const PROCESSES: Scaling =
    Scaling::processes("a handler belongs to the whole process: threads would replace each other's");
