//! What `groma plot` takes.

use super::{StoreArgs, WhichPoints};
use clap::Args;
use std::path::PathBuf;

pub(super) const HELP: &str = "Examples:
  groma plot mem.latency -o caches.svg
      latency by size, the levels marked
  groma plot mem.latency --run 20261121 --run latest
      two runs: before and after, or two machines
  groma plot mem.bandwidth                       read, write and copy by size
  groma plot mem.bandwidth --param op=read,write_nt
      these operations instead
  groma plot mem.loaded_latency
      latency over the bandwidth of the traffic beside it
  groma plot ipc.pipe_rtt --placement same-cpu   the distribution of one point
  groma plot cpu.core_to_core --param protocol=flag2 -o cores.png
      a matrix of CPUs
  groma plot mem.numa                            a matrix of nodes";

#[derive(Clone, Debug, Args)]
pub(crate) struct PlotArgs {
    /// The metric: mem.latency, or what lmbench calls it: lat_mem_rd
    pub(crate) metric: String,
    /// The run, named as for show; of several, each is drawn
    #[arg(long, value_name = "RUN", default_value = "latest")]
    pub(crate) run: Vec<String>,
    /// Write an SVG or PNG file, by its ending, instead of drawing in the terminal
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// What the curve runs over: a size, time or count among the parameters, or P, the members of
    /// the worker group [default: what takes the most values]
    #[arg(long, value_name = "NAME", conflicts_with = "histogram")]
    pub(crate) over: Option<String>,
    #[command(flatten)]
    pub(crate) points: WhichPoints,
    /// The distribution of the samples instead of a curve
    #[arg(long)]
    pub(crate) histogram: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
