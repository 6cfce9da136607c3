//! What `groma predict` takes.

use super::StoreArgs;
use super::parse::{parse_format, parse_time};
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

pub(super) const HELP: &str = "Examples:
  groma predict -- git status
      count what it does, predict its time, compare with its time
  groma predict --format json -- git status > counts.json
  groma predict --counts counts.json --run latest --run host:db1
      the same work on two machines
  strace -c -f -o counts.txt make; groma predict --counts counts.txt
  perf stat -o counts.txt make; groma predict --counts counts.txt
  cat /proc/1234/io /proc/1234/status > counts.txt
  groma predict --counts counts.txt

Each count is multiplied by what groma measured of it on the machine of the run: a read by \
syscall.read, plus its bytes between that and file.pread_random; a fault by the mean of vm.fault \
on fresh memory and on a cached file. System calls without a measured cost are listed \
separately. A file of counts holds what strace -c, perf stat or perf trace -s wrote, \
/proc/PID/io and status, or JSON: {\"counts\": {\"read\": 12, \"write\": {\"count\": 3, \
\"bytes\": 4096}}}.

A command runs once to warm up the caches, 3 to 30 times for its time, faults and switches, \
until it has used half a second of CPU time, and once under ptrace for its system calls (no \
privileges are needed). Everything that it does to files it does each time. It gets empty input, \
and its output is discarded.";

#[derive(Debug, Args)]
pub(crate) struct PredictArgs {
    /// A command, which is run and counted
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "counts")]
    pub(crate) command: Vec<OsString>,
    /// A file of counts
    #[arg(long, value_name = "FILE")]
    pub(crate) counts: Option<PathBuf>,
    /// The run whose costs are used, as for groma show; several for several machines
    #[arg(long, value_name = "RUN", default_value = "latest")]
    pub(crate) run: Vec<String>,
    /// The longest that all runs of the command may take
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = parse_time)]
    pub(crate) deadline: Duration,
    /// The format: table, or json, which --counts reads
    #[arg(long, default_value = "table", value_parser = parse_format)]
    pub(crate) format: groma_report::Format,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
