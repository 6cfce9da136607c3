//! `groma plot`: a curve or a distribution, in the terminal or as a file.

use super::history::{self, Shown};
use super::{print, style};
use crate::flags::PlotArgs;
use crate::message::name;
use crate::out_file::Named;
use crate::program::Program;
use anyhow::{Result, bail};
use groma_harness::model::{Families, Record, Tier, is_metric_of, plain};
use groma_report::{self as report, Chart, Source};
use groma_runner::select::names_metric;
use std::path::Path;

/// Plots a metric of a run, or of several.
pub(crate) fn plot(program: &Program, args: &PlotArgs) -> Result<u8> {
    let file = args.output.as_deref().map(PlotFile::new).transpose()?;
    let args = &PlotArgs { metric: metric(program, &args.metric)?, ..args.clone() };
    let families = program.known_families();
    let runs = args.run.iter().map(|run| load(program, args, run)).collect::<Result<Vec<Shown>>>()?;
    for (i, run) in runs.iter().enumerate() {
        if runs[..i].iter().any(|other| other.head.run == run.head.run) {
            bail!("--run: {} is named twice", run.head.run);
        }
    }
    let sources = runs.iter().map(|run| chosen(families, args, run)).collect::<Result<Vec<Source<'_>>>>()?;
    let records: Vec<&Record> = sources.iter().flat_map(|source| source.records.iter().copied()).collect();
    let chart = if args.histogram || args.over.is_none() && report::is_distribution(families, &records) {
        let [source] = &sources[..] else { bail!("a distribution is of one run, and {} are named", sources.len()) };
        match source.records[..] {
            [one] => report::histogram(source.run, one, runs[0].drops(one)),
            _ => return Ok(choose(args, source)),
        }
    } else {
        let asked: Vec<&str> = args.points.params.iter().map(|(name, _)| name.as_str()).collect();
        report::plot(families, &sources, args.over.as_deref(), &asked)
    };
    let chart: Chart = chart.map_err(anyhow::Error::msg)?;
    match file {
        Some(file) => file.write(&chart)?,
        None => print(&chart.terminal(&style(false)))?,
    }
    Ok(0)
}

/// The metric that the text names: itself, or the benchmark that another tool calls so.
fn metric(program: &Program, text: &str) -> Result<String> {
    if program.all().iter().any(|bench| is_metric_of(text, bench.info.id)) {
        return Ok(text.to_owned());
    }
    let named = program.find(&[text.to_owned()], Tier::Full).unwrap_or_default();
    let ids: Vec<&str> = named.iter().map(|bench| bench.info.id).collect();
    match ids[..] {
        [] => Ok(text.to_owned()),
        [one] => Ok(one.to_owned()),
        _ => bail!("'{text}' names {} benchmarks, and a plot is of one: {}", ids.len(), ids.join(", ")),
    }
}

/// A file for a plot, in the form that its ending says.
pub(super) struct PlotFile {
    out: Named,
    is_png: bool,
}

impl PlotFile {
    /// Refuses endings that are none of a plot and files that cannot be written, before anything is
    /// read.
    pub(super) fn new(path: &Path) -> Result<PlotFile> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some(ending @ ("svg" | "png")) => Ok(PlotFile { out: Named::open("-o", path)?, is_png: ending == "png" }),
            _ => bail!("-o {}: a plot's file ends in .svg or .png", path.display()),
        }
    }

    /// Writes it.
    pub(super) fn write(self, chart: &Chart) -> Result<()> {
        let bytes = if self.is_png { chart.png(2.0).map_err(anyhow::Error::msg)? } else { chart.svg().into_bytes() };
        self.out.write(&bytes)
    }
}

/// A run that holds the metric.
fn load(program: &Program, args: &PlotArgs, run: &str) -> Result<Shown> {
    let families = program.known_families();
    let names = |id: &str| report::takes(families, &args.metric, id) || names_metric(&args.metric, id);
    let wanted = |r: &Record| names(&r.id) && r.value.is_some() && args.points.take(r);
    history::load(program, &args.store, run, true, &args.metric, names, wanted)
}

/// The records of a run that are to be drawn.
fn chosen<'a>(families: Families<'_>, args: &PlotArgs, shown: &'a Shown) -> Result<Source<'a>> {
    let (run, metric) = (&shown.head.run, &args.metric);
    let exact: Vec<&Record> = shown.records.iter().filter(|r| report::takes(families, metric, &r.id)).collect();
    let mut records =
        if exact.is_empty() { shown.records.iter().filter(|r| names_metric(metric, &r.id)).collect() } else { exact };
    for (name, values) in &args.points.params {
        if !records.is_empty() && !records.iter().any(|r| r.params.get(name).is_some()) {
            bail!("{metric} has no parameter '{name}'");
        }
        records.retain(|r| r.params.get(name).is_some_and(|value| values.iter().any(|text| value.is_typed(text))));
        if records.is_empty() {
            bail!("run {run} holds no {metric} with {name}={}", values.join(","));
        }
    }
    if records.is_empty() {
        bail!("run {run} holds no metric '{metric}' ({} show lists them)", name());
    }
    records.retain(|r| args.points.is_there(r));
    if records.is_empty() {
        bail!("run {run} holds no {metric} in that placement or worker group");
    }
    Ok(Source { run: &shown.head, called: "", records })
}

/// Says which commands plot the distributions that were meant, one to a line; the exit code.
fn choose(args: &PlotArgs, source: &Source<'_>) -> u8 {
    warn!("'{}' names {} points, and a distribution is of one; plot one of them:", args.metric, source.records.len());
    let run = if args.run == ["latest"] { String::new() } else { format!(" --run {}", source.run.run) };
    for record in &source.records {
        let point = format!("{}{}{}", record.id, report::typed_params(record), report::typed_place(record));
        eprintln!("  {} plot {}{run} --histogram", name(), plain(&point));
    }
    2
}
