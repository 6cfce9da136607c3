//! What `groma explain` takes.

use super::StoreArgs;
use clap::Args;

pub(super) const HELP: &str = "Examples:
  groma explain ipc.pipe_rtt   what it measures, how, and its pitfalls
  groma explain noisy          a word of the results
  groma explain ipc.pipe_rtt --run latest
      break its value down into measured costs
  groma explain --run latest   all composed costs of a run, a line each

A composed cost is shown as in CSE 221: what the hardware alone would take, what the primitives \
that it consists of predict, what was measured, and the rest that nothing explains. The interval \
of a sum goes from the sum of the lower ends to that of the upper ends. Parts that the run lacks \
are taken from other runs of the same machine in the same state, and marked; where there are \
none, the command that measures them is named.";

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// Ids, groups or patterns; or states, flags and labels
    #[arg(required_unless_present = "run", value_name = "SELECT")]
    pub(crate) select: Vec<String>,
    /// A run, as for groma show: take its values apart into measured primitives
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
