//! Storage of runs: one SQLite file, and the same run as a stream of NDJSON lines.
//!
//! The rounds of a run are the primary data. They are stored as they arrive, one transaction each,
//! so a program killed at any moment loses at most the round in flight. Records are recomputed from
//! points and rounds each time they are shown; the store computes no statistics and formats nothing
//! for people. Tables and fields are documented in `docs/records.md`.
#![forbid(unsafe_code)]

mod baseline;
mod error;
mod find;
mod forget;
mod kind;
mod merge;
pub mod ndjson;
mod open;
#[cfg(unix)]
mod owned;
#[cfg(feature = "postgres")]
pub mod postgres;
mod schema;
mod store;
mod writer;

use groma_model::{End, Point, Record, Round, RunHeader};

pub use baseline::{Baseline, BaselineMetric};
pub use error::{StoreError, names_nothing};
pub use find::Filter;
pub use forget::Extent;
pub use kind::{FileKind, Opened};
pub use merge::{Merged, Source};
pub use ndjson::Ndjson;
#[cfg(unix)]
pub use owned::make_directories;
pub use store::{HOST_NAME, RunRow, RunStatus, Store, StoredRun};
pub use writer::RunWriter;

/// A consumer of the parts of a run: head, rounds, records, end, in this order.
///
/// A call returns when its part is committed to the store, or written to the stream.
pub trait Sink {
    /// Takes the head of the run and its plan.
    ///
    /// # Errors
    /// When they cannot be written; the rest of the run then cannot be written either.
    fn begin(&mut self, head: &RunHeader, points: &[Point]) -> Result<(), StoreError>;

    /// Takes one round of `points[point]`.
    ///
    /// # Errors
    /// When it cannot be written; what was written before is kept.
    fn round(&mut self, point: usize, round: &Round) -> Result<(), StoreError>;

    /// Takes the record of one metric.
    ///
    /// # Errors
    /// When it cannot be written; what was written before is kept.
    fn record(&mut self, record: &Record) -> Result<(), StoreError>;

    /// Takes the end of the run.
    ///
    /// # Errors
    /// When it cannot be written; the run then has no end.
    fn end(&mut self, end: &End) -> Result<(), StoreError>;
}
