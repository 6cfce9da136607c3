//! Opens the SQLite file of a store: checks what it is, creates it, migrates it. What it holds is
//! read in `store.rs`.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};

use crate::error::{NO_LOCKS, NO_SHARED_MEMORY, names_nothing};
use crate::kind::is_sqlite;
#[cfg(unix)]
use crate::owned;
use crate::schema::{self, MIGRATIONS, Owner};
use crate::{Store, StoreError};

impl Store {
    /// Opens the store at `path`. Creates it, and missing parent directories (mode 0700), if
    /// nothing is there, and migrates an older file to this version. A file in a place that cannot
    /// be written is opened read-only.
    ///
    /// # Errors
    /// When something else is at the path (it is left alone), nothing can be created or read there,
    /// or the file has a version that this groma cannot read: [`StoreError::Newer`],
    /// [`StoreError::Older`], [`StoreError::Development`].
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        // Absolute, so that SQLite takes every name as a file: `:memory:` or an empty name would
        // mean something else.
        let path = std::path::absolute(path).map_err(|e| StoreError::Unwritable {
            path: path.to_owned(),
            reason: e.to_string(),
            mistake: names_nothing(&e),
        })?;
        if !is_file(&path)? {
            make(&path)?;
        }
        connect_to_store(path, OpenFlags::SQLITE_OPEN_READ_WRITE, MIGRATIONS)
    }

    /// Opens the store at `path` read-only: the file is not migrated, and nothing is created.
    ///
    /// # Errors
    /// When no store is there, or it cannot be read.
    pub fn open_to_read(path: &Path) -> Result<Store, StoreError> {
        let absolute = std::path::absolute(path).map_err(|e| StoreError::unreadable(path, &e))?;
        if !is_file(&absolute)? {
            let reason = "there is no such file".to_owned();
            return Err(StoreError::Unreadable { path: path.to_owned(), reason, mistake: true });
        }
        connect_to_store(absolute, OpenFlags::SQLITE_OPEN_READ_ONLY, MIGRATIONS)
    }
}

/// A store of the version to which `migrations` lead.
fn connect_to_store(path: PathBuf, access: OpenFlags, migrations: &[&str]) -> Result<Store, StoreError> {
    let fail = |e| StoreError::sqlite(&path, e);
    let Connected { mut db, mut way, refused } = connected(&path, access)?;
    let mut is_read_only = db.is_readonly("main").map_err(fail)?;
    let known = migrations.len() as u32;
    // Of a store that is read because its place has no locks, that is the reason.
    let of_place = |e: &&rusqlite::Error| is_busy(e) || lacks_locks(e) || lacks_shared_memory(e);
    let read_only = refused.as_ref().filter(of_place).map(StoreError::sqlite_reason);
    match schema::owner(&db).map_err(fail)? {
        Owner::Other(id) => {
            let what = format!("the database of another program (application id {id:#x})");
            return Err(StoreError::NotAStore { path, what });
        }
        Owner::Development(version) => return Err(StoreError::Development { path, version }),
        Owner::Groma(found) if found > known => return Err(StoreError::Newer { path, found, known }),
        Owner::Groma(found) if is_read_only && found < known => return Err(StoreError::Older { path, found, known }),
        Owner::Empty if is_read_only => return Err(StoreError::read_only(&path, read_only.as_deref())),
        _ if is_read_only => {}
        _ => {
            if let Err(e) = prepare(&db, way, migrations) {
                // Whether memory can be shared shows with the first write.
                if way != Way::Usual || !lacks_shared_memory(&e) {
                    return Err(fail(e));
                }
                drop(db);
                way = Way::Alone;
                db = connect(&path, access, way, schema::LOCK_TIMEOUT).map_err(fail)?;
                prepare(&db, way, migrations).map_err(fail)?;
                is_read_only = db.is_readonly("main").map_err(fail)?;
            }
        }
    }
    let file = identity(&path);
    Ok(Store { db, path, file, is_read_only, read_only })
}

fn prepare(db: &Connection, way: Way, migrations: &[&str]) -> rusqlite::Result<()> {
    if way == Way::Usual {
        schema::choose_journal(db)?;
    } else {
        db.pragma_update(None, "synchronous", "FULL")?;
    }
    schema::migrate(db, migrations)
}

/// How a store is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// With SQLite's locks, and its memory that processes share.
    Usual,
    /// Without shared memory: with a rollback journal instead of the write-ahead log.
    Alone,
    /// Without locks of the file system as well: a directory beside the store is the lock, which
    /// every file system makes once only.
    LockFile,
}

/// A connection, how it was made, and the error because of which it can only read.
struct Connected {
    db: Connection,
    way: Way,
    refused: Option<rusqlite::Error>,
}

/// How long the first attempt waits for a lock: without locks each attempt looks as if another
/// process held one.
const FIRST_TIMEOUT: Duration = Duration::from_millis(200);

/// Connects in the way that the file system allows; where none does, to read only.
fn connected(path: &Path, access: OpenFlags) -> Result<Connected, StoreError> {
    let mut way = Way::Usual;
    let mut first = match connect(path, access, way, FIRST_TIMEOUT) {
        Ok(db) => {
            db.busy_timeout(schema::LOCK_TIMEOUT).map_err(|e| StoreError::sqlite(path, e))?;
            return Ok(Connected { db, way, refused: None });
        }
        Err(e) => e,
    };
    if is_busy(&first) && have_locks(path) == Some(true) {
        match connect(path, access, way, schema::LOCK_TIMEOUT) {
            Ok(db) => return Ok(Connected { db, way, refused: None }),
            Err(e) => first = e,
        }
    } else if lacks_shared_memory(&first) {
        way = Way::Alone;
    } else if is_busy(&first) || lacks_locks(&first) {
        way = Way::LockFile;
    }
    // Only what may write can leave the write-ahead log, or take a lock.
    if way != Way::Usual && access == OpenFlags::SQLITE_OPEN_READ_WRITE {
        match connect(path, access, way, schema::LOCK_TIMEOUT) {
            Ok(db) => return Ok(Connected { db, way, refused: None }),
            Err(e) if is_busy(&e) && way == Way::LockFile => {
                return connect_immutable(path)
                    .map(|db| Connected { db, way, refused: Some(e) })
                    .ok_or_else(|| StoreError::LockFile { path: path.to_owned(), lock: lock_file_of(path) });
            }
            Err(_) => {}
        }
    }
    match connect_immutable(path) {
        Some(db) => Ok(Connected { db, way, refused: Some(first) }),
        None => Err(StoreError::sqlite(path, first)),
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

/// Whether an error says that no memory can be shared between processes here. Not that a disk is
/// full, where the same file fails first.
fn lacks_shared_memory(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|code| NO_SHARED_MEMORY.contains(&code.extended_code))
}

/// Whether an error says that a file cannot be locked here.
fn lacks_locks(error: &rusqlite::Error) -> bool {
    let is_one = |code: i32| NO_LOCKS.contains(&code) || code == ffi::SQLITE_PERM;
    error.sqlite_error().is_some_and(|code| is_one(code.extended_code))
}

/// Whether files can be locked beside the store, tried with one that nobody else knows; `None`
/// where none can be made.
fn have_locks(path: &Path) -> Option<bool> {
    let probe = beside(path, &format!(".{}.probe", std::process::id()));
    File::options().write(true).create_new(true).open(&probe).ok()?;
    let access = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let locked = Connection::open_with_flags(&probe, access)
        .and_then(|db| db.busy_timeout(Duration::ZERO).and_then(|()| db.execute_batch("BEGIN IMMEDIATE; ROLLBACK")));
    // What is left of it is empty, and says what it is.
    let _ = fs::remove_file(&probe);
    Some(locked.is_ok())
}

/// Whether a file exists at the path. Refuses, without touching it, anything that is certainly not
/// an SQLite database.
fn is_file(path: &Path) -> Result<bool, StoreError> {
    let refuse = |what: &str| Err(StoreError::NotAStore { path: path.to_owned(), what: what.to_owned() });
    let unreadable = |e| StoreError::unreadable(path, &e);
    match fs::metadata(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(false),
        Err(e) => return Err(unreadable(e)),
        Ok(m) if m.is_dir() => return refuse("a directory"),
        Ok(m) if !m.is_file() => return refuse("not a regular file"),
        Ok(_) => {}
    }
    let mut start = Vec::new();
    File::open(path).and_then(|file| file.take(16).read_to_end(&mut start)).map_err(unreadable)?;
    if start.is_empty() || is_sqlite(&start) { Ok(true) } else { refuse("not an SQLite database") }
}

/// What tells the file at a path from others: its device and its number there.
pub(crate) fn identity(path: &Path) -> Option<(u64, u64)> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
    }
    #[cfg(not(unix))]
    {
        fs::metadata(path).ok().map(|_| (0, 0))
    }
}

/// Creates an empty file and its parent directories: the system's errors are clearer than SQLite's.
fn make(path: &Path) -> Result<(), StoreError> {
    make_file(path).map_err(|(e, what)| match e.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StoreError::Full { path: path.to_owned() },
        _ => StoreError::Unwritable { path: path.to_owned(), reason: format!("{what}{e}"), mistake: names_nothing(&e) },
    })
}

/// What failed is named before its error.
#[cfg(unix)]
fn make_file(path: &Path) -> Result<(), (std::io::Error, String)> {
    let parent = path.parent().unwrap_or(path);
    let dir = owned::make_directories(parent)
        .map_err(|e| (e, format!("cannot make the directory {}: ", parent.display())))?;
    dir.make_file(path.file_name().unwrap_or_default()).map_err(|e| (e, String::new()))
}

#[cfg(not(unix))]
fn make_file(path: &Path) -> Result<(), (std::io::Error, String)> {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent).map_err(|e| (e, format!("cannot make the directory {}: ", parent.display())))?;
    File::options().append(true).create(true).open(path).map(|_| ()).map_err(|e| (e, String::new()))
}

/// A connection that has read the file once, so that errors show here.
fn connect(path: &Path, access: OpenFlags, way: Way, timeout: Duration) -> rusqlite::Result<Connection> {
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = match way {
        Way::LockFile => Connection::open_with_flags_and_vfs(path, flags, c"unix-dotfile")?,
        Way::Usual | Way::Alone => Connection::open_with_flags(path, flags)?,
    };
    bound_length(&db, path)?;
    db.busy_timeout(timeout)?;
    db.pragma_update(None, "foreign_keys", true)?;
    if way != Way::Usual {
        // While a process has the store for itself, it needs no memory that is shared: it takes in
        // what is in the log, and leaves it.
        db.pragma_update(None, "locking_mode", "exclusive")?;
        db.pragma_update_and_check(None, "journal_mode", "delete", |row| row.get::<_, String>(0))?;
        db.pragma_update(None, "locking_mode", "normal")?;
    }
    schema::owner(&db)?;
    Ok(db)
}

/// The lock of a store in a place without locks: what SQLite's `unix-dotfile` makes.
fn lock_file_of(path: &Path) -> PathBuf {
    beside(path, ".lock")
}

/// Longest value that can be written, in bytes: more than a round of 4096 workers takes.
const LONGEST_VALUE: u64 = 32 << 20;

/// Bounds the length of a value, which SQLite allocates before it reads it: a damaged byte can
/// claim a gigabyte. No stored value is longer than the file and its log.
fn bound_length(db: &Connection, path: &Path) -> rusqlite::Result<()> {
    let bytes = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
    let stored = bytes(path) + bytes(&log_of(path));
    db.set_limit(Limit::SQLITE_LIMIT_LENGTH, i32::try_from(stored.max(LONGEST_VALUE)).unwrap_or(i32::MAX))?;
    Ok(())
}

/// The write-ahead log of a store.
fn log_of(path: &Path) -> PathBuf {
    beside(path, "-wal")
}

/// A file whose name is that of the store and an ending.
fn beside(store: &Path, ending: &str) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// A connection to a file whose write-ahead log cannot be opened because its directory cannot be
/// written. `None` if the log holds anything: the rounds in it would be missing silently.
fn connect_immutable(path: &Path) -> Option<Connection> {
    if !path.is_file() || fs::metadata(log_of(path)).is_ok_and(|m| m.len() > 0) {
        return None;
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let db = Connection::open_with_flags(format!("file:{}?immutable=1", escaped(path.as_os_str())), flags).ok()?;
    bound_length(&db, path).ok()?;
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

    /// With a second migration, which no release has yet.
    #[test]
    fn an_older_file_is_migrated_where_it_can_be_written_and_else_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("groma.db");
        let store = Store::open(&path).expect("version 1");
        let row = "INSERT INTO runs (run, started, schema, groma, profile, args, status, owner, header)
                   VALUES ('r', 't', 1, 'g', 'quick', '[]', 'running', 'o', '{}')";
        store.db.execute(row, []).expect("a run");
        drop(store);
        let next = [MIGRATIONS[0], "ALTER TABLE runs ADD COLUMN label TEXT; UPDATE runs SET label = 'old ' || run"];
        let open =
            |access, migrations: &[&str]| connect_to_store(path.clone(), access, migrations).map_err(|e| e.to_string());
        let (read, write) = (OpenFlags::SQLITE_OPEN_READ_ONLY, OpenFlags::SQLITE_OPEN_READ_WRITE);

        let before = fs::read(&path).expect("read");
        let message = "has store version 1, this groma reads 2: open it once where it can be written";
        assert_eq!(open(read, &next).expect_err("version 1"), format!("{}: {message}", path.display()));
        assert_eq!(fs::read(&path).expect("read"), before, "the file was changed");

        for _ in 0..2 {
            let store = open(write, &next).expect("version 2");
            assert_eq!(schema::owner(&store.db), Ok(Owner::Groma(2)));
            let label = store.db.query_row("SELECT label FROM runs", [], |row| row.get::<_, String>(0));
            assert_eq!(label.as_deref(), Ok("old r"));
        }
        open(read, &next).expect("version 2");

        let message = "written by a newer groma (store version 2, this one knows 1)";
        for access in [read, write] {
            assert_eq!(open(access, MIGRATIONS).expect_err("version 2"), format!("{}: {message}", path.display()));
        }
    }
}
