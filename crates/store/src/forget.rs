//! Removes runs, and gives their space back.

use rusqlite::OptionalExtension;

use crate::{Store, StoreError};

/// What runs take in a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// The number of runs.
    pub runs: u64,
    /// The number of their rounds.
    pub rounds: u64,
    /// The bytes of their rows, without indexes and unused parts of pages.
    pub bytes: u64,
}

impl Store {
    /// What these runs take; ids that the store does not have count nothing.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn extent(&self, runs: &[String]) -> Result<Extent, StoreError> {
        let sql = "
            SELECT 1, 0, octet_length(header) + octet_length(args) + coalesce(octet_length(ending), 0)
                   + coalesce((SELECT sum(octet_length(definition) + octet_length(params)) FROM points WHERE run = ?1), 0)
            FROM runs WHERE run = ?1
            UNION ALL
            SELECT 0, count(*), coalesce(sum(octet_length(result) + octet_length(reason)), 0)
            FROM rounds WHERE run = ?1";
        let mut all = Extent::default();
        for run in runs {
            for (runs, rounds, bytes) in self.collect(sql, [run], |row| {
                let counts: (u32, u32, i64) = row.try_into()?;
                Ok(counts)
            })? {
                all.runs += u64::from(runs);
                all.rounds += u64::from(rounds);
                all.bytes += u64::try_from(bytes).unwrap_or(0);
            }
        }
        Ok(all)
    }

    /// Removes runs with all that belongs to them, in one transaction. Whether one of them is still
    /// being written is for the caller to know ([`crate::RunRow::owner`]).
    ///
    /// # Errors
    /// When the store cannot be written; nothing is removed then.
    pub fn forget(&self, runs: &[String]) -> Result<(), StoreError> {
        self.writable()?;
        // What refers to the row of a run is deleted with it.
        self.in_one(|| {
            runs.iter().try_for_each(|run| {
                let sql = "DELETE FROM runs WHERE run = ?1";
                let done = self.db.prepare_cached(sql).and_then(|mut delete| delete.execute([run]));
                done.map(|_| ()).map_err(|e| self.error(e))
            })
        })
    }

    /// Gives the space of removed runs back to the file system, by writing the file anew. Meanwhile
    /// nobody else can write: a run that is being written waits.
    ///
    /// # Errors
    /// When the file cannot be written, or there is no space for a second copy of what is left; the
    /// store is then as before.
    pub fn compact(&self) -> Result<(), StoreError> {
        self.writable()?;
        // `VACUUM` and not the incremental one, which has to be chosen before the first table is
        // made (stores that exist would need a `VACUUM` for it) and costs every run a map of its
        // pages. The order of rows, by which runs of the same second are told apart, stays.
        self.db.execute_batch("VACUUM").map_err(|e| self.error(e))?;
        // The file shrinks when the log has been written into it. Whoever reads meanwhile prevents
        // that; the next writer then does it.
        let log = "PRAGMA wal_checkpoint(TRUNCATE)";
        self.db.query_row(log, [], |_| Ok(())).optional().map(|_| ()).map_err(|e| self.error(e))
    }

    /// The size of the file in bytes, without its log.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn file_size(&self) -> Result<u64, StoreError> {
        let unreadable = |e: std::io::Error| StoreError::Unreadable { path: self.path.clone(), reason: e.to_string() };
        std::fs::metadata(&self.path).map(|m| m.len()).map_err(unreadable)
    }
}
