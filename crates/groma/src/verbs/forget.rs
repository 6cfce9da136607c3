//! `groma runs forget`: removes runs from the store.

use super::stored_run::{self, is_being_written};
use crate::args::StoreArgs;
use crate::parse::parse_until;
use crate::print::{print, style};
use crate::program::Program;
use crate::store::existing_store;
use anyhow::{Result, bail};
use clap::Args;
use groma_harness::model::{Tag, plain};
use groma_report::{self as report, Format, RunLine};
use groma_store::{Filter, RunRow, RunStatus, Store};

const HELP: &str = "Examples:
  groma runs forget latest                   what would be removed
  groma runs forget latest --yes             remove it
  groma runs forget --tag trial --yes        all runs with this tag
  groma runs forget --host db1 --until 90d
      those of one machine that are older than 90 days

A run that is still being written stays.";

/// Remove runs from the store, and give their space back
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ForgetArgs {
    /// The runs: ids or beginnings of them, tags (the newest run of each), latest, latest~1,
    /// host:NAME
    #[arg(value_name = "RUN")]
    runs: Vec<String>,
    /// All runs of this machine
    #[arg(long, value_name = "NAME", conflicts_with = "runs")]
    host: Option<String>,
    /// All runs with this tag
    #[arg(long, conflicts_with = "runs")]
    tag: Option<Tag>,
    /// All runs that began then or earlier: 2026-11-22, 2026-11-22T10:00, or 90d (90 days ago);
    /// with the other two only those
    #[arg(long, value_name = "DATE", value_parser = parse_until, conflicts_with = "runs")]
    until: Option<String>,
    /// Remove them; without it they are only listed
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    store: StoreArgs,
}

/// Lists the runs, and with `--yes` removes them.
pub(super) fn run(_: &Program, args: &ForgetArgs) -> Result<u8> {
    let store = existing_store(&args.store)?;
    let rows = chosen(&store, args)?;
    if rows.is_empty() {
        print("no such runs\n")?;
        return Ok(0);
    }
    let ids: Vec<String> = rows.iter().map(|row| row.run.clone()).collect();
    let extent = store.extent(&ids)?;
    let lines: Vec<RunLine> = rows.into_iter().map(stored_run::line).collect();
    let s = if ids.len() == 1 { "" } else { "s" };
    let what = format!("{} run{s}, {} rounds, {}", ids.len(), extent.rounds, report::units::size(extent.bytes as f64));
    print(&(report::runs(&lines, &style(false)).render(Format::Table, &style(false)) + &what + "\n"))?;
    if !args.yes {
        print("nothing was removed: add --yes to remove them\n")?;
        return Ok(0);
    }
    let before = store.file_size()?;
    store.forget(&ids)?;
    let busy = store.runs_that(&unended())?.iter().any(is_being_written);
    if busy {
        // Compacting would block that run for seconds while it measures.
        print("removed; another run is being written, so the file keeps its size, and new runs use the space\n")?;
        return Ok(0);
    }
    if let Err(e) = store.compact() {
        warn!("{e}; the runs are removed, the file keeps its size, and new runs use the space");
        return Ok(0);
    }
    let after = store.file_size()?;
    let freed = report::units::size(before.saturating_sub(after) as f64);
    print(&format!("removed; the file is {freed} smaller, {} now\n", report::units::size(after as f64)))?;
    Ok(0)
}

fn unended() -> Filter {
    Filter { status: Some(RunStatus::Running), ..Filter::default() }
}

/// The runs that the arguments name, newest first, without those that are still being written.
fn chosen(store: &Store, args: &ForgetArgs) -> Result<Vec<RunRow>> {
    if args.runs.is_empty() {
        let (host, tag, before) = (args.host.clone(), args.tag.clone(), args.until.clone());
        let filter = Filter { host, tag, before, ..Filter::default() };
        if filter == Filter::default() {
            bail!("which runs? Expected ids or tags, or --host, --tag or --until");
        }
        let (written, rows): (Vec<_>, Vec<_>) = store.runs_that(&filter)?.into_iter().partition(is_being_written);
        for row in written {
            warn!("run {} is still being written and stays", plain(&row.run));
        }
        return Ok(rows);
    }
    let named = args.runs.iter().map(|text| store.find(text)).collect::<Result<Vec<String>, _>>()?;
    let rows: Vec<RunRow> = store.runs()?.into_iter().filter(|row| named.contains(&row.run)).collect();
    if let Some(row) = rows.iter().find(|row| is_being_written(row)) {
        bail!("run {} is still being written", row.run);
    }
    Ok(rows)
}
