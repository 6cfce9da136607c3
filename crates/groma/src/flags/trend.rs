//! What `groma trend` takes.

use super::StoreArgs;
use super::parse::{parse_format, parse_since, parse_until};
use clap::Args;
use groma_model::Tag;

pub(super) const HELP: &str = "Examples:
  groma trend ipc.pipe_rtt                     its values over the last 200 runs, and where they changed
  groma trend --changes                        everything that changed, in the order of time
  groma trend syscall --since 2026-10-01 --changes     the system calls, since then
  groma trend mem.latency --format csv         for a spreadsheet

A change is a step that lasts for three runs or more and is clearer than in 198 of 199 random orders of the
runs; it takes twelve runs to see one.";

#[derive(Debug, Args)]
pub(crate) struct TrendArgs {
    /// The metrics: ids, groups or patterns
    #[arg(value_name = "METRIC")]
    pub(crate) select: Vec<String>,
    /// Only what changed, of all metrics unless some are named, in the order of time
    #[arg(long)]
    pub(crate) changes: bool,
    /// The machine [default: that of the newest run]
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Option<String>,
    /// Only runs with this tag
    #[arg(long)]
    pub(crate) tag: Option<Tag>,
    /// Only runs that began then or later: 2026-11-22, 2026-11-22T10:00, or 3d (three days ago)
    #[arg(long, value_name = "DATE", value_parser = parse_since)]
    pub(crate) since: Option<String>,
    /// Only runs that began then or earlier
    #[arg(long, value_name = "DATE", value_parser = parse_until)]
    pub(crate) until: Option<String>,
    /// The newest runs of these at most
    #[arg(long, value_name = "RUNS", default_value_t = 200)]
    pub(crate) last: usize,
    /// The format: table, json or csv
    #[arg(long, default_value = "table", value_parser = parse_format)]
    pub(crate) format: groma_report::Format,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
