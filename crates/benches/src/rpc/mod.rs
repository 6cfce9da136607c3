//! Remote procedure calls.

use crate::peer::Service;
use groma_harness::Benchmark;
use groma_harness::model::Family;
use groma_harness::model::family::{Figure, Say, Select};

mod null;

pub(crate) mod exchange;
pub(crate) mod onc;

pub(crate) static ABOUT: Family = Family {
    name: "rpc",
    summary: "Remote procedure calls",
    says: Say::Text("a remote call that does nothing takes {}", &[Figure::Range(Select::Metric("rpc.null"))]),
    rows: &[],
};

pub(crate) const ALL: &[&Benchmark] = listed!("rpc");

/// The peers of these benchmarks, for another machine.
pub(crate) const SERVICES: &[&Service] =
    &[&exchange::RPC_TCP, &exchange::RPC_UDP, &exchange::BARE_TCP, &exchange::BARE_UDP];
