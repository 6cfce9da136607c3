//! What `groma export` takes.

use super::StoreArgs;
use super::parse::{parse_export_format, parse_table};
use clap::Args;
use std::path::PathBuf;

pub(super) const HELP: &str = "Examples:
  groma export -o run.parquet         the records of the latest run, a row each
  groma export -o samples.parquet --table samples
      every sample of it
  groma export before latest host:db1 -o three.csv
      three runs, told apart by the column run
  groma export --select mem,ipc --format csv
      some of its metrics, to standard output
  groma export -o run.ndjson          all of a run; groma merge reads it back
  groma export -o groma.prom          for node_exporter's textfile collector
  groma export A B --format lmbench
      the tables that lmbench prints, a line a run

docs/exports.md has the columns, and a query for each format.";

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The runs: ids, beginnings of ids, tags, latest, latest~1, host:NAME, or files of streams
    #[arg(default_value = "latest", value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// Write this file, in the format of its ending (.csv, .json, .ndjson, .parquet, .prom). It is
    /// written beside and renamed; '-' is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
    /// The format: csv, json, ndjson, parquet, openmetrics or lmbench [default: by the file's
    /// ending]
    #[arg(long, value_parser = parse_export_format)]
    pub(crate) format: Option<ExportFormat>,
    /// What a row is: of records a metric, of rounds a metric in one round, of samples one timed
    /// interval [default: records, and all of it in ndjson]
    #[arg(long, value_parser = parse_table)]
    pub(crate) table: Option<groma_report::Table>,
    /// Only these ids, groups or patterns
    #[arg(long, value_name = "SELECT", value_delimiter = ',')]
    pub(crate) select: Vec<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// A format for other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExportFormat {
    /// One table as comma-separated values.
    Csv,
    /// A list of runs, each an object as `groma run --json` prints it.
    Json,
    /// Runs as streams of lines, as `groma run --out` writes them.
    Ndjson,
    /// One table as Parquet.
    Parquet,
    /// Gauges for Prometheus.
    OpenMetrics,
    /// The layout of lmbench's summary.
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

    /// The ending of its files; text of lmbench has none of its own.
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
