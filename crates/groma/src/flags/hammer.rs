//! What `groma hammer` takes.

use super::parse::parse_time;
use super::{StoreArgs, TagsArgs};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

pub(super) const HELP: &str = "\
Each writer has PAGES pages of memory of its own and does PAGES x LOOPS operations, as in the \
SLB: first one writer alone, then all at once. The work is split into equal parts for fresh \
processes, as many as divide LOOPS, nine at most: Ctrl-C keeps the parts that are complete. \
What an operation is, and why its time is a throughput and not a latency: groma explain \
mem.hammer.

Examples:
  groma hammer 262144 6000
      1 GiB and 1572864000 stores on each CPU, the original run of the SLB
  groma hammer 32768 100 --cpus 0,4      CPU 0 alone, then CPUs 0 and 4
  groma hammer 32768 100 --cpus 0 --mem-nodes 1
      with memory of another node
  groma hammer 32768 100 --variant own   ownership latency instead";

#[derive(Debug, Args)]
pub(crate) struct HammerArgs {
    /// Pages of 4 KiB for each writer
    #[arg(value_parser = clap::value_parser!(u64).range(1..=groma_harness::sys::arch::hammer::MOST_PAGES))]
    pub(crate) pages: u64,

    /// Operations per page
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) loops: u64,

    /// The CPUs of the writers, in their order; the first one also works alone: 0,2 or 0-3
    /// [default: all allowed]
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<String>,

    /// The memory nodes of the writers, in their order, repeated as needed: 0,1 [default: that of
    /// each CPU]
    #[arg(long, value_name = "LIST")]
    pub(crate) mem_nodes: Option<String>,

    /// The operation: a store to the first cache line of a page, anywhere in it, or ownership of
    /// one line after the other
    #[arg(long, value_name = "KIND", default_value = "store", value_parser = ["store", "line", "own"])]
    pub(crate) variant: String,

    /// The longest that one part may take before it is killed
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_time)]
    pub(crate) deadline: Duration,

    /// Print one JSON object instead of lines
    #[arg(long)]
    pub(crate) json: bool,

    /// Also write the records as NDJSON ('-' for standard output)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    /// Do not keep the run in the store, wherever it is
    #[arg(long)]
    pub(crate) no_store: bool,

    #[command(flatten)]
    pub(crate) tags: TagsArgs,

    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
