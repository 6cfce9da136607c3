//! Removes runs and reclaims their space.

use rusqlite::OptionalExtension;

use crate::{Store, StoreError};

/// The space that runs take in a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// The number of runs.
    pub runs: u64,
    /// The number of their rounds.
    pub rounds: u64,
    /// Size of their rows in bytes, without indexes and unused parts of pages.
    pub bytes: u64,
}

impl Store {
    /// The space of these runs; unknown ids are ignored.
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

    /// Removes runs with their points, rounds and tags, in one transaction. The caller checks
    /// whether one of them is still being written ([`crate::RunRow::owner`]).
    ///
    /// # Errors
    /// When the store cannot be written; then nothing is removed.
    pub fn forget(&self, runs: &[String]) -> Result<(), StoreError> {
        self.writable()?;
        // Foreign keys delete the rest of a run with its row.
        self.in_transaction(|| {
            runs.iter().try_for_each(|run| {
                let sql = "DELETE FROM runs WHERE run = ?1";
                let done = self.db.prepare_cached(sql).and_then(|mut delete| delete.execute([run]));
                done.map(|_| ()).map_err(|e| self.error(e))
            })
        })
    }

    /// Rewrites the file without the space of removed runs. Other writers wait meanwhile.
    ///
    /// # Errors
    /// When the file cannot be written, or there is no space for a second copy of what is left; the
    /// store is then as before.
    pub fn compact(&self) -> Result<(), StoreError> {
        self.writable()?;
        // Incremental vacuum was rejected: every run would have to maintain a map of pages.
        // `VACUUM` keeps the order of rowids, which says which run was written first.
        self.db.execute_batch("VACUUM").map_err(|e| self.error(e))?;
        // The file shrinks at the next checkpoint. A reader may prevent this one; the next writer
        // then does it.
        let log = "PRAGMA wal_checkpoint(TRUNCATE)";
        self.db.query_row(log, [], |_| Ok(())).optional().map(|_| ()).map_err(|e| self.error(e))
    }

    /// The size of the file in bytes, without its log.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn file_size(&self) -> Result<u64, StoreError> {
        let unreadable = |e: std::io::Error| StoreError::unreadable(&self.path, &e);
        std::fs::metadata(&self.path).map(|m| m.len()).map_err(unreadable)
    }
}
