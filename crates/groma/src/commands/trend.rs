//! `groma trend`: a metric over the runs of a machine.

use anyhow::{Result, bail};
use groma_analysis::trend::{Series, series};
use groma_harness::model::{Metric, Point, Record, Round, RunHeader, Tier};
use groma_report::{self as report, Format, Style};
use groma_runner::select::names_metric;
use groma_store::{Filter, HOST_NAME, RunStatus, Store};

use super::history::benches_that_report;
use super::plot::PlotFile;
use super::runs::no_such_runs;
use super::{existing_store, print, style};
use crate::flags::{TrendArgs, WhichPoints};
use crate::message::name;
use crate::program::Program;

/// Shows how metrics developed.
pub(crate) fn trend(program: &Program, args: &TrendArgs) -> Result<u8> {
    if args.select.is_empty() && !args.changes {
        bail!("name a metric, as in {0} trend ipc.pipe_rtt; or all that changed: {0} trend --changes", name());
    }
    if args.format == Format::Markdown {
        bail!("--format markdown: trend has table, json and csv");
    }
    let file = args.output.as_deref().map(PlotFile::new).transpose()?;
    let store = existing_store(&args.store)?;
    let wanted = |id: &str| args.select.is_empty() || args.select.iter().any(|select| names_metric(select, id));
    let runs = runs(program, args, &store, &wanted)?;
    let all = series(&runs);
    if all.is_empty() {
        bail!("{}", none(program, args, &store)?);
    }
    if let Some(file) = file {
        file.write(&report::trend_chart(only(args, &all)?).map_err(anyhow::Error::msg)?)?;
        return Ok(0);
    }
    let style = style(false);
    print(&match args.format {
        Format::Table if args.changes => report::trend_changes(&all, &style),
        Format::Table | Format::Markdown => report::trend(&all, &style) + &plotted(args, &all, &style),
        Format::Json => report::trend_json(&all),
        Format::Csv => report::trend_csv(&all),
    })?;
    Ok(0)
}

/// A plot below the text, of one metric at one point with runs that are worth it.
fn plotted(args: &TrendArgs, all: &[Series<'_>], style: &Style) -> String {
    const ENOUGH: usize = 5;
    let one = only(args, all).ok().filter(|one| one.runs.len() >= ENOUGH);
    match one.and_then(|one| report::trend_chart(one).ok()) {
        None => String::new(),
        Some(chart) if all.len() == 1 => format!("\n{}", chart.terminal_alone(style)),
        Some(chart) => format!("\n{}", chart.terminal(style)),
    }
}

/// The one series that a plot is of: the only one, or the only one whose id was typed as it is.
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

/// Points that an error names.
const NAMED: usize = 4;

/// The commands that name each of these points, with the options in which they differ.
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

/// That no run has what was asked for: the option that leaves none, and what it could be.
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
        // What it is like, where it is like anything.
        program.select(std::slice::from_ref(unknown), Tier::Full)?;
    }
    let what = if args.select.is_empty() { "a metric".to_owned() } else { args.select.join(", ") };
    let options = args.points.typed();
    if options.is_empty() {
        return Ok(format!("no complete run of these holds {what} ({} runs lists the runs)", name()));
    }
    let all = TrendArgs { points: WhichPoints::default(), ..args.clone() };
    let wanted = |id: &str| all.select.is_empty() || all.select.iter().any(|select| names_metric(select, id));
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

/// The runs that were asked for with the metrics that are wanted, in the order of time: those of
/// one machine, named or that of the newest run.
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
        // A run that only a newer groma can read is none of ours.
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
