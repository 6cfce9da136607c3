//! HTTP requests and responses.

use crate::peer::Service;
use groma_harness::Benchmark;
use groma_harness::model::Family;
use groma_harness::model::family::{Figure, Say, Select};

mod get;
mod open_loop;

mod client;
pub(crate) mod message;
pub(crate) mod server;

pub(crate) static ABOUT: Family = Family {
    name: "http",
    summary: "Requests and responses of HTTP",
    says: Say::Text("a request over HTTP takes {}", &[Figure::Range(Select::Metric("http.get"))]),
    rows: &[],
};

pub(crate) const ALL: &[&Benchmark] = listed!("http");

/// The peers of these benchmarks, for another machine.
pub(crate) const SERVICES: &[&Service] = &[&server::SERVICE];
