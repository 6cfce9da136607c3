//! Mixtures of operations, as programs make them: not storage tests, not tests of one primitive.

use groma_harness::Benchmark;

mod andrew;
mod command;
mod jobs;

pub(crate) const ALL: &[&Benchmark] = &[&andrew::BENCH, &jobs::BENCH, &command::BENCH];
