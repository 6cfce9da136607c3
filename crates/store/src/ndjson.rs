//! A run as lines of JSON: `run`, one `metric` for each record, `end`; with rounds also `point` and
//! `round`. Each line is one write and one flush, so readers that follow the stream see whole
//! lines.

mod lines;
mod read;
mod records;

use std::io::Write;

use groma_model::{End, Point, Record, Round, RunHeader, plain_json};
use serde::Serialize;

use crate::{Sink, StoreError};

pub(crate) use lines::{BYTE_ORDER_MARK, Found, Lines, find_object};
pub use lines::{Lost, kind_of, without_others};
pub use read::{Runs, read, read_noted};
pub(crate) use read::{lines_of, open};
pub use records::{RecordedRun, RecordedRuns};

/// Writes a run as NDJSON (docs/records.md). Floats are written with as many digits as they need to
/// read back the same; a number that is not finite is null; terminal control characters are
/// escaped.
#[derive(Debug)]
pub struct Ndjson<W> {
    out: W,
    name: String,
    line: Vec<u8>,
    rounds: bool,
}

#[derive(Serialize)]
struct Line<'a, T> {
    kind: &'static str,
    #[serde(flatten)]
    body: &'a T,
}

#[derive(Serialize)]
struct PlacedRound<'a> {
    point: usize,
    #[serde(flatten)]
    round: &'a Round,
}

impl<W: Write> Ndjson<W> {
    /// A stream of records to `out`. `name` identifies it in errors: the file's path, or `standard
    /// output`.
    pub fn new(out: W, name: impl Into<String>) -> Ndjson<W> {
        Ndjson { out, name: name.into(), line: Vec::new(), rounds: false }
    }

    /// Adds the plan and the rounds before the records, so that [`read`] can read the run back.
    pub fn with_rounds(self) -> Ndjson<W> {
        Ndjson { rounds: true, ..self }
    }

    /// Returns the output.
    pub fn into_inner(self) -> W {
        self.out
    }

    fn write<T: Serialize>(&mut self, kind: &'static str, body: &T) -> Result<(), StoreError> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, &Line { kind, body })
            .map_err(|e| StoreError::Output { name: self.name.clone(), source: e.into() })?;
        self.line.push(b'\n');
        // JSON is UTF-8, so nothing is lost, and most lines are not copied.
        let text = String::from_utf8_lossy(&self.line);
        self.out
            .write_all(plain_json(&text).as_bytes())
            .and_then(|()| self.out.flush())
            .map_err(|source| StoreError::output(&self.name, source))
    }
}

impl<W: Write> Sink for Ndjson<W> {
    fn begin(&mut self, head: &RunHeader, points: &[Point]) -> Result<(), StoreError> {
        self.write("run", head)?;
        let points = if self.rounds { points } else { &[] };
        points.iter().try_for_each(|point| self.write("point", point))
    }

    fn round(&mut self, point: usize, round: &Round) -> Result<(), StoreError> {
        if self.rounds { self.write("round", &PlacedRound { point, round }) } else { Ok(()) }
    }

    fn record(&mut self, record: &Record) -> Result<(), StoreError> {
        self.write("metric", record)
    }

    fn end(&mut self, end: &End) -> Result<(), StoreError> {
        self.write("end", end)
    }
}
