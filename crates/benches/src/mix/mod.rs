//! Mixtures of operations, as programs make them: not storage tests, not tests of one primitive.

use groma_harness::Benchmark;

mod command;
mod jobs;

pub(crate) const ALL: &[&Benchmark] = &[&jobs::BENCH, &command::BENCH];
