//! Talking between processes on one machine.

use groma_harness::Benchmark;

mod pipe_bandwidth;
mod pipe_rtt;

pub(crate) const ALL: &[&Benchmark] = &[&pipe_rtt::BENCH, &pipe_bandwidth::BENCH];
