//! `groma trend`: a metric over the runs of a machine.

use super::plot::PlotFile;
use super::runs::no_such_runs;
use crate::args::{StoreArgs, WhichPoints, WhichRuns, selects};
use crate::print::name;
use crate::program::Program;
use crate::store::{benches_that_report, existing_store};
use crate::view::{ViewArgs, WithPlots};
use anyhow::{Result, bail};
use clap::Args;
use groma_analysis::trend::{Series, series};
use groma_harness::model::{Metric, Point, Record, Round, RunHeader, Tier};
use groma_report::{self as report, Chart};
use groma_runner::select::names_metric;
use groma_store::{Filter, HOST_NAME, RunStatus, Store};

const HELP: &str = "Examples:
  groma trend ipc.pipe_rtt
      its values over the last 200 runs, and where they changed
  groma trend --changes
      everything that changed, in the order of time
  groma trend syscall --since 2026-10-01 --changes
      the system calls, since then
  groma trend ipc.pipe_rtt --param size=1 --placement same-cpu -o trend.svg
      values, levels and changes as a picture
  groma trend mem.latency --format csv    for a spreadsheet

A change is a step that lasts for three runs or more and is clearer than in 198 of 199 random \
orders of the runs; it takes twelve runs to see one. Runs are those of the machine of the newest \
one unless --host names one.";

/// Show a metric over the runs of a machine, where it changed, and what else changed then
#[derive(Clone, Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct TrendArgs {
    /// The metrics: ids, groups or patterns
    #[arg(value_name = "METRIC")]
    select: Vec<String>,
    /// Only what changed, of all metrics unless some are named, in the order of time
    #[arg(long)]
    changes: bool,
    #[command(flatten)]
    points: WhichPoints,
    #[command(flatten)]
    runs: WhichRuns,
    /// The newest runs of these at most
    #[arg(long, value_name = "RUNS", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    last: u32,
    #[command(flatten)]
    view: ViewArgs<WithPlots>,
    #[command(flatten)]
    store: StoreArgs,
}

/// Shows metrics over runs, or what changed.
pub(super) fn run(program: &Program, args: &TrendArgs) -> Result<u8> {
    if args.select.is_empty() && !args.changes {
        bail!("name a metric, as in {0} trend ipc.pipe_rtt; or all that changed: {0} trend --changes", name());
    }
    let picture = args.view.plot_file();
    if let (Some(file), true) = (picture, args.changes) {
        bail!("-o {}: --changes is no plot; it takes a file that ends in .html, .md or .csv", file.display());
    }
    let file = picture.map(PlotFile::new).transpose()?;
    let view = if picture.is_some() { None } else { Some(args.view.open(false)?) };
    let store = existing_store(&args.store)?;
    let wanted = |id: &str| selects(&args.select, id);
    let runs = runs(program, args, &store, &wanted)?;
    let all = series(&runs);
    if all.is_empty() {
        bail!("{}", none(program, args, &store)?);
    }
    if let Some(file) = file {
        file.write(&report::trend_chart(only(args, &all)?).map_err(anyhow::Error::msg)?)?;
    }
    if let Some(view) = view {
        let document = if args.changes {
            report::trend_changes(&all, &view.style)
        } else {
            report::trend(&all, plotted(args, &all), &view.style)
        };
        view.show(&document)?;
    }
    Ok(0)
}

/// The plot below the text: of one metric at one point, with enough runs.
fn plotted(args: &TrendArgs, all: &[Series<'_>]) -> Option<Chart> {
    const MIN_RUNS: usize = 5;
    let one = only(args, all).ok().filter(|one| one.runs.len() >= MIN_RUNS)?;
    report::trend_chart(one).ok()
}

/// The series to plot: the only one, or the only one whose id was typed exactly.
fn only<'s, 'r>(args: &TrendArgs, all: &'s [Series<'r>]) -> Result<&'s Series<'r>> {
    let newest = |one: &'s Series<'r>| one.runs.last().map(|(_, record)| *record);
    let is_named = |one: &&'s Series<'r>| newest(one).is_some_and(|record| args.select.contains(&record.id));
    let named: Vec<&'s Series<'r>> = all.iter().filter(is_named).collect();
    match (all, &named[..]) {
        ([one], _) => Ok(one),
        (_, [one]) => Ok(*one),
        (_, named) => {
            let of: Vec<&'s Series<'r>> = if named.is_empty() { all.iter().collect() } else { named.to_vec() };
            let records: Vec<&Record> = of.iter().filter_map(|one| newest(one)).collect();
            let mut some: Vec<String> = commands(&records).into_iter().take(NAMED).collect();
            some.extend((of.len() > NAMED).then(|| "...".to_owned()));
            bail!("-o: a plot is of one metric at one point, and {} are named: {}", of.len(), some.join("; "))
        }
    }
}

/// The maximum number of points that an error names.
const NAMED: usize = 4;

/// The commands that select each of these points, with the options in which they differ.
fn commands(records: &[&Record]) -> Vec<String> {
    let differ = |same: &dyn Fn(&Record, &Record) -> bool| records.windows(2).any(|two| !same(two[0], two[1]));
    let params = differ(&|a, b| a.params == b.params);
    let placements = differ(&|a, b| a.placement == b.placement);
    let groups = differ(&|a, b| a.workers == b.workers);
    let command = |record: &&Record| {
        let mut command = format!("{} trend {}", name(), record.id);
        if params {
            command += &report::typed_params(record);
        }
        if placements {
            command += &format!(" --placement {}", record.placement);
        }
        if groups {
            command += &format!(" -P {}", record.workers);
        }
        command
    };
    records.iter().map(command).collect()
}

/// The error that no run matches: names the option that excludes all, and its possible values.
fn none(program: &Program, args: &TrendArgs, store: &Store) -> Result<String> {
    if let Some(why) = no_such_runs(store, &args.runs.filter())? {
        return Ok(why);
    }
    let known = |select: &&String| {
        let metrics =
            program.all().iter().flat_map(|bench| bench.info.outputs.iter().map(move |of| bench.info.metric(of)));
        metrics.into_iter().any(|id| names_metric(select, &id))
    };
    if let Some(unknown) = args.select.iter().find(|select| !known(select)) {
        // Fails with a suggestion.
        program.select(std::slice::from_ref(unknown), Tier::Full)?;
    }
    let what = if args.select.is_empty() { "a metric".to_owned() } else { args.select.join(", ") };
    let options = args.points.words();
    if options.is_empty() {
        return Ok(format!("no complete run of these holds {what} ({} runs lists the runs)", name()));
    }
    let all = TrendArgs { points: WhichPoints::default(), ..args.clone() };
    let wanted = |id: &str| selects(&all.select, id);
    let runs = runs(program, &all, store, &wanted)?;
    let there = series(&runs);
    let newest: Vec<&Record> = there.iter().filter_map(|one| one.runs.last().map(|(_, record)| *record)).collect();
    let mut points = commands(&newest);
    points.dedup();
    let more = points.len() > NAMED;
    points.truncate(NAMED);
    points.extend(more.then(|| "...".to_owned()));
    Ok(format!("{}: no complete run of these holds {what} there; there are: {}", options.join(" "), points.join("; ")))
}

/// The selected runs with their wanted metrics, oldest first. All are of one machine: the named
/// one, or that of the newest run.
fn runs(
    program: &Program,
    args: &TrendArgs,
    store: &Store,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<(RunHeader, Vec<Record>)>> {
    let benches = benches_that_report(program, store, wanted)?;
    let mut filter = Filter { status: Some(RunStatus::Complete), benches: Some(benches.clone()), ..args.runs.filter() };
    if filter.host.is_none() {
        let newest = store.ids_that(&filter, 1)?;
        let Some(newest) = newest.first() else { return Ok(Vec::new()) };
        let head = store.load_part(newest, Some(&[]), |_| true)?.header;
        filter.host = head.environment.get(HOST_NAME).map(str::to_owned);
    }
    let holds = |point: &Point| point.metrics.iter().any(|metric| wanted(&metric.id));
    let mut runs = Vec::new();
    for id in store.ids_that(&filter, args.last as usize)?.iter().rev() {
        // Runs that only a newer groma can read are skipped.
        let Ok(stored) = store.load_part(id, Some(&benches), holds) else { continue };
        let is_shown = |metric: &Metric| wanted(&metric.id) && !(metric.detail && args.select.is_empty());
        let of_point = |(point, rounds): &(Point, Vec<Round>)| {
            groma_analysis::summarise_values(point, rounds, &stored.header.host, is_shown)
        };
        let mut records: Vec<Record> = stored.points.iter().flat_map(of_point).collect();
        records.retain(|record| args.points.take(record));
        runs.push((stored.header, records));
    }
    Ok(runs)
}
