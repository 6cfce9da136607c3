//! `groma export`: writes stored runs in formats of other programs.

use super::push::{self, PushArgs};
use crate::args::{StoreArgs, selects};
use crate::directory;
use crate::features::Feature;
use crate::measure::count;
use crate::out_file::OutFile;
use crate::parse::one_of;
use crate::print::{name, print, style};
use crate::program::Program;
use crate::store::{self, Shown};
use anyhow::{Context, Result, bail};
use clap::Args;
use groma_analysis::fleet::{fingerprint, is_plain_name};
use groma_harness::model::{Record, RunHeader};
use groma_report::{self as report, Exported, Format, Table};
use groma_store::{HOST_NAME, Ndjson};
use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

const HELP: &str = "Examples:
  groma export -o run.parquet         the records of the latest run, a row each
  groma export -o samples.parquet --table samples
      every sample of it
  groma export before latest host:db1 -o three.csv
      three runs, told apart by the column run
  groma export --select mem,ipc --format csv
      some of its metrics, to standard output
  groma export -o run.ndjson          all of a run; groma merge reads it back
  groma export results/*.ndjson -o warehouse/
      a Parquet file for each run, by date and group of equal hosts
  groma export -o groma.prom          for node_exporter's textfile collector
  groma export --format lmbench -o vm.0
      a result file of lmbench, which its scripts and groma import read
  groma export --to postgres://groma@db/fleet /var/spool/groma/ --wait 10m
      every stream of a directory to a server; what it has is moved to sent/

docs/exports.md has the columns, and a query for each format.";

/// Write runs for other programs: CSV, JSON, Parquet, Prometheus, lmbench's result file
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ExportArgs {
    /// The runs: ids, beginnings of ids, tags, latest, latest~1, host:NAME, or files of streams
    #[arg(default_value = "latest", value_name = "RUN")]
    runs: Vec<String>,
    /// Write this file, in the format of its ending (.csv, .json, .ndjson, .parquet, .prom). It is
    /// written beside and renamed; '-' is standard output. In DIR/, each run becomes a file of its
    /// own, in directories by date and by group of equal hosts
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// The format: csv, json, ndjson, parquet, openmetrics or lmbench [default: by the file's
    /// ending]
    #[arg(long, value_parser = |text: &str| one_of(text, &ExportFormat::ALL, ExportFormat::word))]
    format: Option<ExportFormat>,
    /// Send the runs to this PostgreSQL server instead, where fleet judge reads those of all hosts:
    /// postgres://user@host:port/name
    #[arg(long, value_name = "URL", conflicts_with_all = ["output", "format", "table", "select"])]
    to: Option<String>,
    /// With --to, how long to try again while the server is away, as in 10m
    #[arg(long, value_name = "TIME", value_parser = crate::parse::parse_time, requires = "to")]
    wait: Option<Duration>,
    /// With --to, leave the files of a directory where they are
    #[arg(long, requires = "to")]
    keep: bool,
    /// What a row is: of records a metric, of rounds a metric in one round, of samples one timed
    /// interval [default: records, and all of it in ndjson]
    #[arg(long, value_parser = |text: &str| one_of(text, &Table::ALL, Table::word))]
    table: Option<Table>,
    /// Only these ids, groups or patterns
    #[arg(long, value_name = "SELECT", value_delimiter = ',')]
    select: Vec<String>,
    #[command(flatten)]
    store: StoreArgs,
}

/// A format for other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExportFormat {
    /// One table as comma-separated values.
    Csv,
    /// An array of runs, each an object as `groma run --json` prints it.
    Json,
    /// Streams of lines, as `groma run --out` writes them.
    Ndjson,
    /// One table as Parquet.
    Parquet,
    /// Gauges for Prometheus.
    OpenMetrics,
    /// A result file of lmbench.
    Lmbench,
}

impl ExportFormat {
    pub(crate) const ALL: [ExportFormat; 6] = [
        ExportFormat::Csv,
        ExportFormat::Json,
        ExportFormat::Ndjson,
        ExportFormat::Parquet,
        ExportFormat::OpenMetrics,
        ExportFormat::Lmbench,
    ];

    pub(crate) const fn word(self) -> &'static str {
        match self {
            ExportFormat::Csv => "csv",
            ExportFormat::Json => "json",
            ExportFormat::Ndjson => "ndjson",
            ExportFormat::Parquet => "parquet",
            ExportFormat::OpenMetrics => "openmetrics",
            ExportFormat::Lmbench => "lmbench",
        }
    }

    /// The file extension; a result file of lmbench ends in a number.
    pub(crate) const fn ending(self) -> Option<&'static str> {
        match self {
            ExportFormat::Csv => Some("csv"),
            ExportFormat::Json => Some("json"),
            ExportFormat::Ndjson => Some("ndjson"),
            ExportFormat::Parquet => Some("parquet"),
            ExportFormat::OpenMetrics => Some("prom"),
            ExportFormat::Lmbench => None,
        }
    }
}

/// What `--to` asks of `push`.
fn push_args(url: &str, args: &ExportArgs) -> PushArgs {
    PushArgs {
        url: url.to_owned(),
        what: args.runs.iter().map(PathBuf::from).collect(),
        keep: args.keep,
        wait: args.wait,
        store: args.store.clone(),
    }
}

/// Writes the runs.
pub(super) fn run(program: &Program, args: &ExportArgs) -> Result<u8> {
    if let Some(url) = &args.to {
        return push::run(program, &push_args(url, args));
    }
    let format = format_of(args)?;
    if format == ExportFormat::Parquet {
        Feature::PARQUET.require()?;
    }
    let table = table_of(format, args.table)?;
    let to_stdout = args.output.as_os_str() == "-";
    if directory::is_named(&args.output) {
        return partitioned(program, args, format, table);
    }
    if to_stdout && format == ExportFormat::Parquet && std::io::stdout().is_terminal() {
        bail!("parquet is not for a terminal: name a file with -o run.parquet");
    }
    let path = args.output.display();
    let mut out = OutFile::create(&args.output).with_context(|| format!("-o {path}"))?;
    write(program, args, format, table, &mut out)?;
    out.finish().with_context(|| format!("-o {path}"))?;
    if !to_stdout {
        let bytes = std::fs::metadata(&args.output).map_or(0, |file| file.len());
        let runs = report::units::counted(args.runs.len(), "run");
        print(&format!("{path}: {runs}, {}\n", report::units::size(bytes as f64)))?;
    }
    Ok(0)
}

/// Writes a file for each run below a directory, in the layout that readers of tables call
/// partitioned: the date and the group of hosts are names of directories, and become columns. A run
/// has one file there, however often it is written.
fn partitioned(program: &Program, args: &ExportArgs, format: ExportFormat, table: Table) -> Result<u8> {
    let ending = format.ending().filter(|_| matches!(format, ExportFormat::Csv | ExportFormat::Parquet));
    let Some(ending) = ending else {
        bail!("-o {}: in a directory, runs are written as parquet or csv", args.output.display());
    };
    let (mut places, mut bytes) = (BTreeSet::new(), 0);
    for run in &args.runs {
        let shown = load(program, args, run, table, false)?;
        let (date, group) =
            (shown.head.started.split('T').next().unwrap_or_default(), fingerprint(&shown.head.environment));
        if !date.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') || !is_plain_name(&shown.head.run) {
            bail!("{run}: its date or its id cannot be the name of a file");
        }
        let place = args.output.join(format!("date={date}")).join(format!("group={group}"));
        let file = place.join(format!("{}.{ending}", shown.head.run));
        let of_file = || format!("-o {}", file.display());
        std::fs::create_dir_all(&place).with_context(of_file)?;
        let mut out = OutFile::create(&file).with_context(of_file)?;
        write_table(format, table, [Ok(shown)], &mut out, &of_file)?;
        out.finish().with_context(of_file)?;
        bytes += std::fs::metadata(&file).map_or(0, |file| file.len());
        places.insert(place);
    }
    let runs = report::units::counted(args.runs.len(), "run");
    let places = report::units::counted(places.len(), "partition");
    print(&format!("{}: {runs} in {places}, {}\n", args.output.display(), report::units::size(bytes as f64)))?;
    Ok(0)
}

/// The format of `--format`, or that of the file extension; in a directory, Parquet.
fn format_of(args: &ExportArgs) -> Result<ExportFormat> {
    if let Some(format) = args.format {
        return Ok(format);
    }
    if directory::is_named(&args.output) {
        return Ok(ExportFormat::Parquet);
    }
    let ending = args.output.extension().and_then(|ending| ending.to_str());
    let found = ExportFormat::ALL.into_iter().find(|format| ending.is_some() && format.ending() == ending);
    found.with_context(|| {
        let endings: Vec<String> =
            ExportFormat::ALL.iter().filter_map(|format| Some(format!(".{}", format.ending()?))).collect();
        let (endings, formats) = (endings.join(" "), ExportFormat::ALL.map(ExportFormat::word).join("|"));
        if args.output.as_os_str() == "-" {
            return format!(
                "no format: name one with --format {formats}, or a file with -o, which ends in one of {endings}"
            );
        }
        let path = args.output.display();
        format!("-o {path}: its ending names no format: use one of {endings}, or --format {formats}")
    })
}

/// The table to write, if the format has it.
fn table_of(format: ExportFormat, asked: Option<Table>) -> Result<Table> {
    let (has, default): (&[Table], Table) = match format {
        ExportFormat::Csv | ExportFormat::Parquet => (&Table::ALL, Table::Records),
        ExportFormat::Json => (&[Table::Records, Table::Samples], Table::Records),
        ExportFormat::Ndjson => (&[Table::Records, Table::Samples], Table::Samples),
        ExportFormat::OpenMetrics | ExportFormat::Lmbench => (&[Table::Records], Table::Records),
    };
    let table = asked.unwrap_or(default);
    if !has.contains(&table) {
        let has: Vec<&str> = has.iter().map(|table| table.word()).collect();
        bail!("--table {}: {} has {} only", table.word(), format.word(), has.join(" and "));
    }
    Ok(table)
}

fn write(program: &Program, args: &ExportArgs, format: ExportFormat, table: Table, out: &mut OutFile) -> Result<()> {
    let path = args.output.display().to_string();
    let of_file = || format!("-o {path}");
    let samples = format == ExportFormat::Json && table == Table::Samples;
    let mut ids: Vec<String> = Vec::new();
    // Loaded one at a time: the samples of many runs may not fit into memory.
    let runs = args.runs.iter().map(|run| {
        let shown = load(program, args, run, table, samples)?;
        if ids.contains(&shown.head.run) {
            bail!("{run}: run {} is named twice", shown.head.run);
        }
        ids.push(shown.head.run.clone());
        Ok(shown)
    });
    match format {
        ExportFormat::Csv | ExportFormat::Parquet => write_table(format, table, runs, out, &of_file),
        ExportFormat::Json => {
            for (i, run) in runs.enumerate() {
                let run = run?;
                let style = style(false).of(Format::Json);
                let of_run = report::run(program.known_families(), &run.head, &run.records, run.end.as_ref(), &style);
                let text = of_run.render(Format::Json, &style);
                write!(out, "{}{}", if i == 0 { "[\n" } else { ",\n" }, text.trim_end()).with_context(of_file)?;
            }
            out.write_all(b"\n]\n").with_context(of_file)
        }
        ExportFormat::Ndjson => {
            let stream = Ndjson::new(out, path.as_str());
            let mut stream = if table == Table::Samples { stream.with_rounds() } else { stream };
            for run in runs {
                run?.write(&mut stream)?;
            }
            Ok(())
        }
        ExportFormat::OpenMetrics => {
            let runs: Vec<Shown> = runs.collect::<Result<_>>()?;
            let runs: Vec<(&RunHeader, &[Record])> = runs.iter().map(|run| (&run.head, &run.records[..])).collect();
            out.write_all(gauges(&runs)?.as_bytes()).with_context(of_file)
        }
        ExportFormat::Lmbench => {
            let runs: Vec<Shown> = runs.collect::<Result<_>>()?;
            out.write_all(result_file(&runs)?.as_bytes()).with_context(of_file)
        }
    }
}

/// Writes runs as one table, in CSV or Parquet.
fn write_table(
    format: ExportFormat,
    table: Table,
    runs: impl IntoIterator<Item = Result<Shown>>,
    out: &mut OutFile,
    of_file: &impl Fn() -> String,
) -> Result<()> {
    let mut writer = match format {
        #[cfg(feature = "parquet")]
        ExportFormat::Parquet => report::parquet_table(table, out),
        _ => report::csv_table(table, out),
    }
    .with_context(of_file)?;
    for run in runs {
        report::write_rows(table, &exported(&run?), writer.as_mut()).with_context(of_file)?;
    }
    writer.finish().with_context(of_file)
}

/// A run as the writers of tables take it.
fn exported(run: &Shown) -> Exported<'_> {
    Exported { head: &run.head, points: &run.points, rounds: &run.rounds, records: &run.records }
}

/// Reads the selected metrics of a run.
fn load(program: &Program, args: &ExportArgs, run: &str, table: Table, samples: bool) -> Result<Shown> {
    let selected = |id: &str| selects(&args.select, id);
    let what = args.select.join(", ");
    let loaded = store::load(program, &args.store, run, samples, &what, selected, |r| selected(&r.id));
    let mut shown = match loaded {
        Ok(mut shown) => {
            shown.keep_points(selected);
            shown.flag_contradictions(&args.store, run)?;
            shown.keep_metrics(selected);
            shown
        }
        // A stream may have its records alone, as those of fleets do; a table of them needs no
        // more.
        Err(error) if table == Table::Records && store::is_stream(run) => {
            let mut shown = store::read_recorded(run).map_err(|_| error)?;
            shown.records.retain(|record| selected(&record.id));
            shown
        }
        Err(error) => return Err(error),
    };
    if let Some(end) = shown.end.as_mut().filter(|_| !args.select.is_empty()) {
        end.states = count(&shown.records);
    }
    if shown.records.is_empty() {
        let why = if args.select.is_empty() { String::new() } else { format!(" that {what} names") };
        bail!("run {} holds no metric{why} ({} show lists them)", shown.head.run, name());
    }
    Ok(shown)
}

/// Runs as gauges. A gauge has one value for each host.
fn gauges(runs: &[(&RunHeader, &[Record])]) -> Result<String> {
    let host = |head: &RunHeader| head.environment.get(HOST_NAME).unwrap_or_default().to_owned();
    for (i, (head, _)) in runs.iter().enumerate() {
        if let Some((other, _)) = runs[..i].iter().find(|(other, _)| host(other) == host(head)) {
            let (a, b) = (&other.run, &head.run);
            bail!("openmetrics holds one run of a host, and {a} and {b} are both of '{}'", host(head));
        }
    }
    Ok(report::openmetrics(runs))
}

/// A result file of lmbench. It holds one run: lmbench's scripts take a file for a machine.
fn result_file(runs: &[Shown]) -> Result<String> {
    let [run] = runs else { bail!("lmbench: a result file holds one run, and {} are named", runs.len()) };
    let written = report::lmbench_file(&run.head, &run.records, run.end.as_ref());
    if written.values == 0 {
        bail!("lmbench: run {} holds no value that lmbench has a line for", run.head.run);
    }
    Ok(written.text)
}
