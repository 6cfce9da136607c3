//! The SQLite file's owner, version and migrations.

use std::time::Duration;

use rusqlite::{Connection, Result, Transaction, TransactionBehavior};

/// Marks the file as a groma store, in `PRAGMA application_id`: the letters `grma`.
const APPLICATION_ID: i32 = i32::from_be_bytes(*b"grma");

/// Step n leads from version n to n + 1. A released step is never edited: errors are fixed in a new
/// step.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_rounds.sql"),
    include_str!("migrations/0002_shared_cores.sql"),
    include_str!("migrations/0003_tags.sql"),
];

/// The version of the SQLite file that this groma writes, in `PRAGMA user_version`. The meaning of
/// the JSON columns has its own version, [`groma_model::SCHEMA`].
pub const VERSION: u32 = MIGRATIONS.len() as u32;

/// How long to wait for a lock held by another process.
pub(crate) const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The program that a database belongs to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// None: the database is empty.
    Nobody,
    /// groma, with this version.
    Ours(u32),
    /// Another program, with its application id.
    Other(i32),
}

/// Determines the owner without changing anything.
pub(crate) fn owner(db: &Connection) -> Result<Owner> {
    // One statement, so that a database that another process is creating is seen before or after,
    // not in between.
    let sql = "SELECT a.application_id, v.user_version, (SELECT count(*) FROM sqlite_schema)
               FROM pragma_application_id a, pragma_user_version v";
    let (id, version, tables): (i32, u32, u32) =
        db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(match id {
        APPLICATION_ID => Owner::Ours(version),
        0 if version == 0 && tables == 0 => Owner::Nobody,
        id => Owner::Other(id),
    })
}

/// Brings the database to [`VERSION`] in one transaction. Safe if another process does the same.
pub(crate) fn migrate(db: &Connection) -> Result<()> {
    migrate_with(db, MIGRATIONS)
}

fn migrate_with(db: &Connection, migrations: &[&str]) -> Result<()> {
    let step = Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
    let version: u32 = step.pragma_query_value(None, "user_version", |row| row.get(0))?;
    for sql in migrations.iter().skip(version as usize) {
        step.execute_batch(sql)?;
    }
    if (version as usize) < migrations.len() {
        step.pragma_update(None, "application_id", APPLICATION_ID)?;
        step.pragma_update(None, "user_version", migrations.len() as u32)?;
    }
    step.commit()
}

/// Makes a file of an older version that cannot be written look like one of [`VERSION`] to those
/// who read runs through this connection.
pub(crate) fn see_as_migrated(db: &Connection) -> Result<()> {
    db.execute_batch(include_str!("migrations/read_only.sql"))
}

/// Sets how commits reach the disk: through a write-ahead log, so that readers and one writer do
/// not wait for each other; on file systems that do not support one, through SQLite's rollback
/// journal.
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

    fn version(db: &Connection) -> u32 {
        db.pragma_query_value(None, "user_version", |row| row.get(0)).expect("user_version")
    }

    #[test]
    fn an_old_file_keeps_its_rows_through_a_migration() {
        let db = Connection::open_in_memory().expect("open");
        migrate_with(&db, &MIGRATIONS[..1]).expect("version 1");
        db.execute(
            "INSERT INTO runs VALUES ('r', 't', 1, 'g', 'quick', NULL, NULL, '[]', 'running', 'o', '{}', NULL)",
            [],
        )
        .expect("insert");
        assert_eq!((owner(&db).expect("owner"), version(&db)), (Owner::Ours(1), 1));

        let next = [MIGRATIONS[0], "ALTER TABLE runs ADD COLUMN label TEXT; UPDATE runs SET label = 'old ' || run"];
        migrate_with(&db, &next).expect("version 2");
        assert_eq!(version(&db), 2);
        let label: String = db.query_row("SELECT label FROM runs", [], |row| row.get(0)).expect("row");
        assert_eq!(label, "old r");

        migrate_with(&db, &next).expect("a second time does nothing");
        assert_eq!(version(&db), 2);
    }

    #[test]
    fn a_migration_that_fails_changes_nothing() {
        let db = Connection::open_in_memory().expect("open");
        migrate_with(&db, &MIGRATIONS[..1]).expect("version 1");
        let next = [MIGRATIONS[0], "ALTER TABLE runs ADD COLUMN label TEXT", "UPDATE nothing SET x = 1"];
        migrate_with(&db, &next).expect_err("a step that cannot work");
        assert_eq!(version(&db), 1);
        db.prepare("SELECT label FROM runs").expect_err("the second step was kept");
    }

    #[test]
    fn a_file_system_without_shared_memory_gets_a_rollback_journal() {
        let dir = tempfile::tempdir().expect("tempdir");
        // This locking method emulates such a file system: it has no shared memory, which the log
        // needs.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let db = Connection::open_with_flags_and_vfs(dir.path().join("s.db"), flags, c"unix-dotfile").expect("open");
        choose_journal(&db).expect("choose");
        migrate(&db).expect("migrate");
        let mode: String = db.pragma_query_value(None, "journal_mode", |row| row.get(0)).expect("mode");
        let sync: u32 = db.pragma_query_value(None, "synchronous", |row| row.get(0)).expect("synchronous");
        assert_eq!((mode.as_str(), sync), ("delete", 2));
    }
}
