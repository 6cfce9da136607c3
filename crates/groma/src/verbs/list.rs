//! `groma list`: the catalogue, and with `--lineage` the commands that repeat other suites.

use crate::program::Program;
use crate::view::{View, ViewArgs};
use anyhow::{Result, bail};
use clap::Args;
use groma_harness::model::{Info, Tier};
use groma_published::{REPEATS, Repeat};
use groma_report as report;
use std::collections::BTreeSet;

const HELP: &str = "Examples:
  groma list mem                           the benchmarks of a group
  groma list --long 'ipc.*'                with their parameters
  groma list --lineage lmbench3:lat_pipe   the command that repeats lmbench's
  groma list --lineage table10
      table 10 of the paper of 1996, and of the one of 1990
  groma list --lineage rt-tests            other tools as well
  groma list --lineage all -o rows.html    every row of all of them";

/// List the benchmarks
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ListArgs {
    /// Ids, groups or patterns [default: all]
    #[arg(value_name = "SELECT")]
    select: Vec<String>,
    /// With parameters, further metrics, placements and lineage
    #[arg(long, conflicts_with_all = ["json", "format"])]
    long: bool,
    /// What repeats a suite or paper, or one of its rows, as commands: lmbench3, lmbench3:lat_pipe,
    /// table10, lat_sig
    #[arg(long, value_name = "SOURCE[:ROW]", conflicts_with_all = ["long", "select"])]
    lineage: Option<String>,
    #[command(flatten)]
    view: ViewArgs,
}

/// The family with which groma tests itself.
const SELF_TESTS: &str = "selftest";

/// Lists benchmarks.
pub(super) fn run(program: &Program, args: &ListArgs) -> Result<u8> {
    if let Some(source) = &args.lineage {
        return lineage(program, source, args.view.open(false)?);
    }
    let chosen = program.select(&args.select, Tier::Full)?;
    // Runs leave out what is only measured when it is named; who looks for it has to find it.
    let is_asked_for = |info: &Info| args.select.is_empty() || args.select.iter().any(|text| text == info.family());
    let is_shown = |info: &Info| {
        let by_name = info.tier == Tier::Named && info.family() != SELF_TESTS && is_asked_for(info);
        by_name || chosen.iter().any(|bench| bench.info.id == info.id)
    };
    let infos: Vec<&Info> = program.all().iter().map(|bench| &bench.info).filter(|info| is_shown(info)).collect();
    let view = args.view.open(false)?;
    let document = report::list(&infos, args.long, &view.style);
    view.show(&document)?;
    Ok(0)
}

/// The source that stands for all of them.
const ALL: &str = "all";

/// Lists the commands that repeat a document, one of its rows, or a test of another tool.
fn lineage(program: &Program, text: &str, view: View) -> Result<u8> {
    let infos: Vec<&Info> = program.all().iter().map(|bench| &bench.info).collect();
    // A user's own program may lack our benchmarks.
    let here = |repeat: &&Repeat| repeat.benchmarks().iter().all(|id| infos.iter().any(|info| info.id == *id));
    let all: Vec<&Repeat> = REPEATS.iter().filter(here).collect();
    let named: Vec<&Repeat> = all.iter().copied().filter(|repeat| text == ALL || repeat.is_of(text)).collect();
    if named.is_empty() {
        let known: BTreeSet<&str> = all.iter().map(|repeat| repeat.document()).collect();
        let known = known.into_iter().collect::<Vec<_>>().join(", ");
        bail!("--lineage {text}: nothing repeats it (known: {known}; each lists its rows, {ALL} those of all)");
    }
    let document = report::lineage(&named, &infos, &view.style);
    view.show(&document)?;
    Ok(0)
}
