//! What `groma compare` takes.

use super::StoreArgs;
use super::parse::{parse_compare_format, parse_percent};
use clap::Args;

pub(super) const HELP: &str = "Examples:
  groma compare                         the latest run and the one before it
  groma compare before
      the latest run and the newest with this tag
  groma compare A B C                   three machines
  groma compare --a before --b after
      all runs of two tags: several runs on each side find smaller differences
  groma compare reference latest        this machine and a reference machine
  groma compare latest --with reference
      is this number good? where it lies among all reference machines
  groma compare A B --relative cycles   two clock rates
  groma compare A B --select ipc,net --all
      every metric of these groups, with intervals
  groma compare A B --format markdown   for a comment on a pull request
  groma compare base latest --gate=5
      exit code 1 if something is slower by more than 5 %

A metric is called slower or faster only where the rounds of the two runs differ beyond chance, \
for the whole comparison at once, and by more than other runs of the first side's machine do in \
the same state: the more of them the store holds, the smaller the differences that are found.";

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The runs: ids, beginnings of ids, tags, latest, latest~1, host:NAME, files of streams or
    /// baselines, or a reference machine; the others are compared with the first [default: the
    /// latest two]
    #[arg(value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// The runs of the first side, taken as one; a tag stands for all of its runs
    #[arg(long, value_name = "RUN", value_delimiter = ',', requires = "b")]
    pub(crate) a: Vec<String>,
    /// The runs of the second side
    #[arg(long, value_name = "RUN", value_delimiter = ',', requires = "a")]
    pub(crate) b: Vec<String>,
    /// Beside one run the range of what all reference machines measured, and what lies outside of
    /// it
    #[arg(long, value_name = "WHAT", value_parser = ["reference"], conflicts_with_all = ["a", "b", "relative", "gate"])]
    pub(crate) with: Option<String>,
    /// Only these ids, groups or patterns
    #[arg(long, value_name = "SELECT", value_delimiter = ',')]
    pub(crate) select: Vec<String>,
    /// Compare multiples of something instead of times: 'cycles', or a metric at one point such as
    /// syscall.getppid, mem.latency:size=16K or ipc.pipe_rtt:same-cpu
    #[arg(long, value_name = "WHAT")]
    pub(crate) relative: Option<String>,
    /// Every metric with its interval and verdict, controls too, and what is not compared
    #[arg(long)]
    pub(crate) all: bool,
    /// The format: table, json, csv, markdown or junit
    #[arg(long, default_value = "table", value_parser = parse_compare_format)]
    pub(crate) format: groma_report::CompareFormat,
    /// Exit with code 1 if something became slower (by more than so many percent), with 3 if more
    /// than half of the metrics are inconclusive; groma gate measures again before it fails
    #[arg(long, value_name = "PERCENT", num_args = 0..=1, default_missing_value = "0", require_equals = true, value_parser = parse_percent)]
    pub(crate) gate: Option<f64>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
