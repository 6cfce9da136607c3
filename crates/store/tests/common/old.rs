//! Files of older versions. Not a part of the fixture: the fuzz targets include that, and have no
//! SQLite of their own.

use groma_store::Store;
use std::path::Path;

/// The fixture in a file as version 1 made it.
pub(crate) fn version_1(path: &Path) {
    let dir = tempfile::tempdir().expect("tempdir");
    let source = dir.path().join("source.db");
    super::common::write(&Store::open(&source).expect("open"), "10");
    let db = rusqlite::Connection::open(path).expect("open");
    db.execute_batch(include_str!("../../src/migrations/0001_rounds.sql")).expect("version 1");
    db.execute_batch(&format!(
        "PRAGMA application_id = 0x67726d61; PRAGMA user_version = 1;
         ATTACH '{}' AS new;
         INSERT INTO runs SELECT run, started, schema, groma, profile, host, noise, args, status, owner, header, ending
                          FROM new.runs;
         INSERT INTO points SELECT * FROM new.points;
         INSERT INTO rounds SELECT * FROM new.rounds;
         INSERT INTO runs SELECT '20', '2026-02', schema, groma, profile, host, noise, args, status, owner, '{{', ending
                          FROM new.runs;",
        source.display()
    ))
    .expect("the rows");
    drop(dir);
}
