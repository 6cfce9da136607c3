//! Threads: creating and joining them.

use groma_harness::Benchmark;
use groma_harness::model::Family;
use groma_harness::model::family::{Figure, Say, first};

mod create_join;
mod create_many;

pub(crate) static ABOUT: Family = Family {
    name: "thread",
    summary: "Creating threads",
    says: Say::Text(
        "creating a thread and waiting for its end costs {}",
        &[Figure::Value(first("thread.create_join"))],
    ),
    rows: &[],
};

pub(crate) const ALL: &[&Benchmark] = listed!("thread");

/// Stack size of a thread, in bytes.
const STACK: usize = 64 << 10;
