//! Signals. See docs/methods/operating-system.md#signals.

use groma_harness::Benchmark;
use groma_harness::model::Scaling;

mod catch;
mod fault;
mod install;
mod kill;
mod rtt;
mod write_barrier;

pub(crate) const ALL: &[&Benchmark] =
    &[&install::BENCH, &kill::BENCH, &catch::BENCH, &fault::BENCH, &write_barrier::BENCH, &rtt::BENCH];

/// Why none of these runs as threads.
const PROCESSES: Scaling =
    Scaling::processes("a handler belongs to the whole process: threads would replace each other's");
