//! What `groma trend` takes.

use super::parse::parse_format;
use super::{StoreArgs, WhichPoints, WhichRuns};
use clap::Args;
use std::path::PathBuf;

pub(super) const HELP: &str = "Examples:
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

#[derive(Clone, Debug, Args)]
pub(crate) struct TrendArgs {
    /// The metrics: ids, groups or patterns
    #[arg(value_name = "METRIC")]
    pub(crate) select: Vec<String>,
    /// Only what changed, of all metrics unless some are named, in the order of time
    #[arg(long)]
    pub(crate) changes: bool,
    #[command(flatten)]
    pub(crate) points: WhichPoints,
    /// Write a plot of one metric into an SVG or PNG file, by its ending, and nothing else
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["changes", "format"])]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) runs: WhichRuns,
    /// The newest runs of these at most
    #[arg(long, value_name = "RUNS", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) last: u32,
    /// The format: table, json or csv
    #[arg(long, default_value = "table", value_parser = parse_format)]
    pub(crate) format: groma_report::Format,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
