//! Reads runs from the SQLite file. It is opened in `open.rs`; a run is written in `writer.rs`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use groma_model::{End, Point, Round, RunHeader, SCHEMA, Tag};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior};
use serde::de::DeserializeOwned;

use crate::find::{CONDITION, Filter};
use crate::{RunWriter, StoreError};

/// The key of the environment fact that becomes [`RunRow::host`].
pub const HOST_NAME: &str = "host.name";

/// The key of the environment fact that becomes [`RunRow::kernel`].
pub(crate) const KERNEL_RELEASE: &str = "kernel.release";

/// The environment facts that identify a processor: a model name alone may stand for several.
const CPU: [&str; 3] = ["cpu.model", "cpu.family", "cpu.stepping"];

/// A store of runs in one SQLite file.
#[derive(Debug)]
pub struct Store {
    pub(crate) db: Connection,
    pub(crate) path: PathBuf,
    /// The file that was at the path when it was opened.
    pub(crate) file: Option<(u64, u64)>,
    pub(crate) is_read_only: bool,
    /// Why, if that is not a matter of rights.
    pub(crate) read_only: Option<String>,
}

/// How far a run got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// It has not ended: it is still running, or it was killed and is not marked yet.
    Running,
    /// It ended normally.
    Complete,
    /// It was stopped by a signal and wrote its end.
    Interrupted,
    /// Its process was found dead, see [`Store::mark_killed`].
    Killed,
}

impl RunStatus {
    /// The status as stored.
    pub const fn word(self) -> &'static str {
        match self {
            RunStatus::Running => "running",
            RunStatus::Complete => "complete",
            RunStatus::Interrupted => "interrupted",
            RunStatus::Killed => "killed",
        }
    }
}

/// A run in the history.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    /// Its id.
    pub run: String,
    /// When it started, RFC 3339 in UTC.
    pub started: String,
    /// Its profile, as a word.
    pub profile: String,
    /// The command line after the program's name.
    pub args: Vec<String>,
    /// The version of groma that wrote it.
    pub groma: String,
    /// The machine's name: the fact [`HOST_NAME`] of its environment.
    pub host: Option<String>,
    /// The release of its kernel.
    pub kernel: Option<String>,
    /// Its tags.
    pub tags: BTreeSet<Tag>,
    /// Its status.
    pub status: RunStatus,
    /// The owner that was passed to [`Store::writer`].
    pub owner: String,
    /// The number of planned points.
    pub points: u64,
    /// The number of stored rounds.
    pub rounds: u64,
    /// Its end, if it has ended.
    pub end: Option<End>,
}

/// Everything stored about a run.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRun {
    /// Its head.
    pub header: RunHeader,
    /// The planned points, each with its rounds in order.
    pub points: Vec<(Point, Vec<Round>)>,
    /// Its end, if it has ended.
    pub end: Option<End>,
    /// Its status.
    pub status: RunStatus,
}

impl Store {
    /// Its absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A writer of one run. `owner` is stored with it for [`RunRow::owner`]: a text from which
    /// groma can tell later whether the process that wrote the run is still alive.
    ///
    /// # Errors
    /// [`StoreError::Unwritable`] if the store is read-only.
    pub fn writer(&self, owner: &str) -> Result<RunWriter<'_>, StoreError> {
        self.writable()?;
        Ok(RunWriter::new(self, owner))
    }

    /// The history, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn runs(&self) -> Result<Vec<RunRow>, StoreError> {
        self.runs_that(&Filter::default())
    }

    /// The runs of the history that match the filter, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn runs_that(&self, filter: &Filter) -> Result<Vec<RunRow>, StoreError> {
        let [join, order] = self.order()?;
        let sql = format!(
            "SELECT r.run, r.started, profile, args, groma, host, kernel, status, owner, ending,
                    (SELECT json_group_array(tag) FROM tags t WHERE t.run = r.run),
                    (SELECT count(*) FROM points p WHERE p.run = r.run),
                    (SELECT count(*) FROM rounds o WHERE o.run = r.run)
             FROM runs r {join} WHERE {CONDITION} ORDER BY {order}"
        );
        self.collect(&sql, filter.params(), |row| {
            let run: String = row.get(0)?;
            let (args, status, ending): (String, String, Option<String>) = (row.get(3)?, row.get(7)?, row.get(9)?);
            Ok(RunRow {
                started: row.get(1)?,
                profile: row.get(2)?,
                args: self.parse(&args, &run, "arguments")?,
                groma: row.get(4)?,
                host: row.get(5)?,
                kernel: row.get(6)?,
                tags: self.parse(&row.get::<_, String>(10)?, &run, "tags")?,
                status: self.status(&status, &run)?,
                owner: row.get(8)?,
                points: row.get::<_, u32>(11)?.into(),
                rounds: row.get::<_, u32>(12)?.into(),
                end: ending.map(|text| self.parse(&text, &run, "end")).transpose()?,
                run,
            })
        })
    }

    /// The benchmarks of all points, sorted.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn benches(&self) -> Result<Vec<String>, StoreError> {
        // A walk from one to the next in the index: a million points have a hundred benchmarks.
        let sql = "WITH RECURSIVE found (bench) AS (
                       SELECT min(bench) FROM points
                       UNION ALL
                       SELECT (SELECT min(bench) FROM points WHERE bench > found.bench) FROM found
                       WHERE bench IS NOT NULL)
                   SELECT bench FROM found WHERE bench IS NOT NULL";
        self.collect(sql, [], |row| Ok(row.get(0)?))
    }

    /// The points of a run, in the order of its plan, without their rounds; empty if there is no
    /// such run.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn points(&self, run: &str) -> Result<Vec<Point>, StoreError> {
        let sql = "SELECT point, definition FROM points WHERE run = ?1 ORDER BY point";
        self.collect(sql, [run], |row| {
            let (number, definition): (u32, String) = row.try_into()?;
            self.parse(&definition, run, &format!("point {number}")).map_err(RowError::Store)
        })
    }

    /// Everything stored about the run with this id, as a consistent snapshot; it may still be
    /// running.
    ///
    /// # Errors
    /// When there is no such run, when its schema is newer than this groma knows, or when the store
    /// cannot be read.
    pub fn load(&self, run: &str) -> Result<StoredRun, StoreError> {
        self.load_part(run, None, |_| true)
    }

    /// [`Store::load`] restricted to the points that `wanted` accepts and, if `benches` is given,
    /// to these benchmarks. One point of a survey of 150 is read in a hundredth of the time.
    ///
    /// # Errors
    /// As [`Store::load`].
    pub fn load_part(
        &self,
        run: &str,
        benches: Option<&[String]>,
        wanted: impl Fn(&Point) -> bool,
    ) -> Result<StoredRun, StoreError> {
        // A snapshot: a writer may add rounds between these statements.
        let snapshot =
            Transaction::new_unchecked(&self.db, TransactionBehavior::Deferred).map_err(|e| self.error(e))?;
        let sql = "SELECT schema, groma, header, ending, status FROM runs WHERE run = ?1";
        type Head = (u32, String, String, Option<String>, String);
        let head: Option<Head> =
            self.db.query_row(sql, [run], |row| row.try_into()).optional().map_err(|e| self.error(e))?;
        let Some((found, groma, header, ending, status)) = head else {
            return Err(self.no_run(run)?);
        };
        if found > SCHEMA {
            return Err(StoreError::NewerRun {
                path: self.path.clone(),
                run: run.to_owned(),
                groma,
                found,
                known: SCHEMA,
            });
        }
        let point = |row: &Row<'_>| {
            let (number, definition): (u32, String) = row.try_into()?;
            Ok((number, self.parse(&definition, run, &format!("point {number}"))?))
        };
        let mut points: Vec<(u32, Point)> = match benches {
            None => self.collect("SELECT point, definition FROM points WHERE run = ?1 ORDER BY point", [run], point)?,
            Some(benches) => {
                // Without the hint, SQLite scans all points of the run.
                let sql = "SELECT point, definition FROM points INDEXED BY points_by_bench
                           WHERE run = ?1 AND bench IN (SELECT value FROM json_each(?2)) ORDER BY point";
                self.collect(sql, (run, serde_json::Value::from(benches).to_string()), point)?
            }
        };
        points.retain(|(_, point)| wanted(point));
        let sql = "SELECT round, result FROM rounds WHERE run = ?1 AND point = ?2 ORDER BY round";
        let points = points.into_iter().map(|(number, point)| {
            let rounds =
                self.collect(sql, (run, number), |row| self.stored_round(row, run, &format!("point {number}")));
            rounds.map(|rounds| (point, rounds))
        });
        let header = RunHeader { tags: self.tags(run)?, ..self.header(&header, run)? };
        let stored = StoredRun {
            header,
            points: points.collect::<Result<_, _>>()?,
            end: ending.map(|text| self.parse(&text, run, "end")).transpose()?,
            status: self.status(&status, run)?,
        };
        snapshot.commit().map_err(|e| self.error(e))?;
        Ok(stored)
    }

    /// The headers, without tags, of up to `most` complete runs that started before this one on the
    /// same machine, newest first. A machine is the same if its name and its processor's model,
    /// family and stepping are.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn earlier_runs(&self, head: &RunHeader, most: usize) -> Result<Vec<RunHeader>, StoreError> {
        self.of_machine(head, Some(&head.started), most)
    }

    /// [`Store::earlier_runs`] at any time; includes this run, if it is stored.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn runs_of_machine(&self, head: &RunHeader, most: usize) -> Result<Vec<RunHeader>, StoreError> {
        self.of_machine(head, None, most)
    }

    fn of_machine(&self, head: &RunHeader, before: Option<&str>, most: usize) -> Result<Vec<RunHeader>, StoreError> {
        let sql = "SELECT run, header FROM runs
                   WHERE host = ?1 AND status = 'complete' AND schema <= ?3
                     AND (?4 IS NULL OR (started, rowid) < (?4, coalesce((SELECT rowid FROM runs WHERE run = ?2),
                                                                         9223372036854775807)))
                   ORDER BY started DESC, rowid DESC";
        let host = head.environment.get(HOST_NAME);
        let cpu = |head: &RunHeader| CPU.map(|key| head.environment.get(key).map(str::to_owned));
        self.first(most, sql, (host, &head.run, SCHEMA, before), |row| {
            let (run, header): (String, String) = row.try_into()?;
            let other = self.header(&header, &run)?;
            Ok(Some(other).filter(|other| cpu(other) == cpu(head)))
        })
    }

    /// The rounds of the same point in another run: the same benchmark in the same version, with
    /// the same parameters, placement and workers. Empty if the run has no such point.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn rounds_of(&self, run: &str, point: &Point) -> Result<Vec<Round>, StoreError> {
        // For a join, SQLite scans all points of the run to get the order: three times as long.
        let sql = "SELECT round, result FROM rounds
                   WHERE run = ?2 AND point IN (
                       SELECT point FROM points
                       WHERE bench = ?1 AND run = ?2 AND version = ?3 AND params = ?4 AND placement = ?5
                             AND workers = ?6 AND crew = ?7)
                   ORDER BY point, round";
        let params = serde_json::to_string(&point.params)
            .map_err(|e| self.malformed(format!("{}, parameters", point.bench), e))?;
        let placement = point.placement.to_string();
        let key = (&point.bench, run, point.version, params, placement, point.workers, point.worker_kind.word());
        self.collect(sql, key, |row| self.stored_round(row, run, &point.bench))
    }

    /// Marks a run as killed, because its owner was found dead. Returns whether this call changed
    /// it: a run that has ended or is already marked stays as it is.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn mark_killed(&self, run: &str) -> Result<bool, StoreError> {
        self.writable()?;
        self.set_killed(run)
    }

    pub(crate) fn set_killed(&self, run: &str) -> Result<bool, StoreError> {
        let sql = "UPDATE runs SET status = 'killed' WHERE run = ?1 AND status = 'running'";
        self.db.execute(sql, [run]).map(|changed| changed == 1).map_err(|e| self.error(e))
    }

    pub(crate) fn error(&self, source: rusqlite::Error) -> StoreError {
        StoreError::sqlite(&self.path, source)
    }

    pub(crate) fn malformed(&self, what: String, source: serde_json::Error) -> StoreError {
        StoreError::Malformed { path: self.path.clone(), what, source }
    }

    pub(crate) fn writable(&self) -> Result<(), StoreError> {
        let refused = || StoreError::read_only(&self.path, self.read_only.as_deref());
        if self.is_read_only { Err(refused()) } else { Ok(()) }
    }

    pub(crate) fn parse<T: DeserializeOwned>(&self, text: &str, run: &str, what: &str) -> Result<T, StoreError> {
        serde_json::from_str(text).map_err(|e| self.malformed(format!("run {run}, {what}"), e))
    }

    /// The header of a run. In a damaged file, an index may silently lead to that of another run.
    pub(crate) fn header(&self, text: &str, run: &str) -> Result<RunHeader, StoreError> {
        let header: RunHeader = self.parse(text, run, "header")?;
        let reason = format!("the head of run {run} is that of another run");
        let damaged = StoreError::Damaged { path: self.path.clone(), reason };
        if header.run == run { Ok(header) } else { Err(damaged) }
    }

    /// A row of `round, result`. `point` names its point in an error.
    fn stored_round(&self, row: &Row<'_>, run: &str, point: &str) -> Result<Round, RowError> {
        let (round, result): (u32, String) = row.try_into()?;
        Ok(Round { round, result: self.parse(&result, run, &format!("{point}, round {round}"))? })
    }

    fn status(&self, word: &str, run: &str) -> Result<RunStatus, StoreError> {
        serde_json::from_value(word.into()).map_err(|e| self.malformed(format!("run {run}, status"), e))
    }

    /// The rows of a query, each converted by a function that may fail with an SQLite or a store
    /// error.
    pub(crate) fn collect<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        make: impl Fn(&Row<'_>) -> Result<T, RowError>,
    ) -> Result<Vec<T>, StoreError> {
        self.first(usize::MAX, sql, params, |row| make(row).map(Some))
    }

    /// The first `most` values that `make` returns for the rows of a query; no more rows are read.
    fn first<T>(
        &self,
        most: usize,
        sql: &str,
        params: impl rusqlite::Params,
        make: impl Fn(&Row<'_>) -> Result<Option<T>, RowError>,
    ) -> Result<Vec<T>, StoreError> {
        let gather = || -> Result<Vec<T>, RowError> {
            let mut query = self.db.prepare_cached(sql)?;
            let mut rows = query.query(params)?;
            let mut made = Vec::new();
            while made.len() < most
                && let Some(row) = rows.next()?
            {
                made.extend(make(row)?);
            }
            Ok(made)
        };
        gather().map_err(|e| match e {
            RowError::Sqlite(e) => self.error(e),
            RowError::Store(e) => e,
        })
    }
}

/// An error in converting a row.
pub(crate) enum RowError {
    Sqlite(rusqlite::Error),
    Store(StoreError),
}

impl From<rusqlite::Error> for RowError {
    fn from(e: rusqlite::Error) -> RowError {
        RowError::Sqlite(e)
    }
}

impl From<StoreError> for RowError {
    fn from(e: StoreError) -> RowError {
        RowError::Store(e)
    }
}
