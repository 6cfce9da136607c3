//! What `groma runs` takes.

use super::{StoreArgs, WhichRuns};
use clap::Args;

pub(super) const HELP: &str = "Examples:
  groma runs --since 3d                 those of the last three days
  groma runs --host db1 --kernel 6.18   of one machine, with these kernels
  groma runs --bench ipc.pipe_rtt       those that measured it

What a run is called wherever one is asked for:
  20261122T2131   the beginning of its id, as far as needed
  before          the newest run with this tag
  latest          the newest run
  host:db1        the newest run of this machine
  latest~1        the run before that; likewise before~1, host:db1~2

Days are those of UTC, as the times of the list.";

#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    #[command(flatten)]
    pub(crate) runs: WhichRuns,
    /// Only runs with a kernel whose release begins so: 6.18
    #[arg(long, value_name = "RELEASE")]
    pub(crate) kernel: Option<String>,
    /// Only runs that measured one of these: ids, groups or patterns
    #[arg(long, value_name = "SELECT", value_delimiter = ',')]
    pub(crate) bench: Vec<String>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
