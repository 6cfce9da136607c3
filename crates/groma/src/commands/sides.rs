//! The sides of a comparison: runs of the store or of streams that are taken as one, or a baseline.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use groma_analysis::compare::relative::{in_cycles, left_out, relative_to};
use groma_analysis::compare::{Comparison, compare, compare_pairs, identity, paired_rounds, pooled};
use groma_harness::model::{Record, RunHeader};
use groma_report::Side;
use groma_store::{Baseline, Store, is_baseline};

use super::earlier::Earlier;
use super::existing_store;
use super::history::{Shown, is_stream, read};
use crate::flags::StoreArgs;
use crate::reference;

/// Runs that are taken as one.
pub(super) struct Runs {
    /// What was typed.
    pub(super) name: String,
    /// The ids of all of them.
    pub(super) runs: Vec<String>,
    pub(super) newest: Shown,
    /// The records of all of them.
    pub(super) records: Vec<Record>,
    /// The records before they became multiples of something; none where they have not.
    absolute: Vec<Record>,
    /// Other runs of the same machine in the same state.
    like: usize,
    /// What a baseline knows of how runs differ.
    known: HashMap<String, Vec<f64>>,
}

impl Runs {
    /// Reads the runs that these words name, with the metrics that are selected; those that are
    /// intermediate only with `all`.
    pub(super) fn load(
        store: &StoreArgs,
        (name, words): &(String, Vec<String>),
        all: bool,
        is_selected: impl Fn(&str) -> bool,
    ) -> Result<Runs> {
        let baseline = match &words[..] {
            [word] => baseline(word)?,
            _ => None,
        };
        let mut runs = match baseline {
            Some(baseline) => Runs::of_baseline(name, baseline),
            None => {
                let shown: Vec<Shown> = words.iter().map(|word| read(store, word)).collect::<Result<_>>()?;
                Runs::of(name, shown, &is_selected)?
            }
        };
        runs.records.retain(|record| is_selected(&record.id) && (all || !record.detail));
        Ok(runs)
    }

    /// These runs; of each the points that report something selected.
    pub(super) fn of(name: &str, mut shown: Vec<Shown>, is_selected: impl Fn(&str) -> bool) -> Result<Runs> {
        shown.sort_by(|a, b| a.head.started.cmp(&b.head.started));
        shown.iter_mut().for_each(|one| one.keep_points(&is_selected));
        let records = pooled(shown.iter().rev().map(|one| one.records.clone()).collect());
        let runs = shown.iter().map(|one| one.head.run.clone()).collect();
        let newest = shown.pop().context("a side needs a run")?;
        Ok(Runs { name: name.to_owned(), runs, newest, records, absolute: Vec::new(), like: 0, known: HashMap::new() })
    }

    fn of_baseline(name: &str, Baseline { head, runs, metrics }: Baseline) -> Runs {
        let known = metrics.iter().map(|metric| (identity(&metric.record), metric.runs.clone())).collect();
        let records: Vec<Record> = metrics.into_iter().map(|metric| metric.record).collect();
        let newest = Shown { head, points: Vec::new(), rounds: Vec::new(), records: Vec::new(), end: None };
        Runs { name: name.to_owned(), runs, newest, records, absolute: Vec::new(), like: 0, known }
    }

    pub(super) fn head(&self) -> &RunHeader {
        &self.newest.head
    }

    /// Whether these are one run each whose rounds were made in turns.
    pub(super) fn is_in_turns_with(&self, other: &Runs) -> bool {
        self.runs.len() == 1 && other.runs.len() == 1 && are_in_turns(&self.newest, &other.newest)
    }

    pub(super) fn side(&self) -> Side<'_> {
        Side { name: &self.name, head: self.head(), runs: self.runs.len(), like: self.like }
    }

    /// What other runs of the same machine in the same state found of each metric: those that the
    /// baseline knows, or those of the store but for these.
    pub(super) fn others(&mut self, store: Option<&Store>, except: &[String]) -> HashMap<String, Vec<f64>> {
        if !self.known.is_empty() {
            self.like = self.known.values().map(Vec::len).max().unwrap_or(0);
            return self.known.clone();
        }
        let (like, values) = store.map(|store| runs_like(&self.newest, except, store)).unwrap_or_default();
        self.like = like;
        values
    }

    /// Makes the records multiples of the core's cycles, or of the time of the record with this
    /// identity, which is then none of them.
    pub(super) fn scale(&mut self, base: Option<&str>) {
        let scaled = match base {
            None => in_cycles(&self.records),
            Some(base) => relative_to(&self.records, base).unwrap_or_default(),
        };
        self.absolute = std::mem::replace(&mut self.records, scaled);
        self.absolute.retain(|record| Some(identity(record).as_str()) != base);
    }

    /// Keeps the records that are wanted.
    pub(super) fn keep(&mut self, wanted: impl Fn(&str) -> bool) {
        self.records.retain(|record| wanted(&record.id));
        self.absolute.retain(|record| wanted(&record.id));
    }

    /// How many metrics both sides have that are no multiples of anything.
    pub(super) fn unscaled(&self, other: &Runs) -> usize {
        left_out([&self.absolute, &other.absolute], [&self.records, &other.records])
    }

    /// Whether it is a baseline, whose runs are not there.
    pub(super) fn is_baseline(&self) -> bool {
        self.newest.points.is_empty() && !self.records.is_empty()
    }
}

/// Says that nothing was compared because all of it was defined anew since, if it was. `found` are
/// what both sides have, and what of that is defined alike.
pub(super) fn defined_anew(side: &Runs, [both, alike]: [usize; 2]) -> Result<()> {
    if both == 0 || alike > 0 {
        return Ok(());
    }
    let metrics = groma_report::units::counted(both, "metric");
    match side.is_baseline() {
        true => bail!("{}: all that it holds ({metrics}) is defined anew since; make the baseline again", side.name),
        false => bail!("{}: all that both sides have ({metrics}) is defined anew in between; measure again", side.name),
    }
}

/// The records of two sides beside each other: by their pairs of rounds where the newest runs were
/// made in turns, and else by what other runs found of each metric.
pub(super) fn beside<'r>(
    [(a, ours), (b, theirs)]: [(&Shown, &'r [Record]); 2],
    in_turns: bool,
    earlier: &dyn Fn(&Record) -> Vec<f64>,
) -> Comparison<'r> {
    if in_turns {
        compare_pairs(ours, theirs, &paired_rounds(&a.points, [&a.rounds, &b.rounds]))
    } else {
        compare(ours, theirs, earlier)
    }
}

/// Whether the rounds of two runs were made in turns.
pub(super) fn are_in_turns(a: &Shown, b: &Shown) -> bool {
    let is_with = |a: &Shown, b: &Shown| a.head.in_turns.as_ref().is_some_and(|turns| turns.with == b.head.run);
    a.points == b.points && is_with(a, b) && is_with(b, a)
}

/// What other runs of the same machine in the same state, but for these, found of each metric by
/// its identity; and how many runs they are.
pub(super) fn runs_like(run: &Shown, except: &[String], store: &Store) -> (usize, HashMap<String, Vec<f64>>) {
    let earlier = Earlier::like(&run.head, except, store);
    let values = earlier.histories(&run.points, &run.records);
    (earlier.count(), run.records.iter().map(identity).zip(values).collect())
}

/// The baseline that a text names: a file, or a machine that the program knows.
pub(super) fn baseline(text: &str) -> Result<Option<Baseline>> {
    let file = Path::new(text);
    if is_stream(text) && is_baseline(file) {
        return Ok(Some(Baseline::read(file)?));
    }
    reference::named(text)?.map(|reference| reference.baseline()).transpose()
}

/// All runs that these words name; a tag is all of its runs.
pub(super) fn all_of(store: &StoreArgs, words: &[String]) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for word in words {
        if is_stream(word) || reference::named(word)?.is_some() {
            all.push(word.clone());
        } else {
            all.extend(existing_store(store)?.find_all(word)?);
        }
    }
    Ok(all)
}
