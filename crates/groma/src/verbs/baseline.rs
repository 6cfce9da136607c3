//! `groma baseline`: the records of runs in a small file, and the smallest change it can detect.

use crate::args::StoreArgs;
use crate::out_file::Named;
use crate::print::{name, print};
use crate::program::Program;
use crate::sides::{Runs, all_of};
use crate::store::{existing_store, is_stream};
use crate::view::{View, ViewArgs};
use anyhow::Result;
use clap::{Args, Subcommand};
use groma_analysis::compare::environment::is_volatile;
use groma_analysis::compare::identity;
use groma_analysis::floors;
use groma_harness::model::{Record, Tag};
use groma_report as report;
use groma_store::{Baseline, BaselineMetric, Filter};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

const HELP: &str = "Examples:
  groma run --tag main                several times: more runs, smaller changes
  groma baseline set base.ndjson main
      the runs with this tag as a file, small enough for version control
  groma baseline show base.ndjson     the smallest change it can detect
  groma baseline list
      the tags of the store that can serve as one
  groma gate --baseline base.ndjson   check this machine against it";

/// Keep what runs found in a small file, to compare with and to hold in version control
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct BaselineArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Write what runs found into a file
    Set {
        /// The file to write
        file: PathBuf,
        /// The runs: ids, tags (all of their runs), latest, host:NAME
        #[arg(value_name = "RUN", default_value = "latest")]
        runs: Vec<String>,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// List the tags of the store, with how many runs each has
    List {
        #[command(flatten)]
        view: ViewArgs,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Show a baseline, or runs that could be one: each metric, and the smallest change in it that
    /// can be detected
    Show {
        /// A file, a tag or a run
        #[arg(value_name = "RUN", default_value = "latest")]
        runs: Vec<String>,
        /// Every metric, not only those of the pages
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        view: ViewArgs,
        #[command(flatten)]
        store: StoreArgs,
    },
}

/// Writes, lists or shows baselines.
pub(super) fn run(program: &Program, args: &BaselineArgs) -> Result<u8> {
    match &args.verb {
        Verb::Set { file, runs, store } => set(file, runs, store),
        Verb::List { view, store } => list(view, store),
        Verb::Show { runs, all, view, store } => show(program, runs, *all, view.open(*all)?, store),
    }?;
    Ok(0)
}

/// Reads runs as one side. Also returns the values of each metric, by its identity, in all runs of
/// the same machine in the same state but the newest of these.
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
    // Facts that change from minute to minute would be in every diff of two baselines.
    head.environment.facts.retain(|fact| !is_volatile(&fact.key));
    let baseline = Baseline { head, runs: runs.runs.clone(), metrics: metrics.collect() };
    let mut text = Vec::new();
    baseline.write(&mut text, &file.display().to_string())?;
    out.write(&text)?;
    let how_many = report::units::counted(baseline.runs.len(), "run");
    let file = file.display().to_string();
    // As a verb recognises a file.
    let typed = if is_stream(&file) { file.clone() } else { format!("./{file}") };
    print(&format!(
        "{file}: {} of {how_many} ({} gate --baseline {typed} holds a machine against it)\n",
        report::units::counted(baseline.metrics.len(), "metric"),
        name()
    ))
}

fn list(view: &ViewArgs, args: &StoreArgs) -> Result<()> {
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
    let view = view.open(false)?;
    let document = report::tags(&tags, &view.style);
    view.show(&document)
}

/// Shows the smallest change that is detectable in each metric of these runs.
pub(super) fn show(program: &Program, words: &[String], all: bool, view: View, store: &StoreArgs) -> Result<()> {
    let (runs, known) = read(words, all, store)?;
    let of = |record: &Record| {
        let others = known.get(&identity(record)).into_iter().flatten().copied();
        others.chain(record.value).collect()
    };
    let mut found = floors::floors(&runs.records, of);
    let pages = program.known_families().pages;
    let on_page =
        |record: &Record| pages.shown_metrics().any(|shown| shown.metric == record.id && shown.has(&record.params));
    if !all && found.iter().any(|(record, _)| on_page(record)) {
        found.retain(|(record, _)| on_page(record));
    }
    view.show(&report::floors(program.known_families(), &found))
}
