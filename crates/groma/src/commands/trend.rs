//! `groma trend`: a metric over the runs of a machine.

use anyhow::{Context, Result, bail};
use groma_analysis::trend::{Series, series};
use groma_harness::model::{Metric, Point, Record, Round, RunHeader};
use groma_report::{self as report, Format, Style};
use groma_runner::select::names_metric;
use groma_store::{Filter, HOST_NAME, RunStatus, Store};

use super::history::benches_that_report;
use super::plot::{PlotFile, has_values};
use super::{existing_store, print, style};
use crate::flags::TrendArgs;
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
        bail!("{}", none(args));
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
            let point = |one: &&'s Series<'r>| {
                newest(one).map(|record| format!("{}{}", record.id, report::typed_params(record)))
            };
            let some: Vec<String> = of.iter().take(3).filter_map(point).collect();
            bail!(
                "--output: a plot is of one metric at one point, and {} are named: {}, ...",
                of.len(),
                some.join(", ")
            )
        }
    }
}

/// That no run has what was asked for.
fn none(args: &TrendArgs) -> String {
    let what = if args.select.is_empty() { "a metric".to_owned() } else { args.select.join(", ") };
    format!("no complete run of these holds {what} ({} runs lists the runs)", name())
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
        let newest = newest.first().with_context(|| none(args))?;
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
        records.retain(|record| has_values(record, &args.params));
        runs.push((stored.header, records));
    }
    Ok(runs)
}
