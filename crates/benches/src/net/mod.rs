//! Sockets: over the loopback, or to a `groma serve` on another machine.

use crate::peer::Service;
use groma_harness::Benchmark;
use groma_harness::model::Family;
use groma_harness::model::family::{Figure, Pick, Say, Select, Which};
use groma_harness::prelude::*;
use std::io;

mod tcp_rtt;
mod udp_rtt;
mod tcp_connect;
mod tcp_accept;
mod tcp_crr;
mod tcp_dispatch;
mod tcp_serve;
mod unix_connect;
mod tcp_bandwidth;
mod udp_bandwidth;
mod udp_batch;

/// A metric with both sides on one CPU.
const fn on_one_cpu(metric: &'static str) -> Pick {
    Pick { which: Which::First, of: Select::OnOneCpu(metric) }
}

pub(crate) static ABOUT: Family = Family {
    name: "net",
    summary: "Sockets, over the loopback or to another machine",
    says: Say::Each(&[
        Say::Text("a TCP round trip over loopback takes {} on one CPU", &[Figure::Value(on_one_cpu("net.tcp_rtt"))]),
        Say::Text("a connection takes {}", &[Figure::Value(on_one_cpu("net.tcp_connect"))]),
    ]),
    rows: &[],
};

pub(crate) use tcp_accept::{BACKLOG, Timed, connect_and_accept};

pub(crate) const ALL: &[&Benchmark] = listed!("net");

/// The peers of these benchmarks, for another machine.
pub(crate) const SERVICES: &[&Service] = &[
    &tcp_rtt::SERVICE,
    &udp_rtt::SERVICE,
    &tcp_connect::SERVICE,
    &tcp_crr::SERVICE,
    &tcp_serve::SERVICE,
    &tcp_bandwidth::SERVICE,
    &udp_bandwidth::SERVICE,
];

/// The default placements: one CPU, two that share a cache, and another machine. Others can be
/// requested.
const PLACEMENTS: &[Placement] = &[Placement::SameCpu, Placement::SameLlc, Placement::Remote];

/// Which loopback.
const FAMILY: Param =
    Param::word("family", "addresses of IPv4 (127.0.0.1) or of IPv6 (::1)", &["v4", "v6"]).quick(&["v4"]);

/// Converts a number from the network to a size; an error unless it is 1 to `most`.
fn within(size: u64, most: u64) -> io::Result<usize> {
    if (1..=most).contains(&size) { Ok(size as usize) } else { Err(io::ErrorKind::InvalidData.into()) }
}
