//! What `groma watch` takes.

use super::parse::parse_time;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

pub(super) const HELP: &str = "\
A core with two hardware threads gives each about half of what it can do when both are busy. \
On a rented machine the other thread may run somebody else's work, and no counter of the \
kernel shows it. A probe of 3 us, 100 times a second on each CPU, does; it takes half a \
percent of each. Beside it stand the time that the host stole, the core's clock, and, as \
'waiting', the share of the time in which some task of this machine waited for a CPU.

Examples:
  groma watch                                 until Ctrl-C
  groma watch --for 10m --out shared.ndjson   and keep every second
  groma watch --for 10s --openmetrics > groma.prom
      for a collector";

#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// How long to watch: 30s, 10m, 1h [default: until Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = parse_time)]
    pub(crate) time: Option<Duration>,

    /// Also write every second as NDJSON
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    /// Print nothing but the summary, as OpenMetrics text
    #[arg(long, requires = "time")]
    pub(crate) openmetrics: bool,
}
