//! `groma import`: runs of streams, of other stores (`merge.rs`) and of result files of lmbench
//! become runs of the store.
//!
//! The file is read in `groma_published::results`; a run of it becomes one of groma in
//! `import/stored.rs`.

pub(super) mod stored;

use super::merge::{Target, merge};
use crate::args::StoreArgs;
use crate::print::print;
use crate::program::Program;
use anyhow::{Context, Result, bail};
use clap::Args;
use groma_harness::model::plain;
use groma_published::results::{self, Run};
use groma_report::NO_DATE;
use groma_report::units::counted;
use groma_store::{HOST_NAME, Store};
use std::path::{Path, PathBuf};

const HELP: &str = "\
A file is a store (SQLite), what groma run --out FILE --samples has written, or a result file of \
lmbench. Files are not changed, and importing one again adds nothing: a run that is there already \
is not taken twice. import ends at the first error; the runs before it are kept.

A result file is what lmbench 2 or 3 writes to results/OS/HOST.0; it may hold several runs. Each \
becomes a run of that machine and time, which all other verbs take. A value has one round and no \
interval. What cannot be a value (zero, negative, cut off) is kept without one, and its reason \
says what the file has there.

Examples:
  groma import db1.db db2.ndjson       collect the runs of two machines
  groma import results/x86_64-linux-gnu/db1.0
  groma import results/*/*.0 --store old.db
  groma summary host:db1 latest        beside this machine
  groma plot mem.stride --run host:db1 a curve of memory latency";

/// The key of a fact of an imported run: what measured it.
pub(crate) const IMPORTED: &str = groma_report::LMBENCH_IMPORTED;

/// Take runs into the store: of streams with samples, of other stores, of lmbench's result files
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ImportArgs {
    /// Stores, streams with samples, and result files of lmbench 2 and 3
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
}

/// Imports one file after the other. Stops at the first error; runs of the files before it stay.
pub(super) fn run(program: &Program, args: &ImportArgs) -> Result<u8> {
    merge(&args.store, &args.files, Some(&|target, path, bytes| of_lmbench(program, target, path, bytes)))
}

/// Prints a line for each run of a result file.
fn of_lmbench(program: &Program, target: &Target<'_>, path: &Path, bytes: &[u8]) -> Result<()> {
    let read = results::read(bytes);
    let name = path.display();
    let with_values: Vec<&Run> = read.runs.iter().filter(|run| !run.values.is_empty()).collect();
    if with_values.is_empty() {
        let (line, what) = match (read.runs.first(), read.stray.first()) {
            (Some(run), _) => (run.line, "the run that begins here holds no value".to_owned()),
            (None, Some(stray)) => (stray.number, format!("'{}'", plain(&stray.text))),
            (None, None) => (1, "it is empty".to_owned()),
        };
        bail!("{name}:{line}: {what}; expected a result file of lmbench, '[lmbench3.0 results for ...]'");
    }
    for stray in &read.stray {
        warn!("{name}:{}: not read: {}", stray.number, plain(&stray.text));
    }
    with_values.into_iter().try_for_each(|run| import(program, target.store()?, path, run))
}

/// How many lines of each kind are told of a run.
const TOLD: usize = 5;

fn import(program: &Program, store: &Store, path: &Path, run: &Run) -> Result<()> {
    let name = path.display();
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let stored = stored::stored(program, &file, run).with_context(|| format!("{name}:{}", run.line))?;
    let doubtful: Vec<_> =
        run.values.iter().filter_map(|value| value.number.err().map(|doubt| (value, doubt))).collect();
    for (value, doubt) in doubtful.iter().take(TOLD) {
        let printed = if value.printed.is_empty() { "it".to_owned() } else { format!("'{}'", plain(&value.printed)) };
        warn!("{name}:{}: no value of {}: {printed} {}", value.line, value.kind.name, doubt.reason());
    }
    let undated = stored.header.started == NO_DATE;
    if undated {
        let line = run.unread_date.as_ref();
        let number = line.map_or(run.line, |line| line.number);
        let what = line.map_or("there is none".to_owned(), |line| {
            format!("'{}' is in no known language, or may be read in two ways", plain(&line.text))
        });
        warn!("{name}:{number}: no date: {what}; the run is kept without one");
    }
    for line in run.unread.iter().take(TOLD) {
        warn!("{name}:{}: not read: {}", line.number, plain(&line.text));
    }
    let rest = [(doubtful.len(), "value", "without a number"), (run.unread_lines, "line", "not read")];
    for (n, what, how) in rest {
        if n > TOLD {
            warn!("{name}:{}: {} {how} in all", run.line, counted(n, what));
        }
    }
    let head = &stored.header;
    // The id is made from the content: a known one was imported before, perhaps by another version.
    let known = !store.points(&head.run)?.is_empty();
    if !known {
        store.merge(&stored)?;
    }
    let fact = |key| plain(head.environment.get(key).unwrap_or("an unknown host")).into_owned();
    let values = run.values.len() - doubtful.len();
    let without = if doubtful.is_empty() { String::new() } else { format!(", {} without", doubtful.len()) };
    print(&format!(
        "{name}: run {} of {}, {}: {}{without}{}\n",
        head.run,
        fact(HOST_NAME),
        if undated { "no date" } else { &head.started },
        counted(values, "value"),
        if known { ", known already" } else { "" },
    ))
}
