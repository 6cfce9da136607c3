//! `groma baseline`: what runs found as a small file, and the smallest change it can detect.

use std::collections::HashMap;
use std::path::Path;

use anyhow::Result;
use groma_analysis::compare::environment::is_volatile;
use groma_analysis::compare::identity;
use groma_analysis::floors;
use groma_harness::model::{Record, Tag};
use groma_report as report;
use groma_store::{Baseline, BaselineMetric, Filter};

use super::history::is_stream;
use super::sides::{Runs, all_of};
use super::{existing_store, print, style};
use crate::flags::{BaselineVerb, StoreArgs};
use crate::message::name;
use crate::out_file::Named;
use crate::program::Program;

/// Writes, lists or shows baselines.
pub(crate) fn baseline(program: &Program, verb: &BaselineVerb) -> Result<u8> {
    match verb {
        BaselineVerb::Set { file, runs, store } => set(file, runs, store),
        BaselineVerb::List { store } => list(store),
        BaselineVerb::Show { runs, all, store } => show(program, runs, *all, store),
    }?;
    Ok(0)
}

/// These runs taken as one, and what the runs of the machine in the same state found, the newest of
/// these left out.
fn read(words: &[String], all: bool, store: &StoreArgs) -> Result<(Runs, HashMap<String, Vec<f64>>)> {
    let mut runs = Runs::load(store, &(words.join(","), all_of(store, words)?), all, |_| true)?;
    let store = existing_store(store).ok();
    let newest = [runs.head().run.clone()];
    let known = runs.others(store.as_ref(), &newest);
    Ok((runs, known))
}

fn set(file: &Path, words: &[String], store: &StoreArgs) -> Result<()> {
    let out = Named::open("baseline set", file)?;
    let (runs, known) = read(words, true, store)?;
    let of = |record: &Record| known.get(&identity(record)).cloned().unwrap_or_default();
    let metrics = runs.records.iter().map(|record| BaselineMetric { record: record.clone(), runs: of(record) });
    let mut head = runs.head().clone();
    // What differs from minute to minute would be in every diff of two baselines.
    head.environment.facts.retain(|fact| !is_volatile(&fact.key));
    let baseline = Baseline { head, runs: runs.runs.clone(), metrics: metrics.collect() };
    let mut text = Vec::new();
    baseline.write(&mut text, &file.display().to_string())?;
    out.write(&text)?;
    let how_many = report::units::counted(baseline.runs.len(), "run");
    let file = file.display().to_string();
    // As commands take it.
    let typed = if is_stream(&file) { file.clone() } else { format!("./{file}") };
    print(&format!(
        "{file}: {} of {how_many} ({} gate --baseline {typed} holds a machine against it)\n",
        report::units::counted(baseline.metrics.len(), "metric"),
        name()
    ))
}

fn list(args: &StoreArgs) -> Result<()> {
    let store = existing_store(args)?;
    let mut tags: Vec<(Tag, usize, String)> = Vec::new();
    for run in store.runs_that(&Filter::default())? {
        for tag in run.tags {
            match tags.iter_mut().find(|(known, ..)| *known == tag) {
                Some((_, runs, _)) => *runs += 1,
                None => tags.push((tag, 1, run.started.clone())),
            }
        }
    }
    print(&report::tags(&tags, &style(false)))
}

/// Shows the smallest change that can be detected in each metric of these runs.
pub(super) fn show(program: &Program, words: &[String], all: bool, store: &StoreArgs) -> Result<()> {
    let (runs, known) = read(words, all, store)?;
    let of = |record: &Record| {
        let others = known.get(&identity(record)).into_iter().flatten().copied();
        others.chain(record.value).collect()
    };
    let mut found = floors::floors(&runs.records, of);
    let pages = program.known_families().pages;
    let on_page = |record: &Record| pages.shown().any(|shown| shown.metric == record.id && shown.has(&record.params));
    if !all && found.iter().any(|(record, _)| on_page(record)) {
        found.retain(|(record, _)| on_page(record));
    }
    print(&report::floors(program.known_families(), &found, &style(all)))
}
