//! Talking between processes on one machine.

use groma_harness::Benchmark;

mod pipe_bandwidth;
mod pipe_rtt;
mod sendfile_bandwidth;
mod stream;
mod unix_bandwidth;

pub(crate) const ALL: &[&Benchmark] =
    &[&pipe_rtt::BENCH, &pipe_bandwidth::BENCH, &unix_bandwidth::BENCH, &sendfile_bandwidth::BENCH];
