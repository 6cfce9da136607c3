//! Finds runs: by tags, by references that a user types, and by filters of the history.

use std::collections::BTreeSet;

use groma_model::Tag;
use rusqlite::{Params, Transaction, TransactionBehavior, params_from_iter};

use crate::{RunStatus, Store, StoreError};

/// The reference to the newest run.
const LATEST: &str = "latest";

/// Prefix of a machine name in a reference.
const HOST: &str = "host:";

/// Selects runs of the history. A run must match every field that is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The name of the machine.
    pub host: Option<String>,
    /// How far the run got, as stored.
    pub status: Option<RunStatus>,
    /// One of its tags.
    pub tag: Option<Tag>,
    /// A prefix of the kernel's release.
    pub kernel: Option<String>,
    /// The earliest start: RFC 3339 in UTC, or a prefix such as a day.
    pub since: Option<String>,
    /// The end of the range of starts, exclusive, in the same form.
    pub before: Option<String>,
    /// Ids of benchmarks; the run must have rounds of at least one.
    pub benches: Option<Vec<String>>,
}

/// The SQL condition of a filter on the rows `r` of `runs`, with the parameters of
/// [`Filter::params`]. RFC 3339 in UTC sorts as text.
pub(crate) const CONDITION: &str = "
    (?1 IS NULL OR r.host = ?1)
    AND (?2 IS NULL OR EXISTS (SELECT 1 FROM tags t WHERE t.tag = ?2 AND t.run = r.run))
    AND (?3 IS NULL OR substr(r.kernel, 1, length(?3)) = ?3)
    AND (?4 IS NULL OR r.started >= ?4)
    AND (?5 IS NULL OR r.started < ?5)
    AND (?6 IS NULL OR EXISTS (
        SELECT 1 FROM points p INDEXED BY points_by_bench CROSS JOIN rounds o ON o.run = p.run AND o.point = p.point
        WHERE p.run = r.run AND p.bench IN (SELECT value FROM json_each(?6))))
    AND (?7 IS NULL OR r.status = ?7)";

/// How the runs `r` are put in order, newest first: what is joined, and by what they are ordered.
///
/// The clock of a machine may be wrong for a while (a board before it has asked for the time, a
/// dead battery), and such a run would be the newest for years. Runs that were made here were
/// written one after the other, and the store knows which was first: none of them is taken to be
/// older than one before it. Runs that came from elsewhere are placed by their own clock.
pub(crate) const ORDER: [&str; 2] = [
    "JOIN (SELECT rowid AS place, CASE WHEN owner = '' THEN started
               ELSE max(CASE WHEN owner = '' THEN '' ELSE started END) OVER (ORDER BY rowid) END AS at
           FROM runs) placed ON placed.place = r.rowid",
    "placed.at DESC, r.rowid DESC",
];
/// The same where the order of writing is that of the clocks, which an index has.
const BY_CLOCK: [&str; 2] = ["", "r.started DESC, r.rowid DESC"];
/// Whether a run was written after one with a later start.
const DISAGREE: &str = "SELECT EXISTS (
    SELECT 1 FROM (SELECT rowid AS place, lag(rowid) OVER (ORDER BY started, rowid) AS before FROM runs)
    WHERE place < before)";

impl Filter {
    pub(crate) fn params(&self) -> impl Params {
        let benches = self.benches.as_ref().map(|ids| serde_json::Value::from(ids.clone()).to_string());
        let tag = self.tag.as_ref().map(Tag::to_string);
        params_from_iter([
            self.host.clone(),
            tag,
            self.kernel.clone(),
            self.since.clone(),
            self.before.clone(),
            benches,
            self.status.map(|status| status.word().to_owned()),
        ])
    }
}

impl Store {
    /// Resolves a reference to a run's id: `latest`, `host:NAME` (the newest run of a machine), an
    /// id, a tag (the newest run that has it), or a unique prefix of an id. `~1` after a reference
    /// that matches several runs selects the run before the newest of them.
    ///
    /// # Errors
    /// [`StoreError::Empty`], [`StoreError::NoRun`], [`StoreError::NoHost`], [`StoreError::TooFew`]
    /// or [`StoreError::Ambiguous`], which name the candidates; or when the store cannot be read.
    pub fn find(&self, text: &str) -> Result<String, StoreError> {
        let (name, back) = split(text);
        let mut runs = self.find_named(name, back.unwrap_or(0).saturating_add(1))?;
        match back {
            None | Some(0) => Ok(runs.swap_remove(0)),
            Some(back) if back < runs.len() => Ok(runs.swap_remove(back)),
            Some(_) => Err(StoreError::TooFew { path: self.path.clone(), text: text.to_owned(), runs }),
        }
    }

    /// All runs that a reference matches, newest first: those with a tag, those of `host:NAME`, or
    /// the one run of any other reference.
    ///
    /// # Errors
    /// As [`Store::find`].
    pub fn find_all(&self, text: &str) -> Result<Vec<String>, StoreError> {
        match split(text) {
            (LATEST, _) | (_, Some(_)) => Ok(vec![self.find(text)?]),
            (name, None) => self.find_named(name, usize::MAX),
        }
    }

    /// The first `most` runs of a reference without `~`, newest first; at least one.
    fn find_named(&self, name: &str, most: usize) -> Result<Vec<String>, StoreError> {
        let all = Filter::default();
        let latest = self.ids_that(&all, if name == LATEST { most } else { 1 })?;
        if latest.is_empty() {
            return Err(StoreError::Empty { path: self.path.clone() });
        }
        if name == LATEST {
            return Ok(latest);
        }
        if let Some(host) = name.strip_prefix(HOST) {
            let runs = self.ids_that(&Filter { host: Some(host.to_owned()), ..all }, most)?;
            return if runs.is_empty() { Err(self.no_host(host)?) } else { Ok(runs) };
        }
        if !self.texts("SELECT run FROM runs WHERE run = ?1", [name])?.is_empty() {
            return Ok(vec![name.to_owned()]);
        }
        if let Ok(tag) = name.parse() {
            let runs = self.ids_that(&Filter { tag: Some(tag), ..all }, most)?;
            if !runs.is_empty() {
                return Ok(runs);
            }
        }
        let [join, order] = self.order()?;
        let sql = format!("SELECT r.run FROM runs r {join} WHERE substr(r.run, 1, length(?1)) = ?1 ORDER BY {order}");
        let candidates = self.texts(&sql, [name])?;
        match candidates.len() {
            0 => Err(self.no_run(name)?),
            1 => Ok(candidates),
            _ => Err(StoreError::Ambiguous { path: self.path.clone(), text: name.to_owned(), candidates }),
        }
    }

    /// The ids of the first `most` runs that match the filter, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn ids_that(&self, filter: &Filter, most: usize) -> Result<Vec<String>, StoreError> {
        let most = i64::try_from(most).unwrap_or(-1);
        let [join, order] = self.order()?;
        let sql = format!("SELECT r.run FROM runs r {join} WHERE {CONDITION} ORDER BY {order} LIMIT {most}");
        self.texts(&sql, filter.params())
    }

    /// How runs are put in order now.
    pub(crate) fn order(&self) -> Result<[&'static str; 2], StoreError> {
        let disagree: bool = self.db.query_row(DISAGREE, [], |row| row.get(0)).map_err(|e| self.error(e))?;
        Ok(if disagree { ORDER } else { BY_CLOCK })
    }

    /// The run that was made here right before this one, and when it began, if that is later by its
    /// clock: one of the two clocks was wrong.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn clock_contradiction(&self, run: &str) -> Result<Option<(String, String)>, StoreError> {
        let sql = "SELECT o.run, o.started FROM runs r JOIN runs o
                       ON o.rowid = (SELECT max(b.rowid) FROM runs b WHERE b.rowid < r.rowid AND b.owner <> '')
                   WHERE r.run = ?1 AND r.owner <> '' AND o.started > r.started";
        let found = self.collect(sql, [run], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(found.into_iter().next())
    }

    /// The error for an unknown run, with the newest runs and all tags.
    pub(crate) fn no_run(&self, text: &str) -> Result<StoreError, StoreError> {
        Ok(StoreError::NoRun {
            path: self.path.clone(),
            text: text.to_owned(),
            latest: self.ids_that(&Filter::default(), 5)?,
            tags: self.texts("SELECT DISTINCT tag FROM tags ORDER BY tag", [])?,
        })
    }

    fn no_host(&self, host: &str) -> Result<StoreError, StoreError> {
        let hosts = self.texts("SELECT DISTINCT host FROM runs WHERE host IS NOT NULL ORDER BY host", [])?;
        Ok(StoreError::NoHost { path: self.path.clone(), host: host.to_owned(), hosts })
    }

    fn texts(&self, sql: &str, params: impl Params) -> Result<Vec<String>, StoreError> {
        self.collect(sql, params, |row| Ok(row.get(0)?))
    }

    /// The tags of a run.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn tags(&self, run: &str) -> Result<BTreeSet<Tag>, StoreError> {
        let tags = self.texts("SELECT tag FROM tags WHERE run = ?1", [run])?;
        tags.iter().map(|tag| self.parse(&serde_json::Value::from(tag.as_str()).to_string(), run, "tag")).collect()
    }

    /// Adds tags to a run.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn tag<'t>(&self, run: &str, tags: impl IntoIterator<Item = &'t Tag>) -> Result<(), StoreError> {
        self.writable()?;
        self.in_transaction(|| self.insert_tags(run, tags))
    }

    /// [`Store::tag`] within the caller's transaction.
    pub(crate) fn insert_tags<'t>(&self, run: &str, tags: impl IntoIterator<Item = &'t Tag>) -> Result<(), StoreError> {
        self.each_tag("INSERT OR IGNORE INTO tags (run, tag) VALUES (?1, ?2)", run, tags)
    }

    /// Removes tags from a run; tags that it does not have are ignored.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn untag<'t>(&self, run: &str, tags: impl IntoIterator<Item = &'t Tag>) -> Result<(), StoreError> {
        self.writable()?;
        self.in_transaction(|| self.each_tag("DELETE FROM tags WHERE run = ?1 AND tag = ?2", run, tags))
    }

    fn each_tag<'t>(&self, sql: &str, run: &str, tags: impl IntoIterator<Item = &'t Tag>) -> Result<(), StoreError> {
        tags.into_iter().try_for_each(|tag| {
            let done = self.db.prepare_cached(sql).and_then(|mut change| change.execute((run, tag.as_str())));
            done.map(|_| ()).map_err(|e| self.error(e))
        })
    }

    /// Does `work` in one transaction, which is rolled back if it fails.
    pub(crate) fn in_transaction<T>(&self, work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        let all = Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate).map_err(|e| self.error(e))?;
        let done = work()?;
        all.commit().map_err(|e| self.error(e))?;
        Ok(done)
    }
}

/// A reference without `~N`, and N.
fn split(text: &str) -> (&str, Option<usize>) {
    match text.rsplit_once('~').map(|(name, back)| (name, back.parse())) {
        Some((name, Ok(back))) => (name, Some(back)),
        _ => (text, None),
    }
}
