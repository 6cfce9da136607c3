//! Where runs are kept: one SQLite file, and the same run as a stream of NDJSON lines.
//!
//! The rounds of a run are the truth and are stored as they arrive, one transaction each, so that a program killed at
//! any moment loses at most the round in flight. Records are recomputed from points and rounds by whoever shows them;
//! the store computes no statistic and formats nothing for people. The schema is documented in `docs/records.md`.
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

/// Whatever takes the parts of a run as they come: head, rounds, records, end, in this order.
///
/// Each call returns when its part is as safe as this sink makes it: committed to the store, or handed to the system.
pub trait Sink {
    /// Takes the head of the run and everything that it plans to measure.
    ///
    /// # Errors
    /// When it cannot be written; the run then has no place in this sink.
    fn begin(&mut self, head: &RunHeader, points: &[Point]) -> Result<(), StoreError>;

    /// Takes one round of `points[point]`.
    ///
    /// # Errors
    /// When it cannot be written; what came before stays.
    fn round(&mut self, point: usize, round: &Round) -> Result<(), StoreError>;

    /// Takes what statistics made of the rounds of one metric.
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
