//! What `groma list` takes.

use clap::Args;

pub(super) const HELP: &str = "Examples:
  groma list mem                           the benchmarks of a group
  groma list --long 'ipc.*'                with their parameters
  groma list --lineage lmbench3:lat_pipe   the command that repeats lmbench's
  groma list --lineage table10
      table 10 of the paper of 1996, and of the one of 1990
  groma list --lineage rt-tests            other tools as well";

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Ids, groups or patterns [default: all]
    #[arg(value_name = "SELECT")]
    pub(crate) select: Vec<String>,
    /// With parameters, further metrics, placements and lineage
    #[arg(long, conflicts_with = "json")]
    pub(crate) long: bool,
    /// What repeats a suite or paper, or one of its rows, as commands: lmbench3, lmbench3:lat_pipe,
    /// table10, lat_sig
    #[arg(long, value_name = "SOURCE[:ROW]", conflicts_with_all = ["json", "long", "select"])]
    pub(crate) lineage: Option<String>,
    /// As JSON, one object for each benchmark
    #[arg(long)]
    pub(crate) json: bool,
}
