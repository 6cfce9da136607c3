//! `groma compare`: runs side by side.

use std::collections::HashMap;

use anyhow::{Context, Result, bail};
use groma_analysis::compare::environment::differences;
use groma_analysis::compare::{
    Gate, compare as records_beside, compare_pairs, identity, in_cycles, paired_rounds, pooled, relative_to,
};
use groma_harness::model::{Record, RunHeader};
use groma_report::{self as report, Compared, Relative, Side};
use groma_runner::select::names_metric;
use groma_store::Store;

use super::earlier::Earlier;
use super::history::{Shown, is_stream, read};
use super::{existing_store, print, style};
use crate::flags::CompareArgs;
use crate::message::name;
use crate::program::Program;

/// Runs that are taken as one.
struct Runs {
    /// What was typed.
    name: String,
    heads: Vec<RunHeader>,
    newest: Shown,
    /// The records of all of them.
    records: Vec<Record>,
    /// Other runs of the same machine in the same state.
    like: usize,
}

impl Runs {
    /// Reads the runs that these words name, with the metrics that are selected.
    fn load(
        args: &CompareArgs,
        (name, words): &(String, Vec<String>),
        is_selected: impl Fn(&str) -> bool,
    ) -> Result<Runs> {
        let mut shown: Vec<Shown> = words.iter().map(|word| read(&args.store, word)).collect::<Result<_>>()?;
        shown.sort_by(|a, b| a.head.started.cmp(&b.head.started));
        shown.iter_mut().for_each(|one| one.keep_points(&is_selected));
        let mut records = pooled(shown.iter().rev().map(|one| one.records.clone()).collect());
        records.retain(|record| is_selected(&record.id) && (args.all || !record.detail));
        let heads = shown.iter().map(|one| one.head.clone()).collect();
        let newest = shown.pop().context("a side needs a run")?;
        Ok(Runs { name: name.clone(), heads, newest, records, like: 0 })
    }

    fn head(&self) -> &RunHeader {
        &self.newest.head
    }

    /// Whether these are one run each whose rounds were made in turns.
    fn is_in_turns_with(&self, other: &Runs) -> bool {
        self.heads.len() == 1 && other.heads.len() == 1 && are_in_turns(&self.newest, &other.newest)
    }

    fn side(&self) -> Side<'_> {
        Side { name: &self.name, head: self.head(), runs: self.heads.len(), like: self.like }
    }

    /// What other runs of the same machine in the same state found of each metric.
    fn others(&mut self, store: &Store, sides: &[String]) -> HashMap<String, Vec<f64>> {
        let (like, values) = runs_like(&self.newest, sides, store);
        self.like = like;
        values
    }

    /// The records as multiples of something.
    fn relative(&mut self, relative: Relative<'_>) -> Result<()> {
        match relative {
            Relative::Absolute => {}
            Relative::Cycles => self.records = in_cycles(&self.records),
            Relative::Metric(id) => match relative_to(&self.records, id) {
                Some(records) => self.records = records,
                None => bail!("--relative {id}: run {} has no time of it", self.head().run),
            },
        }
        Ok(())
    }
}

/// Whether the rounds of two runs were made in turns.
pub(super) fn are_in_turns(a: &Shown, b: &Shown) -> bool {
    let is_with = |a: &Shown, b: &Shown| a.head.in_turns.as_ref().is_some_and(|turns| turns.with == b.head.run);
    a.points == b.points && is_with(a, b) && is_with(b, a)
}

/// What other runs of the same machine in the same state, but for these, found of each metric by its
/// identity; and how many runs they are.
pub(super) fn runs_like(run: &Shown, except: &[String], store: &Store) -> (usize, HashMap<String, Vec<f64>>) {
    let earlier = Earlier::like(&run.head, except, store);
    let values = earlier.histories(&run.points, &run.records);
    (earlier.count(), run.records.iter().map(identity).zip(values).collect())
}

/// Compares runs.
pub(crate) fn compare(program: &Program, args: &CompareArgs) -> Result<u8> {
    let relative = match args.relative.as_deref() {
        None => Relative::Absolute,
        Some("cycles") => Relative::Cycles,
        Some(metric) => Relative::Metric(metric),
    };
    let is_selected = |id: &str| {
        let selected = args.select.is_empty() || args.select.iter().any(|select| names_metric(select, id));
        selected || relative == Relative::Metric(id)
    };
    let mut sides: Vec<Runs> =
        words(args)?.iter().map(|words| Runs::load(args, words, is_selected)).collect::<Result<_>>()?;
    let in_turns = |a: &Runs, b: &Runs| relative == Relative::Absolute && a.is_in_turns_with(b);
    let ids: Vec<String> = sides.iter().flat_map(|side| &side.heads).map(|head| head.run.clone()).collect();
    let (first, rest) = sides.split_first_mut().context("there is no run to compare")?;
    // Rounds in turns need no other runs, and two files of streams no store.
    let known = match existing_store(&args.store) {
        Ok(store) if !rest.iter().all(|side| in_turns(first, side)) => first.others(&store, &ids),
        _ => HashMap::new(),
    };
    let absolute: HashMap<String, f64> =
        first.records.iter().filter_map(|record| Some((identity(record), record.value?))).collect();
    first.relative(relative)?;
    rest.iter_mut().try_for_each(|side| side.relative(relative))?;
    let earlier = |record: &Record| {
        let key = identity(record);
        // In the unit that values are compared in.
        let scale = record.value.zip(absolute.get(&key)).map_or(1.0, |(now, then)| now / then);
        known.get(&key).into_iter().flatten().map(|value| value * scale).collect()
    };
    let (first, rest) = (&*first, &*rest);
    let beside = |side| {
        let in_turns = in_turns(first, side);
        let comparison = if in_turns {
            let paired = paired_rounds(&first.newest.points, [&first.newest.rounds, &side.newest.rounds]);
            compare_pairs(&first.records, &side.records, &paired)
        } else {
            records_beside(&first.records, &side.records, &earlier)
        };
        Compared { side: side.side(), differences: differences(first.head(), side.head()), comparison, in_turns }
    };
    let others: Vec<Compared<'_>> = rest.iter().map(beside).collect();
    if let Some(other) = others.iter().find(|other| other.comparison.pairs.is_empty()) {
        bail!(
            "runs {} and {} have no metric with a value in common ({} show --states RUN)",
            first.head().run,
            other.side.head.run,
            name()
        );
    }
    print(&report::compare(
        program.known_families(),
        first.side(),
        &others,
        relative,
        args.outcome.format,
        &style(args.all),
    ))?;
    Ok(gate(&others, args.outcome.gate))
}

/// Something became slower.
const REGRESSION: u8 = 1;
/// It cannot be told.
const TOO_NOISY: u8 = 3;

/// The exit code of a comparison, where one is asked for; `tolerated` is in percent.
pub(super) fn gate(others: &[Compared<'_>], tolerated: Option<f64>) -> u8 {
    let Some(percent) = tolerated else { return 0 };
    let gates: Vec<Gate> = others.iter().map(|other| other.comparison.gate(percent / 100.0)).collect();
    if gates.contains(&Gate::Fails) {
        REGRESSION
    } else if gates.contains(&Gate::Unclear) {
        TOO_NOISY
    } else {
        0
    }
}

/// What was typed for each side, and the runs that it names.
fn words(args: &CompareArgs) -> Result<Vec<(String, Vec<String>)>> {
    if !args.a.is_empty() {
        let sides = [&args.a, &args.b].into_iter();
        return sides.map(|words| Ok((words.join(","), all_of(args, words)?))).collect();
    }
    let typed: Vec<&str> = match &args.runs[..] {
        [] => vec!["latest~1", "latest"],
        [one] => vec![one, "latest"],
        several => several.iter().map(String::as_str).collect(),
    };
    Ok(typed.into_iter().map(|run| (run.to_owned(), vec![run.to_owned()])).collect())
}

/// All runs that these words name; a tag is all of its runs.
fn all_of(args: &CompareArgs, words: &[String]) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for word in words {
        if is_stream(word) {
            all.push(word.clone());
        } else {
            all.extend(existing_store(&args.store)?.find_all(word)?);
        }
    }
    Ok(all)
}
