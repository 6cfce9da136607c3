//! `groma explain METRIC --run R`: a value of a run, taken apart into primitives.

use std::collections::BTreeSet;

use super::earlier::Earlier;
use super::history::{is_stream, read, records};
use super::{existing_store, print, style};
use crate::flags::{ExplainArgs, StoreArgs};
use crate::message::name;
use crate::program::Program;
use anyhow::{Result, bail};
use groma_analysis::composition::{Explained, Known, explain};
use groma_harness::model::page::{On, Shown};
use groma_harness::model::{Composition, Record, RunHeader};
use groma_report as report;
use groma_runner::select::names_metric;

/// Takes values of a run apart.
pub(super) fn in_run(program: &Program, args: &ExplainArgs, run: &str) -> Result<u8> {
    let wanted = |id: &str| args.select.is_empty() || args.select.iter().any(|select| names_metric(select, id));
    let models = program.all().iter().flat_map(|bench| bench.info.composed_of).filter(|model| wanted(model.of.metric));
    let models: Vec<&Composition> = models.collect();
    if models.is_empty() {
        bail!("{}", unknown(program, &args.select));
    }
    let shown = read(&args.store, run)?;
    let own = Known { own: &shown.records, others: &[] };
    let missing = missing(&explain(&models, &own), &own);
    let others = if is_stream(run) { Vec::new() } else { elsewhere(&args.store, &shown.head, &missing)? };
    let known = Known { own: &shown.records, others: &others };
    let all = explain(&models, &known);
    if all.is_empty() {
        let ids: BTreeSet<&str> = models.iter().map(|model| model.of.metric).collect();
        let ids: Vec<&str> = ids.into_iter().collect();
        bail!("run {} holds no value of {} ({} run {})", shown.head.run, ids.join(", "), name(), ids.join(" "));
    }
    let style = style(false);
    let mut text = if args.select.is_empty() {
        report::compositions(&all, &style)
    } else {
        all.iter().map(|one| report::composition(one, &style)).collect::<Vec<_>>().join("\n")
    };
    if let Some(command) = command(&self::missing(&all, &known)) {
        text += &format!("\nTo measure what is missing: {command}\n");
    }
    print(&text)?;
    Ok(0)
}

/// That nothing of what was asked for is composed, and what is.
fn unknown(program: &Program, select: &[String]) -> String {
    if let Err(error) = program.select(select, groma_harness::model::Tier::Full) {
        return error.to_string();
    }
    let all = program.all().iter().flat_map(|bench| bench.info.composed_of).map(|model| model.of.metric);
    let all: BTreeSet<&str> = all.collect();
    let all: Vec<&str> = all.into_iter().collect();
    format!("{}: not composed of other costs that are measured (these are: {})", select.join(", "), all.join(", "))
}

/// What was looked for in vain.
fn missing(all: &[Explained<'_>], known: &Known<'_>) -> Vec<&'static Shown> {
    let mut missing: Vec<&Shown> = all.iter().flat_map(|one| one.missing(known)).collect();
    missing.sort_by_key(|shown| (shown.metric, shown.params));
    missing.dedup_by_key(|shown| (shown.metric, shown.params, shown.on == On::Two));
    missing
}

/// The records of these metrics in other runs of the machine in the same state, the latest first.
pub(super) fn elsewhere(store: &StoreArgs, head: &RunHeader, missing: &[&Shown]) -> Result<Vec<(String, Vec<Record>)>> {
    if missing.is_empty() {
        return Ok(Vec::new());
    }
    let store = existing_store(store)?;
    let wanted = |metrics: &[groma_harness::model::Metric]| missing.iter().any(|shown| shown.is_of(metrics));
    let mut found = Vec::new();
    for run in Earlier::like(head, std::slice::from_ref(&head.run), &store).runs() {
        // What cannot be read was not there.
        let Ok(stored) = store.load_part(run, None, |point| wanted(&point.metrics)) else { continue };
        found.push((run.to_owned(), records(stored, false).records));
    }
    Ok(found)
}

/// The command that measures these metrics.
pub(super) fn command(missing: &[&Shown]) -> Option<String> {
    let ids: BTreeSet<&str> = missing.iter().map(|shown| shown.metric).collect();
    let ids: Vec<&str> = ids.into_iter().collect();
    (!ids.is_empty()).then(|| format!("{} run {}", name(), ids.join(" ")))
}
