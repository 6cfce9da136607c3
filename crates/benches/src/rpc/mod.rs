//! Remote procedure calls.

use crate::peer::Service;
use groma_harness::Benchmark;
use groma_harness::model::Family;
use groma_harness::model::family::{Figure, Say, Select};

pub(crate) mod exchange;
mod null;
pub(crate) mod onc;

/// What the family says about itself.
pub(crate) static ABOUT: Family = Family {
    name: "rpc",
    summary: "Remote procedure calls",
    says: Say::Text("a remote call that does nothing takes {}", &[Figure::Range(Select::Metric("rpc.null"))]),
    rows: &[],
};

pub(crate) const ALL: &[&Benchmark] = &[&null::BENCH];

/// The peers of these benchmarks, for another machine.
pub(crate) const SERVICES: &[&Service] =
    &[&exchange::RPC_TCP, &exchange::RPC_UDP, &exchange::BARE_TCP, &exchange::BARE_UDP];
