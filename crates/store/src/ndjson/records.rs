//! Reads the records of runs from a stream, as they were written: what a judgement of many hosts
//! needs. The rounds of a stream that has them are skipped, so records are not recomputed, and such
//! a run cannot be stored.
//!
//! Files come from other machines and may be cut, or made to be expensive: what is read of a run is
//! bounded.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use groma_model::{End, Record, RunHeader};
use serde::de::DeserializeOwned;

use super::read::{Kind, parse_line};
use crate::StoreError;

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
pub struct RecordedRuns<R = BufReader<File>> {
    lines: R,
    path: PathBuf,
    line: Vec<u8>,
    number: u64,
    /// The head of the next run, if it was read as the end of the one before it.
    head: Option<RunHeader>,
    any: bool,
    ended: bool,
}

/// What a line begins with that is skipped unread.
const SKIPPED: [&[u8]; 2] = [b"{\"kind\":\"round\"", b"{\"kind\":\"point\""];
/// What a record begins with.
const METRIC: &[u8] = b"{\"kind\":\"metric\"";

impl RecordedRuns {
    /// Opens a stream. An SQLite file is refused.
    ///
    /// # Errors
    /// When it cannot be read or is something else.
    pub fn open(path: &Path) -> Result<RecordedRuns, StoreError> {
        let (lines, is_sqlite) = super::open(path)?;
        if is_sqlite {
            return Err(StoreError::IsAStore { path: path.to_owned() });
        }
        Ok(RecordedRuns::of(lines, path))
    }
}

impl<R: BufRead> RecordedRuns<R> {
    /// The runs of a stream that is read from `lines`. `path` names it in errors.
    pub fn of(lines: R, path: &Path) -> RecordedRuns<R> {
        let line = Vec::new();
        RecordedRuns { lines, path: path.to_owned(), line, number: 0, head: None, any: false, ended: false }
    }

    fn run(&mut self) -> Result<Option<RecordedRun>, StoreError> {
        let mut run = self.head.take().map(begun);
        let mut left = MAX_BYTES;
        while self.next_line(&mut left)? {
            if self.line.starts_with(METRIC) {
                let record = self.parse::<Record>()?;
                let run = run.as_mut().ok_or_else(|| self.error("a 'metric' line outside of a run".to_owned()))?;
                if run.records.len() == MAX_RECORDS {
                    return Err(self.error(format!("more than {MAX_RECORDS} metrics in a run")));
                }
                run.records.push(record);
                continue;
            }
            if SKIPPED.iter().any(|start| self.line.starts_with(start)) {
                continue;
            }
            let kind = self.parse::<Kind>()?;
            match kind.kind.as_deref() {
                Some("run") => {
                    self.any = true;
                    kind.check_schema(&self.path)?;
                    let head = self.parse()?;
                    let Some(unended) = run.replace(begun(head)) else { continue };
                    self.head = run.take().map(|next| next.header);
                    return Ok(Some(unended));
                }
                Some("end") if run.is_some() => {
                    let end = self.parse()?;
                    return Ok(run.map(|run| RecordedRun { end: Some(end), ..run }));
                }
                Some("baseline") => return Err(StoreError::IsABaseline { path: self.path.clone() }),
                Some(_) => {}
                None => return Err(self.error("it has no 'kind'".to_owned())),
            }
        }
        match run {
            None if !self.any => Err(StoreError::NotAStream { path: self.path.clone() }),
            run => Ok(run),
        }
    }

    /// Reads the next line; false at the end. `left` are the bytes that the run may still have.
    fn next_line(&mut self, left: &mut u64) -> Result<bool, StoreError> {
        self.line.clear();
        self.number += 1;
        let unreadable = |e: std::io::Error| StoreError::unreadable(&self.path, &e);
        let limit = LONGEST_LINE.min(*left);
        let mut lines = (&mut self.lines).take(limit);
        let read = lines.read_until(b'\n', &mut self.line).map_err(unreadable)? as u64;
        *left -= read;
        if read > 0 && read == limit && self.line.last() != Some(&b'\n') {
            let what = if limit == LONGEST_LINE { "it has" } else { "its run has" };
            let most = if limit == LONGEST_LINE { LONGEST_LINE } else { MAX_BYTES };
            return Err(self.error(format!("{what} more than {most} bytes")));
        }
        if read > 0 && self.line[0] != b'{' {
            return Err(self.error("it is not an object".to_owned()));
        }
        Ok(read > 0)
    }

    fn parse<T: DeserializeOwned>(&self) -> Result<T, StoreError> {
        parse_line(&self.line).map_err(|what| self.error(what))
    }

    fn error(&self, what: String) -> StoreError {
        StoreError::Line { path: self.path.clone(), line: self.number, what }
    }
}

impl<R: BufRead> Iterator for RecordedRuns<R> {
    type Item = Result<RecordedRun, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.run().transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

fn begun(header: RunHeader) -> RecordedRun {
    RecordedRun { header, records: Vec::new(), end: None }
}
