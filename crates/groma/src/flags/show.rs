//! What `groma show` takes.

use super::parse::parse_format;
use super::{StoreArgs, WhichPoints};
use clap::Args;

pub(super) const HELP: &str = "Examples:
  groma show
      the latest run: its two pages, or a table if it holds less
  groma show --format markdown       the same, to be pasted into a forum
  groma show --all                   every value with its interval
  groma show --states                which values are not good, and why
  groma show --hardware              the hardware page alone
  groma show ipc.pipe_rtt
      one metric: interval, rounds, samples, proofs, earlier runs
  groma show ipc.pipe_rtt latest~1   the same metric in that run
  groma show --select mem --all      every point of the benchmarks of memory
  groma show before
      the newest run with this tag; before~1 is the one before
  groma show host:db1                the newest run of a machine
  groma show run.ndjson
      a file that groma run --out run.ndjson --samples wrote";

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// A run: its id or the beginning of it, one of its tags, latest, latest~1 (the one before),
    /// host:NAME, or the file of a stream (run.ndjson); or the id of a metric, which is shown on a
    /// card
    #[arg(default_value = "latest", value_name = "RUN|METRIC")]
    pub(crate) run: String,
    /// The run, where a metric is named first [default: the latest that holds it]
    #[arg(value_name = "RUN")]
    pub(crate) of: Option<String>,
    /// Only these ids, groups or patterns
    #[arg(long, value_name = "SELECT", value_delimiter = ',')]
    pub(crate) select: Vec<String>,
    /// The format
    #[arg(long, default_value = "table", value_parser = parse_format)]
    pub(crate) format: groma_report::Format,
    /// Only the hardware on one page: declared beside measured, bandwidths, latencies (table and
    /// markdown)
    #[arg(long, conflicts_with = "samples")]
    pub(crate) hardware: bool,
    /// Only which values are not good, grouped by the reason
    #[arg(long, conflicts_with_all = ["samples", "hardware", "all", "times"])]
    pub(crate) states: bool,
    /// Only where the time went: what the rounds of each benchmark took (table and json)
    #[arg(long, conflicts_with_all = ["samples", "hardware", "all"])]
    pub(crate) times: bool,
    /// With the raw samples (json and csv)
    #[arg(long)]
    pub(crate) samples: bool,
    /// Every value with its interval, instead of the pages; every point of a curve
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) points: WhichPoints,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
