//! Keeps runs in one SQLite file, or writes them as a stream of NDJSON lines.
//!
//! Rounds are stored as they arrive, one transaction each, so that a program killed at any moment
//! loses at most the round in flight. Records are recomputed from points and rounds when they are
//! shown; the store computes no statistics and formats nothing for people. `docs/records.md`
//! documents the schema.
#![forbid(unsafe_code)]

mod error;
mod json;
mod ndjson;
mod schema;
mod store;
mod writer;

use groma_model::{End, Point, Record, Round, RunHeader};

pub use error::StoreError;
#[doc(hidden)]
pub use json::read_result;
pub use ndjson::Ndjson;
pub use schema::VERSION;
pub use store::{HOST_NAME, RunRow, RunStatus, Store, StoredRun};
pub use writer::RunWriter;

/// Takes the parts of a run as they come: header, rounds, records, end, in this order.
///
/// Each call returns when its part is committed to the store, or handed to the system.
pub trait Sink {
    /// Takes the header of the run and all points of its plan.
    ///
    /// # Errors
    /// When it cannot be written; the run then has no place in this sink.
    fn begin(&mut self, head: &RunHeader, points: &[Point]) -> Result<(), StoreError>;

    /// Takes one round of `points[point]`.
    ///
    /// # Errors
    /// When it cannot be written; what came before stays.
    fn round(&mut self, point: usize, round: &Round) -> Result<(), StoreError>;

    /// Takes the record of one metric.
    ///
    /// # Errors
    /// When it cannot be written; what came before stays.
    fn record(&mut self, record: &Record) -> Result<(), StoreError>;

    /// Takes the end of the run.
    ///
    /// # Errors
    /// When it cannot be written; the run then looks like one that did not end.
    fn end(&mut self, end: &End) -> Result<(), StoreError>;
}
