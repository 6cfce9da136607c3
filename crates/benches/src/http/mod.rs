//! HTTP requests and responses.

use crate::peer::Service;
use groma_harness::Benchmark;

mod client;
mod get;
pub(crate) mod message;
pub(crate) mod server;

pub(crate) const ALL: &[&Benchmark] = &[&get::BENCH];

/// The peers of these benchmarks, for another machine.
pub(crate) const SERVICES: &[&Service] = &[&server::SERVICE];
