//! Writes one run into the store, round by round.

use std::collections::BTreeSet;
use std::path::Path;

use groma_model::{End, Point, Record, Round, RunHeader};
use rusqlite::ffi::SQLITE_CONSTRAINT_PRIMARYKEY;
use rusqlite::params;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::open::identity;
use crate::store::KERNEL_RELEASE;
use crate::{HOST_NAME, RunStatus, Sink, Store, StoreError};

/// The length of the log, in pages of 4 KiB, at which a commit checkpoints it: SQLite's default.
const LOG_PAGES: u32 = 1000;
/// The most of it during a run: 64 MiB.
const MAX_LOG_PAGES: u32 = 16384;
/// The least of it during a run, on a file system with little room.
const MIN_LOG_PAGES: u32 = 64;

/// The length of the log at which it is checkpointed during a run, on a file system with `free`
/// bytes: an eighth of them at most. A short survey writes 7 MB of log and 2 MB of store, and a
/// board whose files are in memory has little more.
fn log_pages(free: Option<u64>) -> u32 {
    /// Bytes of a page, of which an eighth of the room is counted.
    const EIGHT_PAGES: u64 = 8 * 4096;
    free.map_or(MAX_LOG_PAGES, |free| {
        (free / EIGHT_PAGES).clamp(u64::from(MIN_LOG_PAGES), u64::from(MAX_LOG_PAGES)) as u32
    })
}

/// The free bytes of the file system of a store; `None` where it does not count them.
#[cfg(unix)]
fn room_of(store: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(store).ok().filter(|stat| stat.f_blocks > 0)?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

#[cfg(not(unix))]
fn room_of(_: &Path) -> Option<u64> {
    None
}

/// Writes one run; created by [`Store::writer`]. When a call has returned, its data survives the
/// death of this process.
///
/// During the run, rounds go to the write-ahead log only, which does not wait for the disk. A
/// checkpoint waits, and would disturb the next measurement.
///
/// A writer that is dropped before the end leaves its run `running`.
#[derive(Debug)]
pub struct RunWriter<'s> {
    store: &'s Store,
    owner: String,
    run: Option<String>,
}

impl<'s> RunWriter<'s> {
    pub(crate) fn new(store: &'s Store, owner: &str) -> RunWriter<'s> {
        RunWriter { store, owner: owner.to_owned(), run: None }
    }

    fn run(&self) -> Result<&str, StoreError> {
        self.run.as_deref().ok_or_else(|| StoreError::NotBegun { path: self.store.path.clone() })
    }
}

impl Store {
    /// The JSON of a value, checked to read back: a number that is not finite, where one is
    /// needed, is refused now and not when the run is shown.
    fn checked_json<T: Serialize + DeserializeOwned>(&self, value: &T, what: String) -> Result<String, StoreError> {
        let text = serde_json::to_string(value).and_then(|text| serde_json::from_str::<T>(&text).map(|_| text));
        text.map_err(|e| self.malformed(what, e))
    }

    /// Writes the rows of a run and of its points, within the caller's transaction.
    pub(crate) fn insert_head(&self, head: &RunHeader, points: &[Point], owner: &str) -> Result<(), StoreError> {
        let run = &head.run;
        // Tags are in their own table, because they change.
        let untagged = RunHeader { tags: BTreeSet::new(), ..head.clone() };
        let header = self.checked_json(&untagged, format!("run {run}, header"))?;
        let args = self.checked_json(&head.args, format!("run {run}, arguments"))?;
        let fail = |e: rusqlite::Error| match e.sqlite_error() {
            Some(code) if code.extended_code == SQLITE_CONSTRAINT_PRIMARYKEY => {
                StoreError::Taken { path: self.path.clone(), run: run.clone() }
            }
            _ => self.error(e),
        };
        let sql =
            "INSERT INTO runs (run, started, schema, groma, profile, host, noise, args, status, owner, header, kernel)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
        let row = params![
            run,
            head.started,
            head.schema,
            head.groma,
            head.profile.word(),
            head.environment.get(HOST_NAME),
            head.noise.map(|noise| noise.word()),
            args,
            RunStatus::Running.word(),
            owner,
            header,
            head.environment.get(KERNEL_RELEASE)
        ];
        self.db.execute(sql, row).map_err(fail)?;
        self.insert_tags(run, &head.tags)?;
        let sql =
            "INSERT INTO points (run, point, bench, version, params, params_text, placement, workers, crew, definition)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
        for (number, point) in points.iter().enumerate() {
            let what = |part: &str| format!("run {run}, point {number}, {part}");
            let row = params![
                run,
                number as i64,
                point.bench,
                point.version,
                self.checked_json(&point.params, what("parameters"))?,
                point.params_text,
                point.placement.to_string(),
                point.workers,
                point.worker_kind.word(),
                self.checked_json(point, what("definition"))?
            ];
            self.db.prepare_cached(sql).and_then(|mut insert| insert.execute(row)).map_err(fail)?;
        }
        Ok(())
    }

    /// Writes a round; a single statement is its own transaction.
    pub(crate) fn insert_round(&self, run: &str, point: usize, round: &Round) -> Result<(), StoreError> {
        let result = serde_json::to_string(&round.result)
            .map_err(|e| self.malformed(format!("run {run}, point {point}, round {}", round.round), e))?;
        let row = params![run, point as i64, round.round, round.result.state.word(), round.result.reason, result];
        let sql = "INSERT INTO rounds (run, point, round, state, reason, result) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let insert = self.db.prepare_cached(sql).and_then(|mut insert| insert.execute(row));
        insert.map(|_| ()).map_err(|e| self.error(e))
    }

    /// Writes that a run has ended.
    pub(crate) fn set_end(&self, run: &str, end: &End) -> Result<(), StoreError> {
        let status = if end.interrupted { RunStatus::Interrupted } else { RunStatus::Complete };
        let ending = self.checked_json(end, format!("run {run}, end"))?;
        let sql = "UPDATE runs SET status = ?2, ending = ?3 WHERE run = ?1";
        let changed = self.db.execute(sql, (run, status.word(), ending)).map_err(|e| self.error(e))?;
        if changed == 1 { Ok(()) } else { Err(self.error(rusqlite::Error::StatementChangedRows(changed))) }
    }
}

impl Sink for RunWriter<'_> {
    fn begin(&mut self, head: &RunHeader, points: &[Point]) -> Result<(), StoreError> {
        let store = self.store;
        store
            .db
            .pragma_update(None, "wal_autocheckpoint", log_pages(room_of(&store.path)))
            .map_err(|e| store.error(e))?;
        store.in_transaction(|| store.insert_head(head, points, &self.owner))?;
        self.run = Some(head.run.clone());
        Ok(())
    }

    fn round(&mut self, point: usize, round: &Round) -> Result<(), StoreError> {
        self.store.insert_round(self.run()?, point, round)
    }

    /// Writes nothing: records are recomputed from the rounds.
    fn record(&mut self, _: &Record) -> Result<(), StoreError> {
        Ok(())
    }

    fn end(&mut self, end: &End) -> Result<(), StoreError> {
        let run = self.run()?;
        let fail = |e| self.store.error(e);
        let db = &self.store.db;
        // This commit waits for the disk and includes all earlier rounds: a run that has ended
        // survives a power failure.
        let usual: u32 = db.pragma_query_value(None, "synchronous", |row| row.get(0)).map_err(fail)?;
        db.pragma_update(None, "synchronous", "FULL").map_err(fail)?;
        db.pragma_update(None, "wal_autocheckpoint", LOG_PAGES).map_err(fail)?;
        let ended = self.store.set_end(run, end);
        db.pragma_update(None, "synchronous", usual).map_err(fail)?;
        // Writing to a file without a name succeeds.
        let is_there = self.store.file.is_some() && identity(&self.store.path) == self.store.file;
        ended.and(if is_there { Ok(()) } else { Err(StoreError::Removed { path: self.store.path.clone() }) })
    }
}
