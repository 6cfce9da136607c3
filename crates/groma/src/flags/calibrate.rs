//! What `groma calibrate` takes.

use super::{StoreArgs, parse::parse_time};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

pub(super) const HELP: &str = "Examples:
  groma calibrate
      five surveys of this machine, in five minutes
  groma calibrate ipc --runs 8 --budget 2m
  groma baseline show calibration            the table again

Runs of one machine differ although nothing has changed, by more than their rounds show. \
compare, gate and trend learn by how much from all runs of the same machine in the same state \
that the store holds; calibrate makes some. Run it while the machine is as busy as it usually is \
during measurements, and again after the machine has changed.";

#[derive(Debug, Args)]
pub(crate) struct CalibrateArgs {
    /// Ids, groups or patterns [default: what stands on the two pages]
    #[arg(value_name = "SELECT")]
    pub(crate) select: Vec<String>,
    /// How many runs
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=100))]
    pub(crate) runs: u32,
    /// The time for all of them together
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = parse_time)]
    pub(crate) budget: Duration,
    /// A directory for benchmarks that need files
    #[arg(long, value_name = "DIR")]
    pub(crate) work_dir: Option<PathBuf>,
    /// Every metric, not only those of the pages
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
