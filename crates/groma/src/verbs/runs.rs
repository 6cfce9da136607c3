//! `groma runs`: lists the runs in the store.

use super::forget::{self, ForgetArgs};
use super::stored_run::line;
use super::tag::{self, TagArgs};
use crate::args::{StoreArgs, WhichRuns};
use crate::program::Program;
use crate::store::existing_store;
use crate::view::ViewArgs;
use anyhow::Result;
use clap::{Args, Subcommand};
use groma_harness::model::{Tag, Tier, plain};
use groma_report::{self as report, Format, RunLine};
use groma_store::{Filter, Store};
use std::collections::BTreeSet;

const HELP: &str = "Examples:
  groma runs --since 3d                 those of the last three days
  groma runs --host db1 --kernel 6.18   of one machine, with these kernels
  groma runs --bench ipc.pipe_rtt       those that measured it
  groma runs tag latest before          give the newest run the tag 'before'
  groma runs forget --tag trial --yes   remove all runs with this tag

What a run is called wherever one is asked for:
  20261122T2131   the beginning of its id, as far as needed
  before          the newest run with this tag
  latest          the newest run
  host:db1        the newest run of this machine
  latest~1        the run before that; likewise before~1, host:db1~2

Days are those of UTC, as the times of the list.";

/// List the runs in the store; tag and forget them
#[derive(Debug, Args)]
#[command(after_help = HELP, args_conflicts_with_subcommands = true)]
pub(crate) struct RunsArgs {
    #[command(subcommand)]
    change: Option<Change>,
    #[command(flatten)]
    runs: WhichRuns,
    /// Only runs with a kernel whose release begins so: 6.18
    #[arg(long, value_name = "RELEASE")]
    kernel: Option<String>,
    /// Only runs that measured one of these: ids, groups or patterns
    #[arg(long, value_name = "SELECT", value_delimiter = ',')]
    bench: Vec<String>,
    #[command(flatten)]
    view: ViewArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// A change of the store.
#[derive(Debug, Subcommand)]
enum Change {
    Tag(TagArgs),
    Forget(ForgetArgs),
}

/// Lists the runs, or changes them.
pub(super) fn run(program: &Program, args: &RunsArgs) -> Result<u8> {
    match &args.change {
        Some(Change::Tag(args)) => return tag::run(program, args),
        Some(Change::Forget(args)) => return forget::run(program, args),
        None => {}
    }
    let benches = match args.bench.as_slice() {
        [] => None,
        named => Some(program.select(named, Tier::Full)?.iter().map(|bench| bench.info.id.to_owned()).collect()),
    };
    let filter = Filter { kernel: args.kernel.clone(), benches, ..args.runs.filter() };
    let store = existing_store(&args.store)?;
    let lines: Vec<RunLine> = store.runs_that(&filter)?.into_iter().map(line).collect();
    let view = args.view.open(false)?;
    match lines.as_slice() {
        [] if filter != Filter::default() && view.format == Format::Table => {
            let why = no_such_runs(&store, &filter)?.map_or(String::new(), |why| format!(": {why}"));
            view.show_text(&format!("no such runs{why}\n"))?;
        }
        lines => {
            let document = report::runs(lines, &view.style);
            view.show(&document)?;
        }
    }
    Ok(0)
}

/// Why no run matches, if no run has the host or the tag: names the option and the existing values.
pub(super) fn no_such_runs(store: &Store, filter: &Filter) -> Result<Option<String>> {
    /// The maximum number of names in the message.
    const MAX_NAMES: usize = 8;
    let all = store.runs()?;
    let (host, tag) = (filter.host.as_deref(), filter.tag.as_ref().map(Tag::as_str));
    let hosts: BTreeSet<&str> = all.iter().filter_map(|run| run.host.as_deref()).collect();
    let tags: BTreeSet<&str> = all.iter().flat_map(|run| run.tags.iter().map(Tag::as_str)).collect();
    let lacking = [("--host", host, hosts, "runs of"), ("--tag", tag, tags, "the tags")];
    Ok(lacking.into_iter().find_map(|(option, asked, there, what)| {
        let asked = asked.filter(|asked| !there.contains(asked))?;
        let mut some: Vec<&str> = there.iter().copied().take(MAX_NAMES).collect();
        some.extend((there.len() > MAX_NAMES).then_some("..."));
        let has =
            if some.is_empty() { "no run has any".to_owned() } else { format!("there are {what} {}", some.join(", ")) };
        Some(plain(&format!("{option} {asked}: {has}")).into_owned())
    }))
}
