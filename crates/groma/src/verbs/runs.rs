//! `groma runs`: lists the runs in the store.

use super::forget::{self, ForgetArgs};
use super::tag::{self, TagArgs};
use crate::args::{StoreArgs, WhichRuns};
use crate::program::Program;
use crate::store::existing_store;
use crate::view::ViewArgs;
use anyhow::Result;
use clap::{Args, Subcommand};
use groma_harness::model::{StateCounts, Tag, Tier, plain};
use groma_report::{self as report, Format, RunLine};
use groma_runner::identity;
use groma_store::{Filter, RunRow, RunStatus, Store};
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
    const MOST: usize = 8;
    let all = store.runs()?;
    let (host, tag) = (filter.host.as_deref(), filter.tag.as_ref().map(Tag::as_str));
    let hosts: BTreeSet<&str> = all.iter().filter_map(|run| run.host.as_deref()).collect();
    let tags: BTreeSet<&str> = all.iter().flat_map(|run| run.tags.iter().map(Tag::as_str)).collect();
    let lacking = [("--host", host, hosts, "runs of"), ("--tag", tag, tags, "the tags")];
    Ok(lacking.into_iter().find_map(|(option, asked, there, what)| {
        let asked = asked.filter(|asked| !there.contains(asked))?;
        let mut some: Vec<&str> = there.iter().copied().take(MOST).collect();
        some.extend((there.len() > MOST).then_some("..."));
        let has =
            if some.is_empty() { "no run has any".to_owned() } else { format!("there are {what} {}", some.join(", ")) };
        Some(plain(&format!("{option} {asked}: {has}")).into_owned())
    }))
}

/// A run as the view of runs takes it.
pub(super) fn line(row: RunRow) -> RunLine {
    RunLine {
        status: match row.status {
            RunStatus::Complete => report::RunStatus::Complete,
            RunStatus::Interrupted => report::RunStatus::Interrupted,
            RunStatus::Running if is_written(&row) => report::RunStatus::Running,
            RunStatus::Running | RunStatus::Killed => report::RunStatus::Killed,
        },
        run: row.run,
        started: row.started,
        groma: row.groma,
        profile: row.profile,
        host: row.host.unwrap_or_default(),
        kernel: row.kernel.unwrap_or_default(),
        tags: row.tags,
        asked: asked(&row.args),
        args: row.args,
        points: row.points,
        rounds: row.rounds,
        states: row.end.as_ref().map_or_else(StateCounts::default, |e| e.states.clone()),
        wall_s: row.end.as_ref().map(|e| e.wall_s),
    }
}

/// Whether a process is still writing the run.
pub(super) fn is_written(row: &RunRow) -> bool {
    row.end.is_none() && identity::is_alive(&row.owner)
}

/// Joins tags for a message.
pub(super) fn listed(tags: &BTreeSet<Tag>) -> String {
    let tags: Vec<&str> = tags.iter().map(Tag::as_str).collect();
    if tags.is_empty() { "none".to_owned() } else { tags.join(", ") }
}

/// Options of the output, with the number of their values.
const OF_OUTPUT: [(&str, usize); 9] = [
    ("--store", 1),
    ("--no-store", 0),
    ("--out", 1),
    ("-o", 1),
    ("--json", 0),
    ("--samples", 0),
    ("--tag", 1),
    ("--label", 1),
    ("--all", 0),
];

/// Options with which a run without a selection is still a survey.
const OF_SURVEY: [&str; 8] =
    ["--profile", "--budget", "--seed", "--rounds", "--round-length", "--deadline", "--require", "--work-dir"];

/// The request of a run from its command line: without options of the output, and with `survey` if
/// it selects nothing.
fn asked(args: &[String]) -> String {
    let mut rest = args.iter().map(String::as_str);
    let verb = rest.next().filter(|verb| *verb != "run");
    let mut words: Vec<&str> = verb.into_iter().collect();
    while let Some(word) = rest.next() {
        let is_it = |(name, _): &&(&str, usize)| word.split('=').next() == Some(name);
        // `--all` also selects: with it the run is not a survey.
        match OF_OUTPUT.iter().find(is_it).filter(|(name, _)| *name != "--all") {
            Some((_, values)) if !word.contains('=') => rest.by_ref().take(*values).for_each(drop),
            Some(_) => {}
            None => words.push(word),
        }
    }
    let mut left = words.iter();
    let mut is_survey = verb.is_none();
    while let Some(word) = left.next() {
        let (name, value) = word.split_once('=').map_or((*word, None), |(name, value)| (name, Some(value)));
        let value = value.or_else(|| left.next().copied());
        is_survey &= OF_SURVEY.contains(&name) && !matches!(value, Some("complete" | "rigorous"));
    }
    if is_survey {
        words.insert(0, "survey");
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_leaves_out_options_of_the_output() {
        for (args, expected) in [
            ("run", "survey"),
            ("run --store x.db --no-store --out=y -o z --json --samples --tag a --label=b", "survey"),
            ("run --profile quick --budget=5s", "survey --profile quick --budget=5s"),
            ("run --profile rigorous", "--profile rigorous"),
            ("run --profile=complete", "--profile=complete"),
            ("run --all", "--all"),
            ("run ipc mem --store x.db --budget 30s", "ipc mem --budget 30s"),
            ("run --budget 30s ipc", "--budget 30s ipc"),
            ("run -P 1,2", "-P 1,2"),
            ("hammer 16 10 -o x", "hammer 16 10"),
            ("run --tag", "survey"),
            ("", "survey"),
        ] {
            let words: Vec<String> = args.split_whitespace().map(str::to_owned).collect();
            assert_eq!(asked(&words), expected, "{args}");
        }
    }
}
