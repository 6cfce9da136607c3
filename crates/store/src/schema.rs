//! The owner and the version of an SQLite file, and the migrations from one version to the next.

use std::time::Duration;

use rusqlite::{Connection, Result, Transaction, TransactionBehavior};

/// Marks the file as a groma store, in `PRAGMA application_id`: the letters `grom`.
const APPLICATION_ID: i32 = i32::from_be_bytes(*b"grom");

/// The mark of stores that were written before the first release. Their versions 1 to 3 had other
/// tables; with a mark of their own, the versions of releases count from 1 without confusion.
const DEVELOPMENT_ID: i32 = i32::from_be_bytes(*b"grma");

/// Step n leads from version n to n + 1. Never edit a released step: fix its errors in a new one.
pub(crate) const MIGRATIONS: &[&str] = &[include_str!("migrations/0001_runs.sql")];

/// How long to wait for a lock held by another process.
pub(crate) const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The program that a database belongs to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// None: the database is empty.
    Empty,
    /// groma, with this version.
    Groma(u32),
    /// A development version of groma, with this version.
    Development(u32),
    /// Another program, with its application id.
    Other(i32),
}

/// Determines the owner without changing anything.
pub(crate) fn owner(db: &Connection) -> Result<Owner> {
    // One statement, so that a database that another process is creating is seen either empty or
    // complete.
    let sql = "SELECT a.application_id, v.user_version, (SELECT count(*) FROM sqlite_schema)
               FROM pragma_application_id a, pragma_user_version v";
    let (id, version, tables): (i32, u32, u32) =
        db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(match id {
        APPLICATION_ID => Owner::Groma(version),
        DEVELOPMENT_ID => Owner::Development(version),
        0 if version == 0 && tables == 0 => Owner::Empty,
        id => Owner::Other(id),
    })
}

/// Applies the missing migrations in one transaction. Safe if another process does the same.
pub(crate) fn migrate(db: &Connection, migrations: &[&str]) -> Result<()> {
    let transaction = Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
    let version: u32 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    for sql in migrations.iter().skip(version as usize) {
        transaction.execute_batch(sql)?;
    }
    if (version as usize) < migrations.len() {
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", migrations.len() as u32)?;
    }
    transaction.commit()
}

/// Chooses how commits reach the disk: through a write-ahead log, so that readers and one writer do
/// not wait for each other, or through SQLite's rollback journal on file systems without shared
/// memory.
pub(crate) fn choose_journal(db: &Connection) -> Result<()> {
    // An error means no log; if nothing can be written here, the first write reports it.
    let chosen = db.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get::<_, String>(0));
    // With a log, a commit survives the death of this process without waiting for the disk.
    db.pragma_update(None, "synchronous", if chosen.is_ok_and(|mode| mode == "wal") { "NORMAL" } else { "FULL" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::OpenFlags;

    #[test]
    fn a_migration_that_fails_changes_nothing() {
        let db = Connection::open_in_memory().expect("open");
        migrate(&db, MIGRATIONS).expect("version 1");
        let next = [MIGRATIONS[0], "ALTER TABLE runs ADD COLUMN label TEXT", "UPDATE nothing SET x = 1"];
        migrate(&db, &next).expect_err("a step that cannot work");
        assert_eq!(owner(&db).expect("owner"), Owner::Groma(1));
        db.prepare("SELECT label FROM runs").expect_err("the second step was kept");
    }

    #[test]
    fn a_file_system_without_shared_memory_gets_a_rollback_journal() {
        let dir = tempfile::tempdir().expect("tempdir");
        // This locking method emulates such a file system.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let db = Connection::open_with_flags_and_vfs(dir.path().join("s.db"), flags, c"unix-dotfile").expect("open");
        choose_journal(&db).expect("choose");
        migrate(&db, MIGRATIONS).expect("migrate");
        let mode: String = db.pragma_query_value(None, "journal_mode", |row| row.get(0)).expect("mode");
        let sync: u32 = db.pragma_query_value(None, "synchronous", |row| row.get(0)).expect("synchronous");
        assert_eq!((mode.as_str(), sync), ("delete", 2));
    }
}
