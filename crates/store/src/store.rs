//! The SQLite file: opening and reading it. Writing a run is in `writer.rs`.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use groma_model::{End, Point, Round, RunHeader, SCHEMA, Tag};
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, Transaction, TransactionBehavior};
use serde::de::DeserializeOwned;

use crate::find::{CONDITION, Filter};
use crate::schema::{self, Owner, VERSION};
use crate::{RunWriter, StoreError, json};

/// The key of the environment fact that becomes [`RunRow::host`].
pub const HOST_NAME: &str = "host.name";

/// The key of the environment fact that becomes [`RunRow::kernel`].
pub(crate) const KERNEL_RELEASE: &str = "kernel.release";

/// The environment facts that tell one processor from another: some names are those of several.
const CPU: [&str; 3] = ["cpu.model", "cpu.family", "cpu.stepping"];

/// A store of runs in one SQLite file.
#[derive(Debug)]
pub struct Store {
    pub(crate) db: Connection,
    pub(crate) path: PathBuf,
    /// The version of the file, if it is newer than the one this groma writes.
    newer: Option<u32>,
    /// Why it cannot be written, if it cannot.
    read_only: Option<&'static str>,
}

/// How far a run got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// It has begun and not ended: it is still running, or it was killed and not marked yet.
    Running,
    /// It ended normally.
    Complete,
    /// It was stopped by a signal and ended in order.
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

/// A run as a row of the history.
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
    /// Opens the store at `path`. Creates it, and missing parent directories (mode 0700), if
    /// nothing is there, and migrates an older file to this version.
    ///
    /// A file written by a newer groma is opened read-only, and so is one in a place that cannot be
    /// written, also an older one. [`Store::is_newer`] reports the first case, the error of
    /// [`Store::writer`] both.
    ///
    /// # Errors
    /// When something else is at the path (it is left alone), or nothing can be created or read
    /// there.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        // Absolute, so that SQLite takes every name as a file: `:memory:` or an empty name would
        // mean something else.
        let path = std::path::absolute(path)
            .map_err(|e| StoreError::Unwritable { path: path.to_owned(), reason: e.to_string() })?;
        if !is_file(&path)? {
            make(&path)?;
        }
        Store::connected(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
    }

    /// Opens the store at `path` to read it: the file is not migrated, and nothing is created.
    ///
    /// # Errors
    /// When no store is there, or it cannot be read.
    pub fn open_to_read(path: &Path) -> Result<Store, StoreError> {
        let unreadable = |reason: String| StoreError::Unreadable { path: path.to_owned(), reason };
        let absolute = std::path::absolute(path).map_err(|e| unreadable(e.to_string()))?;
        if !is_file(&absolute)? {
            return Err(unreadable("there is no such file".to_owned()));
        }
        Store::connected(absolute, OpenFlags::SQLITE_OPEN_READ_ONLY)
    }

    fn connected(path: PathBuf, access: OpenFlags) -> Result<Store, StoreError> {
        let fail = |e| StoreError::sqlite(&path, e);
        let db = match connect(&path, access) {
            Ok(db) => db,
            Err(e) => connect_read_only(&path).ok_or_else(|| fail(e))?,
        };
        let read_only = db.is_readonly("main").map_err(fail)?.then_some("it is read-only");
        let mut store = Store { db, path: path.clone(), newer: None, read_only };
        match (schema::owner(&store.db).map_err(fail)?, read_only) {
            (Owner::Other(id), _) => {
                let what = format!("the database of another program (application id {id:#x})");
                return Err(StoreError::NotAStore { path, what });
            }
            (Owner::Ours(version), _) if version > VERSION => {
                store.newer = Some(version);
                store.db.pragma_update(None, "query_only", true).map_err(fail)?;
            }
            (Owner::Ours(VERSION), Some(_)) => {}
            (Owner::Ours(1..), Some(_)) => schema::see_as_migrated(&store.db).map_err(fail)?,
            (_, Some(reason)) => return Err(StoreError::Unwritable { path, reason: reason.to_owned() }),
            (_, None) => schema::choose_journal(&store.db).and_then(|()| schema::migrate(&store.db)).map_err(fail)?,
        }
        Ok(store)
    }

    /// Its absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a newer groma wrote the file, so that it can only be read.
    pub fn is_newer(&self) -> bool {
        self.newer.is_some()
    }

    /// A writer of one run. `owner` is stored with it for [`RunRow::owner`]: a text from which
    /// groma can tell later whether the process that wrote the run is still alive.
    ///
    /// # Errors
    /// When the store cannot be written: [`StoreError::Newer`], [`StoreError::Unwritable`].
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

    /// The runs of the history that the filter lets through, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn runs_that(&self, filter: &Filter) -> Result<Vec<RunRow>, StoreError> {
        let sql = format!(
            "SELECT run, started, profile, args, groma, host, kernel, status, owner, ending,
                    (SELECT json_group_array(tag) FROM tags t WHERE t.run = r.run),
                    (SELECT count(*) FROM points p WHERE p.run = r.run),
                    (SELECT count(*) FROM rounds o WHERE o.run = r.run)
             FROM runs r WHERE {CONDITION} ORDER BY started DESC, rowid DESC"
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

    /// The benchmarks of all points.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn benches(&self) -> Result<Vec<String>, StoreError> {
        // From one to the next in the index: there are a hundred of them in a million points.
        let sql = "WITH RECURSIVE found (bench) AS (
                       SELECT min(bench) FROM points
                       UNION ALL
                       SELECT (SELECT min(bench) FROM points WHERE bench > found.bench) FROM found
                       WHERE bench IS NOT NULL)
                   SELECT bench FROM found WHERE bench IS NOT NULL";
        self.collect(sql, [], |row| Ok(row.get(0)?))
    }

    /// The points of a run, in the order of its plan, without their rounds; none where there is no
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

    /// The same of the points that are wanted, where `benches` are given of their benchmarks only:
    /// of a survey of 150 points one is read in a hundredth of the time.
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
                // By itself, SQLite would go through all points of the run.
                let sql = "SELECT point, definition FROM points INDEXED BY points_by_bench
                           WHERE run = ?1 AND bench IN (SELECT value FROM json_each(?2)) ORDER BY point";
                self.collect(sql, (run, serde_json::Value::from(benches).to_string()), point)?
            }
        };
        points.retain(|(_, point)| wanted(point));
        let sql = "SELECT round, result FROM rounds WHERE run = ?1 AND point = ?2 ORDER BY round";
        let points = points.into_iter().map(|(number, point)| {
            let rounds = self.collect(sql, (run, number), |row| {
                let (round, text): (u32, String) = row.try_into()?;
                let what = || format!("run {run}, point {number}, round {round}");
                let result = json::read_result(&text).map_err(|e| self.malformed(what(), e))?;
                Ok(Round { round, result })
            });
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

    /// The heads, without tags, of up to `most` complete runs of the same machine, the latest
    /// first, that started before this one: of its name, and its processor's model, family and
    /// stepping.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn earlier_runs(&self, head: &RunHeader, most: usize) -> Result<Vec<RunHeader>, StoreError> {
        self.of_machine(head, Some(&head.started), most)
    }

    /// The same, whenever they started; this run is one of them, if it is stored.
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

    /// The rounds of the same point in a run: the same benchmark in the same version, with the same
    /// parameters, placement and workers. None where the run has no such point.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn rounds_of(&self, run: &str, point: &Point) -> Result<Vec<Round>, StoreError> {
        // As a join, SQLite would go through all points of the run to have the order: three times
        // as long.
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
        self.collect(sql, key, |row| {
            let (round, text): (u32, String) = row.try_into()?;
            let what = || format!("{}, round {round}", point.bench);
            let result = json::read_result(&text).map_err(|e| self.malformed(what(), e))?;
            Ok(Round { round, result })
        })
    }

    /// Marks a run killed whose owner was found dead. Returns whether this call changed it: a run
    /// that has ended or is already marked stays as it is.
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
        let path = self.path.clone();
        match (self.newer, self.read_only) {
            (Some(found), _) => Err(StoreError::Newer { path, found, known: VERSION }),
            (_, Some(reason)) => Err(StoreError::Unwritable { path, reason: reason.to_owned() }),
            _ => Ok(()),
        }
    }

    pub(crate) fn parse<T: DeserializeOwned>(&self, text: &str, run: &str, what: &str) -> Result<T, StoreError> {
        serde_json::from_str(text).map_err(|e| self.malformed(format!("run {run}, {what}"), e))
    }

    /// The head of a run. In a damaged file an index may lead to that of another one unnoticed.
    pub(crate) fn header(&self, text: &str, run: &str) -> Result<RunHeader, StoreError> {
        let header: RunHeader = self.parse(text, run, "header")?;
        let reason = format!("the head of run {run} is that of another run");
        let damaged = StoreError::Damaged { path: self.path.clone(), reason };
        if header.run == run { Ok(header) } else { Err(damaged) }
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

    /// The same of the rows of which the function makes something, up to `most`; no more are read.
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

/// Whether a file exists at the path. Refuses, without touching it, anything that is certainly not
/// an SQLite database.
fn is_file(path: &Path) -> Result<bool, StoreError> {
    let refuse = |what: &str| Err(StoreError::NotAStore { path: path.to_owned(), what: what.to_owned() });
    let unreadable = |reason: String| StoreError::Unreadable { path: path.to_owned(), reason };
    match fs::metadata(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(false),
        Err(e) => return Err(unreadable(e.to_string())),
        Ok(m) if m.is_dir() => return refuse("a directory"),
        Ok(m) if !m.is_file() => return refuse("not a regular file"),
        Ok(_) => {}
    }
    let mut start = Vec::new();
    File::open(path).and_then(|file| file.take(16).read_to_end(&mut start)).map_err(|e| unreadable(e.to_string()))?;
    if start.is_empty() || start == b"SQLite format 3\0" { Ok(true) } else { refuse("not an SQLite database") }
}

/// Creates an empty file and its parent directories: the system's errors are clearer than SQLite's.
fn make(path: &Path) -> Result<(), StoreError> {
    let mut directories = fs::DirBuilder::new();
    let mut file = File::options();
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
        directories.mode(0o700);
        file.mode(0o644);
    }
    let parent = path.parent().unwrap_or(path);
    directories
        .recursive(true)
        .create(parent)
        .map_err(|e| (e, format!("cannot make the directory {}: ", parent.display())))
        .and_then(|()| file.append(true).create(true).open(path).map_err(|e| (e, String::new())))
        .map(|_| ())
        .map_err(|(e, what)| match e.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StoreError::Full { path: path.to_owned() },
            _ => StoreError::Unwritable { path: path.to_owned(), reason: format!("{what}{e}") },
        })
}

/// A connection that has read the file once.
fn connect(path: &Path, access: OpenFlags) -> rusqlite::Result<Connection> {
    let db = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    bound(&db, path)?;
    db.busy_timeout(schema::LOCK_TIMEOUT)?;
    db.pragma_update(None, "foreign_keys", true)?;
    schema::owner(&db)?;
    Ok(db)
}

/// The longest value that is written, in bytes: more than a round of 4096 workers has.
const LONGEST_VALUE: u64 = 32 << 20;

/// Bounds the length of a value, which SQLite allocates before it reads: an altered byte can claim
/// a gigabyte. A value that is there is no longer than the file and its log.
fn bound(db: &Connection, path: &Path) -> rusqlite::Result<()> {
    let bytes = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
    let stored = bytes(path) + bytes(&log_of(path));
    db.set_limit(Limit::SQLITE_LIMIT_LENGTH, i32::try_from(stored.max(LONGEST_VALUE)).unwrap_or(i32::MAX))?;
    Ok(())
}

/// The write-ahead log of a store.
fn log_of(path: &Path) -> PathBuf {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    log.into()
}

/// A connection to a file whose write-ahead log cannot be opened because nothing can be written
/// next to it. Only if the log is empty: otherwise the rounds in it would be missing silently.
fn connect_read_only(path: &Path) -> Option<Connection> {
    if !path.is_file() || fs::metadata(log_of(path)).is_ok_and(|m| m.len() > 0) {
        return None;
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let db = Connection::open_with_flags(format!("file:{}?immutable=1", escaped(path.as_os_str())), flags).ok()?;
    bound(&db, path).ok()?;
    schema::owner(&db).ok()?;
    Some(db)
}

/// A path, percent-encoded for a URI.
fn escaped(path: &OsStr) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"/-._~".contains(&b);
    path.as_encoded_bytes()
        .iter()
        .map(|&b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_longer_than_the_file_is_not_allocated() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = Store::open(&dir.path().join("groma.db")).expect("a store");
        let length = |bytes: i64| -> rusqlite::Result<i64> {
            store.db.query_row("SELECT length(zeroblob(?1))", [bytes], |row| row.get(0))
        };
        let longest = LONGEST_VALUE as i64;
        assert_eq!(length(longest - 1), Ok(longest - 1));
        assert!(length(longest + 1).is_err(), "it is allocated");
    }
}
