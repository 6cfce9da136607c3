//! Timers: how late a sleep ends.

use groma_harness::Benchmark;
use groma_harness::model::Family;
use groma_harness::model::family::{Figure, Say, Select};

mod sleep;
mod arm;

pub(crate) static ABOUT: Family = Family {
    name: "timer",
    summary: "How late timers expire",
    says: Say::Text("a sleep ends late by {}", &[Figure::Range(Select::Metric("timer.sleep"))]),
    rows: &[],
};

pub(crate) const ALL: &[&Benchmark] = listed!("timer");
