//! Sockets: over the loopback, or to a `groma serve` on another machine.

use crate::peer::Service;
use groma_harness::Benchmark;
use groma_harness::model::Family;
use groma_harness::model::family::{Figure, Say, least};
use groma_harness::prelude::*;
use std::io;

mod tcp_accept;
mod tcp_bandwidth;
mod tcp_connect;
mod tcp_crr;
mod tcp_rtt;
mod udp_bandwidth;
mod udp_rtt;
mod unix_connect;

/// What the family says about itself.
pub(crate) static ABOUT: Family = Family {
    name: "net",
    summary: "Sockets, over the loopback or to another machine",
    says: Say::Each(&[
        Say::Text("a TCP round trip over loopback takes {}", &[Figure::Value(least("net.tcp_rtt"))]),
        Say::Text("a connection takes {}", &[Figure::Value(least("net.tcp_connect"))]),
    ]),
    rows: &[],
};

pub(crate) const ALL: &[&Benchmark] = &[
    &tcp_rtt::BENCH,
    &udp_rtt::BENCH,
    &tcp_connect::BENCH,
    &tcp_accept::BENCH,
    &tcp_crr::BENCH,
    &unix_connect::BENCH,
    &tcp_bandwidth::BENCH,
    &udp_bandwidth::BENCH,
];

/// The other sides of these, for another machine.
pub(crate) const SERVICES: &[&Service] = &[
    &tcp_rtt::SERVICE,
    &udp_rtt::SERVICE,
    &tcp_connect::SERVICE,
    &tcp_crr::SERVICE,
    &tcp_bandwidth::SERVICE,
    &udp_bandwidth::SERVICE,
];

/// On one CPU, on two that share a cache, and to another machine; the others are there to be named.
const PLACEMENTS: &[Placement] = &[Placement::SameCpu, Placement::SameLlc, Placement::Remote];

/// Which loopback.
const FAMILY: Param = Param {
    name: "family",
    help: "addresses of IPv4 (127.0.0.1) or of IPv6 (::1)",
    kind: ParamKind::Word(&["v4", "v6"]),
    quick: &[],
    default: &["v4"],
    full: &["v4", "v6"],
};

/// A number that came from the network as a size, if it is no larger than a benchmark would ask for.
fn within(size: u64, most: u64) -> io::Result<usize> {
    if (1..=most).contains(&size) { Ok(size as usize) } else { Err(io::ErrorKind::InvalidData.into()) }
}
