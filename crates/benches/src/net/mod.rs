//! Sockets, over the loopback.

use groma_harness::Benchmark;

mod tcp_connect;
mod tcp_rtt;

pub(crate) const ALL: &[&Benchmark] = &[&tcp_rtt::BENCH, &tcp_connect::BENCH];
