//! What `groma gate` takes.

use super::ab::AbArgs;
use clap::Args;
use std::path::PathBuf;

pub(super) const HELP: &str = "Examples:
  groma baseline set base.ndjson main      once: the runs with the tag 'main'
  groma gate --baseline base.ndjson        check this machine against that file
  groma gate syscall ipc --baseline main
      some groups, against runs with this tag
  groma gate --program-b new/groma -- --   two programs in turns, no baseline
  groma gate --tolerance 2 -- -- bwrap --bind / /
      a sandbox may cost 2 %

A gate measures twice: what looks slower the first time is measured again, and it fails only \
where these fresh rounds confirm it, beyond chance for all metrics together. Against a baseline \
a metric must also differ by more than runs of the baseline's machine do without any change: \
make it of several runs. Prefer two sides in turns where machines change from run to run, as in \
most clouds. Its runs are kept with the tag gate-passed, gate-failed or gate-unclear.

Exit codes:
  0  nothing became slower
  1  something became slower
  2  usage error
  3  more than half of the metrics are inconclusive, or one that looked
     slower both times
  4  something failed to be measured, or a file to be written";

/// The budget of [`AbArgs`] is another one here.
const BUDGET: &str =
    "The time for all rounds of both sides [default: 90s, 4m30s with --profile standard]; a third is kept to confirm";

#[derive(Debug, Args)]
#[command(mut_arg("budget", |budget| budget.help(BUDGET)))]
pub(crate) struct GateArgs {
    /// What this machine is compared with: a file of groma baseline, a tag (all of its runs), or a
    /// run. Without it two sides are measured in turns, as by groma ab
    #[arg(long, value_name = "RUN", value_delimiter = ',', conflicts_with_all = ["profile", "commands", "program_a", "program_b", "same", "set_a", "set_b", "before", "after"])]
    pub(crate) baseline: Vec<String>,
    /// By how many percent something may become slower
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, allow_negative_numbers = true, value_parser = super::parse::parse_percent)]
    pub(crate) tolerance: f64,
    /// Also write a test case for each metric, for continuous integration
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) measured: AbArgs,
}
