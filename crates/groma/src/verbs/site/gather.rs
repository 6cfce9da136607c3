//! What a site is made of: runs of stores, streams, baselines, result files of lmbench, and
//! reference machines. What cannot be used is noted, a line each, and the rest is shown.

use crate::args::StoreArgs;
use crate::directory;
use crate::program::Program;
use crate::reference::{self, Reference};
use crate::store::{existing_store, records, store_path};
use crate::verbs::import::stored::stored;
use crate::verbs::push::is_server;
use anyhow::{Context, Result, bail};
use groma_harness::model::{End, Record, RunHeader};
use groma_published::results;
use groma_report::{Preparation, Prepared, SiteRun};
use groma_store::ndjson::RecordedRuns;
use groma_store::{Baseline, FileKind, Store, StoredRun};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The name that stands for all reference machines.
const REFERENCE: &str = "reference";
/// The deepest directories that are searched.
const DEPTH: usize = 8;

/// What to read. What was named last comes first: names and stores grow towards the newest run of a
/// machine, and once that was read no page is made of the older ones.
pub(super) struct Input {
    pub(super) parts: Vec<Part>,
}

/// One thing to read, on its own.
pub(super) enum Part {
    /// A file, and whether it was named: what only lies in a directory may be something else.
    File(PathBuf, bool),
    /// Runs of the store.
    Stored(PathBuf, Vec<String>),
    /// A reference machine.
    Reference(Reference),
    /// The newest run of each host of a database.
    Server(String),
}

/// What was read.
pub(super) struct Found {
    pub(super) runs: Vec<Prepared>,
    /// What cannot be used.
    pub(super) notes: Vec<String>,
}

impl Input {
    /// What these words name; without any, the store and the reference machines.
    ///
    /// # Errors
    /// When a word names nothing.
    pub(super) fn of(words: &[String], from: &[PathBuf], store: &StoreArgs) -> Result<Input> {
        let mut parts = Vec::new();
        let references = || reference::all().map(Part::Reference);
        if words.is_empty() && from.is_empty() {
            let rows = existing_store(store)?;
            parts.extend(of_store(store, complete(&rows)?)?);
            parts.extend(references());
        }
        for dir in from {
            parts.extend(below(dir).context("--from")?);
        }
        for word in words {
            let path = Path::new(word);
            if is_server(word) {
                parts.push(Part::Server(word.clone()));
            } else if path.is_dir() {
                let inside = below(path)?;
                if inside.is_empty() {
                    bail!("{word}: no file in it");
                }
                parts.extend(inside);
            } else if path.is_file() {
                parts.push(Part::File(path.to_owned(), true));
            } else if word == REFERENCE {
                parts.extend(references());
            } else if let Some(one) = reference::find_reference(word)? {
                parts.push(Part::Reference(one));
            } else {
                let ids = existing_store(store)?.find_all(word)?;
                parts.extend(of_store(store, ids)?);
            }
        }
        parts.reverse();
        Ok(Input { parts })
    }
}

/// All files below a directory.
fn below(dir: &Path) -> Result<Vec<Part>> {
    Ok(directory::below(dir, DEPTH)?.into_iter().map(|file| Part::File(file, false)).collect())
}

/// The complete runs of a store.
fn complete(store: &Store) -> Result<Vec<String>> {
    let mut rows = store.runs()?;
    rows.retain(|row| row.status.word() == "complete");
    Ok(rows.into_iter().map(|row| row.run).collect())
}

/// Runs of the store in pieces, so that several threads read them.
fn of_store(store: &StoreArgs, ids: Vec<String>) -> Result<Vec<Part>> {
    const PIECE: usize = 8;
    let path = store_path(store)?;
    let piece = |ids: &[String]| Part::Stored(path.clone(), ids.iter().rev().cloned().collect());
    Ok(ids.chunks(PIECE).map(piece).collect())
}

impl Part {
    /// Reads it.
    pub(super) fn read(&self, program: &Program, preparation: &Preparation<'_>) -> Found {
        let mut found = Found { runs: Vec::new(), notes: Vec::new() };
        let mut add = |head: &RunHeader, records: &[Record], end: Option<&End>, is_reference: bool| {
            if records.iter().any(|record| record.value.is_some()) {
                found.runs.push(preparation.prepare(&SiteRun { head, records, end, is_reference }));
            }
        };
        let result = match self {
            Part::Reference(one) => one.baseline().map(|baseline| of_baseline(baseline, &mut add)),
            Part::Stored(path, ids) => of_runs(path, Some(ids), &mut add),
            Part::Server(url) => of_server(url, &mut add),
            Part::File(path, named) => of_file(program, path, *named, &mut add),
        };
        found.notes.extend(result.err().map(|error| format!("{error:#}; left out")));
        found
    }
}

#[cfg(feature = "parquet")]
fn of_parquet(path: &Path, add: Add<'_>) -> Result<()> {
    let shown = || path.display().to_string();
    let file = std::fs::File::open(path).with_context(shown)?;
    let runs = groma_report::read_parquet(file).map_err(anyhow::Error::msg).with_context(shown)?;
    runs.iter().for_each(|(head, records)| add(head, records, None, false));
    Ok(())
}

#[cfg(not(feature = "parquet"))]
fn of_parquet(path: &Path, _: Add<'_>) -> Result<()> {
    Err(crate::features::Feature::PARQUET.missing()).with_context(|| path.display().to_string())
}

/// What takes the parts of a run: header, records, end, and whether it is a baseline.
type Add<'a> = &'a mut dyn FnMut(&RunHeader, &[Record], Option<&End>, bool);

fn of_baseline(Baseline { head, metrics, .. }: Baseline, add: Add<'_>) {
    // A baseline keeps the conservative interval alone.
    let record = |record: Record| Record { ci_display: record.ci_display.or(record.ci), ..record };
    let records: Vec<Record> = metrics.into_iter().map(|metric| record(metric.record)).collect();
    add(&head, &records, None, true);
}

#[cfg(feature = "postgres")]
fn of_server(url: &str, add: Add<'_>) -> Result<()> {
    let mut unreadable = None;
    groma_store::postgres::Server::open(url)?.newest(|run| match run {
        Ok(run) => add(&run.header, &run.records, run.end.as_ref(), false),
        Err(error) => unreadable = Some(error),
    })?;
    unreadable.map_or(Ok(()), |error| Err(error.into()))
}

#[cfg(not(feature = "postgres"))]
fn of_server(_: &str, _: Add<'_>) -> Result<()> {
    Err(crate::features::Feature::POSTGRES.missing())
}

/// These runs of a store, or all that are complete.
fn of_runs(path: &Path, ids: Option<&[String]>, add: Add<'_>) -> Result<()> {
    let store = Store::open_to_read(path)?;
    let all = if ids.is_none() { complete(&store)? } else { Vec::new() };
    for id in ids.unwrap_or(&all) {
        of_stored(store.load(id)?, add);
    }
    Ok(())
}

/// A run with its rounds.
fn of_stored(run: StoredRun, add: Add<'_>) {
    let shown = records(run, false);
    add(&shown.head, &shown.records, shown.end.as_ref(), false);
}

fn of_file(program: &Program, path: &Path, named: bool, add: Add<'_>) -> Result<()> {
    let (kind, mut opened) = FileKind::open(path)?;
    match kind {
        FileKind::Sqlite => of_runs(path, None, add)?,
        FileKind::Stream => {
            for run in RecordedRuns::of(opened, path) {
                let run = run?;
                if run.end.is_none() {
                    bail!("{}: run {} is cut off: it has no end", path.display(), run.header.run);
                }
                add(&run.header, &run.records, run.end.as_ref(), false);
            }
        }
        FileKind::Baseline => of_baseline(Baseline::of_lines(opened, path)?, add),
        FileKind::Parquet => of_parquet(path, add)?,
        FileKind::Lmbench => {
            let mut bytes = Vec::new();
            opened.read_to_end(&mut bytes).with_context(|| path.display().to_string())?;
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            for run in results::read(&bytes).runs.iter().filter(|run| !run.values.is_empty()) {
                of_stored(stored(program, &file, run)?, add);
            }
        }
        FileKind::Other if named => {
            bail!("{}: expected a store, a stream, a baseline or a result file of lmbench", path.display())
        }
        FileKind::Other => {}
    }
    Ok(())
}
