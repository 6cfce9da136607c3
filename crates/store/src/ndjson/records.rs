//! Reads the records of runs from a stream, as they were written: what a judgement of many hosts
//! needs. The rounds of a stream that has them are skipped, so records are not recomputed, and such
//! a run cannot be stored.
//!
//! Files come from other machines and may be cut, or made to be expensive: what is read of a run is
//! bounded.

use std::io::BufRead;
use std::path::Path;

use groma_model::{End, Record, RunHeader};

use super::lines::{Lines, Lost};
use crate::StoreError;
use crate::kind::Opened;

/// Longest line, in bytes: a round of a complete run has some hundred kB, a record one or two.
const LONGEST_LINE: u64 = 64 << 20;
/// The most bytes of a run: a complete one with all samples has about 70 MB.
const MAX_BYTES: u64 = 1 << 30;
/// The most records of a run: a complete one has under 2,000.
const MAX_RECORDS: usize = 10_000;

/// A run with its records.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedRun {
    /// Its head.
    pub header: RunHeader,
    /// Its records.
    pub records: Vec<Record>,
    /// Its end; `None` if the stream ended without one.
    pub end: Option<End>,
}

/// An iterator over the runs of a stream. The first error ends it.
#[derive(Debug)]
pub struct RecordedRuns<R = Opened> {
    lines: Lines<R>,
    /// The head of the next run, if it was read as the end of the one before it.
    head: Option<RunHeader>,
    any: bool,
    ended: bool,
}

impl RecordedRuns {
    /// Opens a stream. An SQLite file is refused.
    ///
    /// # Errors
    /// When it cannot be read or is something else.
    pub fn open(path: &Path) -> Result<RecordedRuns, StoreError> {
        let lines = super::open(path)?.ok_or_else(|| StoreError::IsAStore { path: path.to_owned() })?;
        Ok(RecordedRuns::of(lines, path))
    }
}

impl<R: BufRead> RecordedRuns<R> {
    /// The runs of a stream that is read from `lines`. `path` names it in errors.
    pub fn of(lines: R, path: &Path) -> RecordedRuns<R> {
        let lines = Lines::new(lines, path, (LONGEST_LINE, MAX_BYTES), "metric");
        RecordedRuns { lines, head: None, any: false, ended: false }
    }

    /// What of a captured stream was skipped so far. Lines of rounds are not looked at.
    pub fn lost(&self) -> Option<&Lost> {
        self.lines.lost()
    }

    fn run(&mut self) -> Result<Option<RecordedRun>, StoreError> {
        let mut run = self.head.take().map(begun);
        while self.lines.advance()? {
            // Rounds and points are skipped unread.
            if matches!(self.lines.written_kind(), Some("round" | "point")) {
                continue;
            }
            if self.lines.written_kind() == Some("metric") {
                self.metric(run.as_mut())?;
                continue;
            }
            let Some(kind) = self.lines.kind() else {
                if self.lines.written_kind() == Some("run") && run.is_some() {
                    return Ok(run);
                }
                continue;
            };
            match kind.kind.as_deref() {
                Some("run") => {
                    self.any = true;
                    kind.check_schema(&self.lines.path)?;
                    let head = self.lines.parse();
                    if run.is_some() {
                        self.head = head;
                        return Ok(run);
                    }
                    run = head.map(begun);
                }
                Some("metric") => self.metric(run.as_mut())?,
                Some("end") if run.is_some() => {
                    let Some(end) = self.lines.parse::<End>() else { continue };
                    return Ok(run.map(|run| RecordedRun { end: Some(end), ..run }));
                }
                Some("baseline") => return Err(StoreError::IsABaseline { path: self.lines.path.clone() }),
                _ => {}
            }
        }
        if self.any { Ok(run) } else { Err(self.lines.nothing()) }
    }

    /// Adds the record of the current line.
    fn metric(&mut self, run: Option<&mut RecordedRun>) -> Result<(), StoreError> {
        let Some(record) = self.lines.parse::<Record>() else { return Ok(()) };
        let Some(run) = run else {
            self.lines.stray("metric");
            return Ok(());
        };
        if run.records.len() == MAX_RECORDS {
            return Err(self.lines.error(format!("more than {MAX_RECORDS} metrics in a run")));
        }
        self.lines.count(true);
        run.records.push(record);
        Ok(())
    }
}

impl<R: BufRead> Iterator for RecordedRuns<R> {
    type Item = Result<RecordedRun, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let read = self.run();
        let next = self.lines.settle(read).transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

fn begun(header: RunHeader) -> RecordedRun {
    RecordedRun { header, records: Vec::new(), end: None }
}
