//! Reads runs from a stream that holds their rounds.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use groma_model::{Point, Round, RoundResult, RunHeader, SCHEMA};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::{RunStatus, Store, StoreError, StoredRun};

/// Longest line in bytes: the default limit of a column in SQLite (`SQLITE_MAX_LENGTH`).
const LONGEST_LINE: u64 = 1_000_000_000;

/// What an SQLite file begins with.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// Reads a stream that holds one run.
///
/// # Errors
/// When the file cannot be read, is no stream, or holds records only or several runs; a line that
/// is cut off or malformed is named.
pub fn read(path: &Path) -> Result<StoredRun, StoreError> {
    let (file, is_sqlite) = open(path)?;
    let not_a_stream = || StoreError::NotAStream { path: path.to_owned() };
    if is_sqlite {
        // The database of another program has an error of its own.
        return Err(Store::open_to_read(path).err().unwrap_or(StoreError::IsAStore { path: path.to_owned() }));
    }
    let mut runs = Runs::new(file, path);
    let run = runs.next().ok_or_else(not_a_stream)??;
    match runs.next() {
        None => Ok(run),
        Some(another) => another.and(Err(StoreError::SeveralRuns { path: path.to_owned() })),
    }
}

/// Opens a file and tells whether it is an SQLite database. Anything else that does not begin with
/// a JSON object is refused before more of it is read.
pub(crate) fn open(path: &Path) -> Result<(BufReader<File>, bool), StoreError> {
    let unreadable = |e: std::io::Error| StoreError::unreadable(path, &e);
    let mut file = BufReader::new(File::open(path).map_err(unreadable)?);
    let start = file.fill_buf().map_err(unreadable)?;
    let is_sqlite = start.starts_with(SQLITE);
    if !is_sqlite && start.first() != Some(&b'{') {
        return Err(StoreError::NotAStream { path: path.to_owned() });
    }
    Ok((file, is_sqlite))
}

/// An iterator over the runs of a stream. A run is complete when it is returned; the first error
/// ends the iteration.
#[derive(Debug)]
pub struct Runs<R> {
    lines: R,
    path: PathBuf,
    /// The current line, and its number from 1.
    line: Vec<u8>,
    number: u64,
    /// The head of the next run, if it was read as the end of the one before it.
    head: Option<Box<RunHeader>>,
    /// Whether a run was found.
    any: bool,
    ended: bool,
}

/// The fields that decide how to read a line; which are present depends on its kind.
#[derive(Deserialize)]
pub(super) struct Kind {
    pub(super) kind: Option<String>,
    schema: Option<u32>,
    groma: Option<String>,
    run: Option<String>,
}

impl Kind {
    /// Refuses the head of a run that only a newer groma can read.
    pub(super) fn check_schema(self, path: &Path) -> Result<(), StoreError> {
        match self.schema {
            Some(found) if found > SCHEMA => Err(StoreError::NewerRun {
                path: path.to_owned(),
                run: self.run.unwrap_or_default(),
                groma: self.groma.unwrap_or_default(),
                found,
                known: SCHEMA,
            }),
            _ => Ok(()),
        }
    }
}

#[derive(Deserialize)]
struct PlacedRound {
    point: usize,
    round: u32,
    result: RoundResult,
}

impl<R: BufRead> Runs<R> {
    /// The runs that `lines` holds; `path` is for errors.
    pub fn new(lines: R, path: &Path) -> Runs<R> {
        let line = Vec::new();
        Runs { lines, path: path.to_owned(), line, number: 0, head: None, any: false, ended: false }
    }

    /// The next run, or nothing at the end of the stream.
    fn run(&mut self) -> Result<Option<StoredRun>, StoreError> {
        let mut run = self.head.take().map(|head| begun(*head));
        while let Some(kind) = self.kind()? {
            match (kind.kind.as_deref(), &mut run) {
                (Some("run"), _) => {
                    self.any = true;
                    let head = self.head(kind)?;
                    let Some(unended) = run.take() else {
                        run = Some(begun(head));
                        continue;
                    };
                    self.head = Some(Box::new(head));
                    return self.with_rounds(unended).map(Some);
                }
                (Some("point"), Some(run)) => run.points.push((self.parse::<Point>()?, Vec::new())),
                (Some("round"), Some(run)) => self.add(run)?,
                (Some("end"), Some(begun)) => {
                    let end = self.parse()?;
                    begun.end = Some(end);
                    return run.map(|run| self.with_rounds(run)).transpose();
                }
                (Some("baseline"), None) => return Err(StoreError::IsABaseline { path: self.path.clone() }),
                (Some(known @ ("point" | "round" | "metric" | "end")), None) => {
                    return Err(self.error(format!("a '{known}' line outside of a run")));
                }
                (Some(_), _) => {}
                (None, _) => return Err(self.error("it has no 'kind'".to_owned())),
            }
        }
        if !self.any {
            return Err(StoreError::NotAStream { path: self.path.clone() });
        }
        run.map(|run| self.with_rounds(run)).transpose()
    }

    /// The kind of the next line.
    fn kind(&mut self) -> Result<Option<Kind>, StoreError> {
        self.line.clear();
        self.number += 1;
        let unreadable = |e: std::io::Error| StoreError::unreadable(&self.path, &e);
        let mut lines = (&mut self.lines).take(LONGEST_LINE);
        match lines.read_until(b'\n', &mut self.line).map_err(unreadable)? {
            0 => Ok(None),
            _ if lines.limit() == 0 => Err(self.error(format!("it has more than {LONGEST_LINE} bytes"))),
            _ if self.line[0] != b'{' => Err(self.error("it is not an object".to_owned())),
            _ => self.parse().map(Some),
        }
    }

    fn head(&self, kind: Kind) -> Result<RunHeader, StoreError> {
        kind.check_schema(&self.path)?;
        self.parse()
    }

    /// Adds the round of the current line.
    fn add(&self, run: &mut StoredRun) -> Result<(), StoreError> {
        let PlacedRound { point, round, result } = self.parse()?;
        let points = run.points.len();
        let Some((_, rounds)) = run.points.get_mut(point) else {
            return Err(self.error(format!("a round of point {point}, and there are {points}")));
        };
        if rounds.last().is_some_and(|last: &Round| last.round >= round) {
            return Err(self.error(format!("round {round} of point {point} is out of order")));
        }
        rounds.push(Round { round, result });
        Ok(())
    }

    /// The run, unless only its records are there.
    fn with_rounds(&self, run: StoredRun) -> Result<StoredRun, StoreError> {
        if run.points.is_empty() {
            return Err(StoreError::NoRounds { path: self.path.clone(), run: run.header.run });
        }
        let status = match &run.end {
            None => RunStatus::Killed,
            Some(end) if end.interrupted => RunStatus::Interrupted,
            Some(_) => RunStatus::Complete,
        };
        Ok(StoredRun { status, ..run })
    }

    fn parse<T: DeserializeOwned>(&self) -> Result<T, StoreError> {
        parse_line(&self.line).map_err(|what| self.error(what))
    }

    fn error(&self, what: String) -> StoreError {
        StoreError::Line { path: self.path.clone(), line: self.number, what }
    }
}

impl<R: BufRead> Iterator for Runs<R> {
    type Item = Result<StoredRun, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.run().transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

/// Reads an object from a line; the error says what is wrong and where.
pub(super) fn parse_line<T: DeserializeOwned>(line: &[u8]) -> Result<T, String> {
    // From text like all other JSON here: serde_json's reader of bytes would be a second copy of
    // its code in the program.
    let text = std::str::from_utf8(line.trim_ascii_end())
        .map_err(|e| format!("it is not UTF-8, at column {}", e.valid_up_to() + 1))?;
    serde_json::from_str(text).map_err(|e| {
        if e.is_eof() {
            return "it is cut off".to_owned();
        }
        // The line that serde_json names is always 1.
        let text = e.to_string();
        let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
        format!("{what}, at column {}", e.column())
    })
}

fn begun(header: RunHeader) -> StoredRun {
    StoredRun { header, points: Vec::new(), end: None, status: RunStatus::Killed }
}
