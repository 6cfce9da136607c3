//! Reads runs from a stream that holds their rounds.

use std::io::BufRead;
use std::path::Path;

use groma_model::{End, Placement, Point, Round, RoundResult, RunHeader, is_metric_of};
use serde::Deserialize;

use super::lines::{Lines, Lost};
use crate::kind::{FileKind, Opened};
use crate::{RunStatus, Store, StoreError, StoredRun};

/// Longest line in bytes: the default limit of a column in SQLite (`SQLITE_MAX_LENGTH`).
const LONGEST_LINE: u64 = 1_000_000_000;

/// Reads a stream that holds one run.
///
/// # Errors
/// When the file cannot be read, is no stream, or holds records only or several runs; a line that
/// is cut off or malformed is named.
pub fn read(path: &Path) -> Result<StoredRun, StoreError> {
    read_noted(path).map(|(run, _)| run)
}

/// Reads a stream as [`read`] does, and returns what of a captured one was skipped.
///
/// # Errors
/// As [`read`].
pub fn read_noted(path: &Path) -> Result<(StoredRun, Option<Lost>), StoreError> {
    let Some(file) = open(path)? else {
        // The database of another program has an error of its own.
        return Err(Store::open_to_read(path).err().unwrap_or(StoreError::IsAStore { path: path.to_owned() }));
    };
    let mut runs = Runs::new(file, path);
    let run = runs.next().ok_or_else(|| StoreError::NotAStream { path: path.to_owned() })??;
    match runs.next() {
        None => Ok((run, runs.lost().cloned())),
        Some(another) => another.and(Err(StoreError::SeveralRuns { path: path.to_owned() })),
    }
}

/// Opens a stream or a baseline; nothing if the file is an SQLite database. Anything else is
/// refused before more of it is read.
pub(crate) fn open(path: &Path) -> Result<Option<Opened>, StoreError> {
    let (kind, file) = FileKind::open(path)?;
    lines_of(kind, file, path)
}

/// The same of a file that was opened.
pub(crate) fn lines_of(kind: FileKind, file: Opened, path: &Path) -> Result<Option<Opened>, StoreError> {
    match kind {
        FileKind::Sqlite => Ok(None),
        FileKind::Stream | FileKind::Baseline => Ok(Some(file)),
        FileKind::Lmbench | FileKind::Parquet | FileKind::Other => {
            Err(StoreError::NotAStream { path: path.to_owned() })
        }
    }
}

/// An iterator over the runs of a stream. A run is complete when it is returned; the first error
/// ends the iteration.
#[derive(Debug)]
pub struct Runs<R> {
    lines: Lines<R>,
    /// The head of the next run, if it was read as the end of the one before it.
    head: Option<Box<RunHeader>>,
    /// Whether a run was found.
    any: bool,
    ended: bool,
}

#[derive(Deserialize)]
struct PlacedRound {
    point: usize,
    round: u32,
    result: RoundResult,
}

/// What tells of which point a record is.
#[derive(Deserialize)]
struct OfPoint {
    id: String,
    params_text: String,
    placement: Placement,
    workers: u32,
}

/// The plan of the run that is being read. Points have no number but their order, so a line of it
/// that is lost without a trace would give its rounds to another point.
#[derive(Default)]
struct Plan {
    /// For each line of a point its place in the run; nothing if it is damaged.
    places: Vec<Option<usize>>,
    /// Whether rounds were found.
    has_rounds: bool,
    /// Why a line of the plan may be missing in a captured stream.
    doubt: Option<StoreError>,
}

impl<R: BufRead> Runs<R> {
    /// The runs that `lines` holds; `path` is for errors.
    pub fn new(lines: R, path: &Path) -> Runs<R> {
        let lines = Lines::new(lines, path, (LONGEST_LINE, u64::MAX), "round");
        Runs { lines, head: None, any: false, ended: false }
    }

    /// What of a captured stream was skipped so far.
    pub fn lost(&self) -> Option<&Lost> {
        self.lines.lost()
    }

    /// The next run, or nothing at the end of the stream.
    fn run(&mut self) -> Result<Option<StoredRun>, StoreError> {
        let mut plan = Plan::default();
        let read = self.run_of(&mut plan);
        let run = self.lines.settle(read);
        match plan.doubt {
            Some(doubt) if self.lines.is_captured() => Err(doubt),
            _ => run,
        }
    }

    fn run_of(&mut self, plan: &mut Plan) -> Result<Option<StoredRun>, StoreError> {
        let mut run = self.head.take().map(|head| begun(*head));
        while self.lines.advance()? {
            let Some(kind) = self.lines.kind() else {
                if self.damaged(plan, run.is_some())
                    && let Some(unended) = run.take()
                {
                    return self.with_rounds(unended).map(Some);
                }
                continue;
            };
            match (kind.kind.as_deref(), &mut run) {
                (Some("run"), _) => {
                    self.any = true;
                    kind.check_schema(&self.lines.path)?;
                    let head = self.lines.parse().map(Box::new);
                    if let Some(unended) = run.take() {
                        self.head = head;
                        return self.with_rounds(unended).map(Some);
                    }
                    run = head.map(|head| begun(*head));
                }
                (Some("point"), Some(run)) => self.point(plan, run),
                (Some("round"), Some(run)) => self.round(plan, run)?,
                (Some("metric"), Some(run)) => self.metric(plan, run),
                (Some("end"), Some(begun)) => {
                    let Some(end) = self.lines.parse::<End>() else { continue };
                    begun.end = Some(end);
                    return run.map(|run| self.with_rounds(run)).transpose();
                }
                (Some("baseline"), None) => return Err(StoreError::IsABaseline { path: self.lines.path.clone() }),
                (Some(known @ ("point" | "round" | "metric" | "end")), None) => self.lines.stray(known),
                _ => {}
            }
        }
        if !self.any {
            return Err(self.lines.nothing());
        }
        run.map(|run| self.with_rounds(run)).transpose()
    }

    /// Takes a line whose kind cannot be read. Returns whether it is the head of another run: what
    /// follows is not of this one.
    fn damaged(&mut self, plan: &mut Plan, in_run: bool) -> bool {
        let in_plan = in_run && !plan.has_rounds;
        match self.lines.written_kind() {
            Some("run") => return true,
            Some("point") if in_run => plan.places.push(None),
            None if in_plan => {
                let doubt = "it is damaged, and may be a point: rounds cannot be told apart without it";
                plan.doubt.get_or_insert_with(|| self.lines.error(doubt.to_owned()));
            }
            _ => {}
        }
        false
    }

    fn point(&mut self, plan: &mut Plan, run: &mut StoredRun) {
        if plan.has_rounds {
            let doubt = "a point behind rounds: the head of its run is lost";
            plan.doubt.get_or_insert_with(|| self.lines.error(doubt.to_owned()));
        }
        let point: Option<Point> = self.lines.parse();
        plan.places.push(point.is_some().then_some(run.points.len()));
        run.points.extend(point.map(|point| (point, Vec::new())));
    }

    /// Adds the round of the current line.
    fn round(&mut self, plan: &mut Plan, run: &mut StoredRun) -> Result<(), StoreError> {
        plan.has_rounds = true;
        let Some(PlacedRound { point, round, result }) = self.lines.parse() else { return Ok(()) };
        let points = plan.places.len();
        let Some(place) = plan.places.get(point) else {
            return Err(self.lines.error(format!("a round of point {point}, and there are {points}")));
        };
        self.lines.count(place.is_some());
        let Some((_, rounds)) = place.and_then(|place| run.points.get_mut(place)) else { return Ok(()) };
        if rounds.last().is_some_and(|last: &Round| last.round >= round) {
            return Err(self.lines.error(format!("round {round} of point {point} is out of order")));
        }
        rounds.push(Round { round, result });
        Ok(())
    }

    /// Holds a record against the plan, which lists what all records are of.
    fn metric(&mut self, plan: &mut Plan, run: &StoredRun) {
        if plan.doubt.is_some() || run.points.len() < plan.places.len() || plan.places.is_empty() {
            return;
        }
        // A record that cannot be read is no loss: records are computed from rounds.
        let Ok(of) = self.lines.peek::<OfPoint>() else { return };
        let is_its = |point: &Point| {
            is_metric_of(&of.id, &point.bench)
                && (&of.params_text, &of.placement, of.workers) == (&point.params_text, &point.placement, point.workers)
        };
        if !run.points.iter().any(|(point, _)| is_its(point)) {
            let doubt = format!("a record of {}, whose point is lost: rounds cannot be told apart without it", of.id);
            plan.doubt = Some(self.lines.error(doubt));
        }
    }

    /// The run, unless only its records are there.
    fn with_rounds(&self, run: StoredRun) -> Result<StoredRun, StoreError> {
        if run.points.is_empty() {
            return Err(StoreError::NoRounds { path: self.lines.path.clone(), run: run.header.run });
        }
        let status = match &run.end {
            None => RunStatus::Killed,
            Some(end) if end.interrupted => RunStatus::Interrupted,
            Some(_) => RunStatus::Complete,
        };
        Ok(StoredRun { status, ..run })
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

fn begun(header: RunHeader) -> StoredRun {
    StoredRun { header, points: Vec::new(), end: None, status: RunStatus::Killed }
}
