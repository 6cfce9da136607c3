//! Remote procedure calls.

use crate::peer::Service;
use groma_harness::Benchmark;

pub(crate) mod exchange;
mod null;
pub(crate) mod onc;

pub(crate) const ALL: &[&Benchmark] = &[&null::BENCH];

/// The peers of these benchmarks, for another machine.
pub(crate) const SERVICES: &[&Service] =
    &[&exchange::RPC_TCP, &exchange::RPC_UDP, &exchange::BARE_TCP, &exchange::BARE_UDP];
