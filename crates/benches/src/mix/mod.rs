//! Mixtures of operations, as programs perform them: not tests of storage or of a single primitive.

use groma_harness::Benchmark;

mod andrew;
mod command;
mod jobs;

pub(crate) const ALL: &[&Benchmark] = &[&andrew::BENCH, &jobs::BENCH, &command::BENCH];
