//! `groma plot`: a curve, a matrix or a distribution, in the terminal or as a file.

use crate::args::{StoreArgs, WhichPoints};
use crate::exit;
use crate::features::Feature;
use crate::out_file::Named;
use crate::print::{name, print, style};
use crate::program::Program;
use crate::store::{self, Shown};
use anyhow::{Result, bail};
use clap::Args;
use groma_harness::model::{Families, Record, Tier, is_metric_of, plain};
use groma_report::{self as report, Chart, Source};
use groma_runner::select::names_metric;
use std::path::{Path, PathBuf};

const HELP: &str = "Examples:
  groma plot mem.latency -o caches.svg
      latency by size, the levels marked
  groma plot mem.latency --run 20261121 --run latest
      two runs: before and after, or two machines
  groma plot mem.bandwidth                       read, write and copy by size
  groma plot mem.bandwidth --param op=read,write_nt
      these operations instead
  groma plot mem.loaded_latency
      latency over the bandwidth of the traffic beside it
  groma plot ipc.pipe_rtt --placement same-cpu   the distribution of one point
  groma plot cpu.core_to_core --param protocol=flag2 -o cores.png
      a matrix of CPUs
  groma plot mem.numa                            a matrix of nodes";

/// Plot a metric of a run: a curve over its sizes, a matrix of its CPUs, or the distribution of
/// its samples
#[derive(Clone, Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct PlotArgs {
    /// The metric: mem.latency, or what lmbench calls it: lat_mem_rd
    metric: String,
    /// The run, named as for show; of several, each is drawn
    #[arg(long, value_name = "RUN", default_value = "latest")]
    run: Vec<String>,
    /// Write an SVG or PNG file, by its ending, instead of drawing in the terminal
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// What the curve runs over: a size, time or count among the parameters, or P, the members of
    /// the worker group [default: what takes the most values]
    #[arg(long, value_name = "NAME", conflicts_with = "histogram")]
    over: Option<String>,
    #[command(flatten)]
    points: WhichPoints,
    /// The distribution of the samples instead of a curve
    #[arg(long)]
    histogram: bool,
    #[command(flatten)]
    store: StoreArgs,
}

/// Plots a metric of a run, or of several.
pub(super) fn run(program: &Program, args: &PlotArgs) -> Result<u8> {
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

/// The metric that a text names: an id, or another tool's name of a benchmark.
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

/// The file of a plot, in the format of its extension.
pub(super) struct PlotFile {
    out: Named,
    is_png: bool,
}

impl PlotFile {
    /// Opens the file before anything is read.
    ///
    /// # Errors
    /// When its extension is not that of a plot, or it cannot be written.
    pub(super) fn new(path: &Path) -> Result<PlotFile> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some(ending @ ("svg" | "png")) => {
                let is_png = ending == "png";
                if is_png {
                    Feature::PNG.require()?;
                }
                Ok(PlotFile { out: Named::open("-o", path)?, is_png })
            }
            _ => bail!("-o {}: a plot's file ends in .svg or .png", path.display()),
        }
    }

    /// Writes the plot.
    pub(super) fn write(self, chart: &Chart) -> Result<()> {
        let bytes = if self.is_png { png(chart)? } else { chart.svg().into_bytes() };
        self.out.write(&bytes)
    }
}

/// A plot for high-density screens.
///
/// # Errors
/// When this build has no PNG, or the encoder fails.
#[cfg(feature = "png")]
pub(super) fn png(chart: &Chart) -> Result<Vec<u8>> {
    chart.png(2.0).map_err(anyhow::Error::msg)
}

#[cfg(not(feature = "png"))]
pub(super) fn png(_: &Chart) -> Result<Vec<u8>> {
    Err(Feature::PNG.missing())
}

/// Reads a run that holds the metric.
fn load(program: &Program, args: &PlotArgs, run: &str) -> Result<Shown> {
    let families = program.known_families();
    let names = |id: &str| report::takes(families, &args.metric, id) || names_metric(&args.metric, id);
    let wanted = |r: &Record| names(&r.id) && r.value.is_some() && args.points.take(r);
    store::load(program, &args.store, run, true, &args.metric, names, wanted)
}

/// The records of a run to draw.
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
    records.retain(|r| args.points.is_selected(r));
    if records.is_empty() {
        bail!("run {run} holds no {metric} in that placement or worker group");
    }
    Ok(Source { run: &shown.head, called: "", records })
}

/// Lists the commands that plot the distribution of one point each; returns the exit code.
fn choose(args: &PlotArgs, source: &Source<'_>) -> u8 {
    warn!("'{}' names {} points, and a distribution is of one; plot one of them:", args.metric, source.records.len());
    let run = if args.run == ["latest"] { String::new() } else { format!(" --run {}", source.run.run) };
    for record in &source.records {
        let point = format!("{}{}{}", record.id, report::typed_params(record), report::typed_place(record));
        eprintln!("  {} plot {}{run} --histogram", name(), plain(&point));
    }
    exit::USAGE
}
