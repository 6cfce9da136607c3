//! Merges runs from other stores, and from streams with rounds, into a store.

use std::collections::BTreeSet;
use std::path::Path;

use groma_model::RunHeader;
use rusqlite::OptionalExtension;

use crate::kind::Opened;
use crate::ndjson::Runs;
use crate::{FileKind, HOST_NAME, Store, StoreError, StoredRun, ndjson};

/// A source of runs to merge.
#[derive(Debug)]
pub enum Source {
    /// Another store, opened read-only.
    Store(Store),
    /// A stream of runs with their rounds.
    Stream(Box<Runs<Opened>>),
}

impl Source {
    /// Opens a file; its first bytes tell which of the two it is.
    ///
    /// # Errors
    /// When it is neither, or cannot be read.
    pub fn open(path: &Path) -> Result<Source, StoreError> {
        let (kind, file) = FileKind::open(path)?;
        Source::of(kind, file, path)
    }

    /// The same of a file that was opened.
    ///
    /// # Errors
    /// As [`open`](Source::open).
    pub fn of(kind: FileKind, file: Opened, path: &Path) -> Result<Source, StoreError> {
        match ndjson::lines_of(kind, file, path)? {
            None => Store::open_to_read(path).map(Source::Store),
            Some(file) => Ok(Source::Stream(Box::new(Runs::new(file, path)))),
        }
    }
}

/// What merging a run changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merged {
    /// The run is new.
    Added,
    /// The store had the run without its end, and now has all of it.
    Completed,
    /// The store had the run; at most tags were added.
    Known,
}

impl Store {
    /// Adds a run to the store, in one transaction. A run that the store has already is kept once,
    /// with the tags of both. A run without an end becomes `killed`: if it is still being written,
    /// then not to this store.
    ///
    /// # Errors
    /// [`StoreError::Another`] if a different run has its id, or when the store cannot be written.
    /// The store is then as before.
    pub fn merge(&self, run: &StoredRun) -> Result<Merged, StoreError> {
        self.writable()?;
        self.in_transaction(|| {
            let id = &run.header.run;
            let sql = "SELECT header, ending IS NOT NULL FROM runs WHERE run = ?1";
            let known: Option<(String, bool)> =
                self.db.query_row(sql, [id], |row| row.try_into()).optional().map_err(|e| self.error(e))?;
            let (merged, tags) = match known {
                None => (Merged::Added, BTreeSet::new()),
                Some((header, ended)) => {
                    self.assert_same(&self.header(&header, id)?, &run.header)?;
                    if ended || run.end.is_none() {
                        self.insert_tags(id, &run.header.tags)?;
                        return Ok(Merged::Known);
                    }
                    let tags = self.tags(id)?;
                    self.db.execute("DELETE FROM runs WHERE run = ?1", [id]).map_err(|e| self.error(e))?;
                    (Merged::Completed, tags)
                }
            };
            let points: Vec<_> = run.points.iter().map(|(point, _)| point.clone()).collect();
            self.insert_head(&run.header, &points, "")?;
            self.insert_tags(id, &tags)?;
            for (number, (_, rounds)) in run.points.iter().enumerate() {
                rounds.iter().try_for_each(|round| self.insert_round(id, number, round))?;
            }
            match &run.end {
                Some(end) => self.set_end(id, end)?,
                None => {
                    self.set_killed(id)?;
                }
            }
            Ok(merged)
        })
    }

    /// Two runs with one id are the same if their headers are, apart from tags.
    fn assert_same(&self, known: &RunHeader, merged: &RunHeader) -> Result<(), StoreError> {
        let untagged = |head: &RunHeader| RunHeader { tags: BTreeSet::new(), ..head.clone() };
        if untagged(known) == untagged(merged) {
            return Ok(());
        }
        let host = known.environment.get(HOST_NAME).unwrap_or("an unknown host");
        Err(StoreError::Another {
            path: self.path.clone(),
            run: known.run.clone(),
            what: format!("of {host}, begun {}, seed {}", known.started, known.seed),
        })
    }
}
