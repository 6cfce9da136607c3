//! The sides of a comparison: each is one or several runs taken as one, or a baseline.

use crate::args::StoreArgs;
use crate::earlier::Earlier;
use crate::reference;
use crate::store::{Shown, existing_store, is_stream, read, tell_lost};
use anyhow::{Context, Result, bail};
use groma_analysis::compare::relative::{in_cycles, left_out, relative_to};
use groma_analysis::compare::{Comparison, compare, compare_pairs, identity, paired_rounds, pool};
use groma_harness::model::{Record, RunHeader};
use groma_report::Side;
use groma_store::{Baseline, FileKind, Store};
use std::collections::HashMap;
use std::path::Path;

/// One side: runs that are taken as one, or a baseline.
pub(crate) struct Runs {
    /// The name of the side, as typed.
    pub(crate) name: String,
    /// The ids of its runs.
    pub(crate) runs: Vec<String>,
    pub(crate) newest: Shown,
    /// The records, pooled over the runs.
    pub(crate) records: Vec<Record>,
    /// The records before [`scale`](Runs::scale); empty without it.
    absolute: Vec<Record>,
    /// How many other runs of the same machine in the same state are known.
    like: usize,
    /// The values of several runs for each metric, by its identity, which a baseline holds.
    known: HashMap<String, Vec<f64>>,
}

impl Runs {
    /// Reads the runs that `words` name, with the selected metrics; intermediate ones only with
    /// `all`.
    pub(crate) fn load(
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

    /// A side of these runs; keeps the points that report a selected metric.
    pub(crate) fn of(name: &str, mut shown: Vec<Shown>, is_selected: impl Fn(&str) -> bool) -> Result<Runs> {
        shown.sort_by(|a, b| a.head.started.cmp(&b.head.started));
        shown.iter_mut().for_each(|one| one.keep_points(&is_selected));
        let records = pool(shown.iter().rev().map(|one| one.records.clone()).collect());
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

    pub(crate) fn head(&self) -> &RunHeader {
        &self.newest.head
    }

    /// Whether both sides are single runs whose rounds were measured in turns.
    pub(crate) fn is_in_turns_with(&self, other: &Runs) -> bool {
        self.runs.len() == 1 && other.runs.len() == 1 && are_in_turns(&self.newest, &other.newest)
    }

    pub(crate) fn side(&self) -> Side<'_> {
        Side { name: &self.name, head: self.head(), runs: self.runs.len(), like: self.like }
    }

    /// The values of each metric in other runs of the same machine in the same state: those in the
    /// baseline, or those in the store without the runs in `except`.
    pub(crate) fn others(&mut self, store: Option<&Store>, except: &[String]) -> HashMap<String, Vec<f64>> {
        if !self.known.is_empty() {
            self.like = self.known.values().map(Vec::len).max().unwrap_or(0);
            return self.known.clone();
        }
        let (like, values) = store.map(|store| runs_like(&self.newest, except, store)).unwrap_or_default();
        self.like = like;
        values
    }

    /// Turns the values into core cycles, or into multiples of the value of the record whose
    /// identity is `base`, which is removed.
    pub(crate) fn scale(&mut self, base: Option<&str>) {
        let scaled = match base {
            None => in_cycles(&self.records),
            Some(base) => relative_to(&self.records, base).unwrap_or_default(),
        };
        self.absolute = std::mem::replace(&mut self.records, scaled);
        self.absolute.retain(|record| Some(identity(record).as_str()) != base);
    }

    /// Keeps the wanted records.
    pub(crate) fn keep(&mut self, wanted: impl Fn(&str) -> bool) {
        self.records.retain(|record| wanted(&record.id));
        self.absolute.retain(|record| wanted(&record.id));
    }

    /// How many metrics that both sides have could not be scaled.
    pub(crate) fn count_unscaled(&self, other: &Runs) -> usize {
        left_out([&self.absolute, &other.absolute], [&self.records, &other.records])
    }

    /// Whether it is a baseline, which has records but no points.
    pub(crate) fn is_baseline(&self) -> bool {
        self.newest.points.is_empty() && !self.records.is_empty()
    }
}

/// Refuses a comparison in which every common metric has another version on each side. `both`
/// counts the common metrics, `alike` those of the same version.
pub(crate) fn require_same_version(side: &Runs, [both, alike]: [usize; 2]) -> Result<()> {
    if both == 0 || alike > 0 {
        return Ok(());
    }
    let metrics = groma_report::units::counted(both, "metric");
    match side.is_baseline() {
        true => bail!("{}: all that it holds ({metrics}) is defined anew since; make the baseline again", side.name),
        false => bail!("{}: all that both sides have ({metrics}) is defined anew in between; measure again", side.name),
    }
}

/// Compares the records of two sides: by pairs of rounds if they were measured `in_turns`,
/// otherwise with the values of other runs that `earlier` returns for a record.
pub(crate) fn beside<'r>(
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

/// Whether the rounds of two runs were measured in turns.
pub(crate) fn are_in_turns(a: &Shown, b: &Shown) -> bool {
    let is_with = |a: &Shown, b: &Shown| a.head.in_turns.as_ref().is_some_and(|turns| turns.with == b.head.run);
    a.points == b.points && is_with(a, b) && is_with(b, a)
}

/// The other runs of the same machine in the same state, without those in `except`: how many they
/// are, and the values of each metric in them, by its identity.
pub(crate) fn runs_like(run: &Shown, except: &[String], store: &Store) -> (usize, HashMap<String, Vec<f64>>) {
    let earlier = Earlier::like(&run.head, except, store);
    let values = earlier.histories(&run.points, &run.records);
    (earlier.count(), run.records.iter().map(identity).zip(values).collect())
}

/// The baseline that a text names: a file or a reference machine.
pub(crate) fn baseline(text: &str) -> Result<Option<Baseline>> {
    let file = Path::new(text);
    if is_stream(text)
        && let Ok((FileKind::Baseline, lines)) = FileKind::open(file)
    {
        let (baseline, lost) = Baseline::of_lines_noted(lines, file)?;
        tell_lost(text, lost.as_ref());
        return Ok(Some(baseline));
    }
    reference::find_reference(text)?.map(|reference| reference.baseline()).transpose()
}

/// The runs that these words name; a tag stands for all its runs.
pub(crate) fn all_of(store: &StoreArgs, words: &[String]) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for word in words {
        if is_stream(word) || reference::find_reference(word)?.is_some() {
            all.push(word.clone());
        } else {
            all.extend(existing_store(store)?.find_all(word)?);
        }
    }
    Ok(all)
}
