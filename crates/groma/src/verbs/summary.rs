//! `groma summary`: runs in the layout of lmbench's summary.

use super::import::IMPORTED;
use crate::args::StoreArgs;
use crate::print::name;
use crate::program::Program;
use crate::sides::Runs;
use crate::view::ViewArgs;
use anyhow::{Result, bail};
use clap::Args;
use groma_harness::model::{Record, RunHeader, is_metric_of};
use groma_report::{self as report, SummaryRun};

const HELP: &str = "Examples:
  groma summary                        the latest run
  groma summary host:db1 latest        an imported result file, and this machine
  groma summary lmbench1996:Linux/i686 latest reference
      a machine of the paper of 1996, this one and a reference machine
  groma summary A B --format markdown  tables to be pasted
  groma summary A B -o summary.html    a page

A cell holds what lmbench's line of that name measures (docs/exports.md#lmbench says what is \
taken for it). Marks behind a value, or instead of one, are the states of groma.";

/// Show runs in the layout of lmbench's summary, a line a run
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct SummaryArgs {
    /// The runs: ids, beginnings of ids, tags, latest, latest~1, host:NAME, files of streams or
    /// baselines, a reference machine, or a machine of the paper of 1996 (lmbench1996:NAME)
    #[arg(default_value = "latest", value_name = "RUN")]
    runs: Vec<String>,
    #[command(flatten)]
    view: ViewArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// A row: what was typed, and the run unless it is a published machine.
struct Typed<'a> {
    typed: &'a str,
    run: Option<Runs>,
}

/// Shows the summary.
pub(super) fn run(program: &Program, args: &SummaryArgs) -> Result<u8> {
    let view = args.view.open(false)?;
    let rows = args.runs.iter().map(|typed| load(args, typed)).collect::<Result<Vec<Typed<'_>>>>()?;
    for (at, row) in rows.iter().enumerate() {
        let same = |other: &&Typed<'_>| match (&row.run, &other.run) {
            (Some(a), Some(b)) => a.head().run == b.head().run,
            _ => row.typed == other.typed,
        };
        if rows[..at].iter().any(|other| same(&other)) {
            bail!("{} is named twice", row.typed);
        }
    }
    let shown: Vec<SummaryRun<'_>> = rows
        .iter()
        .map(|row| match &row.run {
            Some(run) => SummaryRun::Run(run.head(), &run.records),
            None => SummaryRun::published(row.typed).and_then(Result::ok).unwrap_or(SummaryRun::Published(row.typed)),
        })
        .collect();
    blanks(program, &rows);
    let document = report::lmbench_summary(&shown, &view.style);
    view.show(&document)?;
    Ok(0)
}

fn load<'a>(args: &SummaryArgs, typed: &'a str) -> Result<Typed<'a>> {
    if let Some(found) = SummaryRun::published(typed) {
        found.map_err(anyhow::Error::msg)?;
        return Ok(Typed { typed, run: None });
    }
    let run = Runs::load(&args.store, &(typed.to_owned(), vec![typed.to_owned()]), true, |_| true)?;
    Ok(Typed { typed, run: Some(run) })
}

/// Tells of blank cells that this program could fill.
fn blanks(program: &Program, rows: &[Typed<'_>]) {
    let is_ours = |head: &RunHeader| head.environment.get(IMPORTED).is_none();
    let runs = rows.iter().filter_map(|row| row.run.as_ref()).filter(|run| is_ours(run.head()));
    let runs: Vec<(&RunHeader, &[Record])> = runs.map(|run| (run.head(), &run.records[..])).collect();
    let [blank, cells] = report::blank_cells(&runs);
    if blank > 0 {
        warn!(
            "{blank} of {cells} cells are blank: no run here measured them. A run of all of them takes a minute:\n  {}",
            command(program)
        );
    }
}

/// Parameters of a benchmark with their values.
type Settings = Vec<(&'static str, Vec<String>)>;

/// The command that measures all cells.
fn command(program: &Program) -> String {
    let mut benches: Vec<(&str, Settings)> = Vec::new();
    for (metric, params) in report::wanted_of_summary() {
        let mut ids = program.all().iter().map(|bench| bench.info.id);
        let Some(bench) = ids.find(|id| is_metric_of(metric, id)) else { continue };
        let settings = entry(&mut benches, bench);
        for (name, value) in params {
            let values = entry(settings, name);
            if !values.contains(&value) {
                values.push(value);
            }
        }
    }
    let ids: Vec<&str> = benches.iter().map(|(bench, _)| *bench).collect();
    let params: String = benches
        .iter()
        .flat_map(|(bench, params)| params.iter().map(move |param| (bench, param)))
        .map(|(bench, (name, values))| format!(" --param {bench}:{name}={}", values.join(",")))
        .collect();
    format!("{} run {}{params}", name(), ids.join(" "))
}

/// The value of a name, inserted if it is missing; names keep the order of insertion.
fn entry<'e, 'n, T: Default>(all: &'e mut Vec<(&'n str, T)>, name: &'n str) -> &'e mut T {
    let at = all.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
        all.push((name, T::default()));
        all.len() - 1
    });
    &mut all[at].1
}
