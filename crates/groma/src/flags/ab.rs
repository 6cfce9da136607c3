//! What `groma ab` takes.

use super::StoreArgs;
use super::parse::{parse_compare_format, parse_setting, parse_time};
use clap::Args;
use groma_model::Placement;
use groma_runner::Setting;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

pub(super) const HELP: &str = "Examples:
  groma ab -- -- bwrap --bind / / --dev /dev --proc /proc   nothing beside a sandbox, in a minute
  groma ab syscall ipc --budget 2m -- -- unshare -Urn       some groups beside a user and network namespace
  groma ab mem.latency -- taskset -c 0 -- taskset -c 1      two CPUs
  groma ab --program-b target/release/groma -- --           this groma beside another one
  groma ab --same -- --                                     the same twice: what is found is noise

Each worker is started behind the command of its side, which gets the path of groma and an argument and has to
pass standard input, output and error on; starting it is not measured. Rounds come in pairs, one of each side in
random order, with the same seed. Both sides are kept as runs, and groma compare A B shows them again. For an exit code use groma gate.";

#[derive(Debug, Args)]
pub(crate) struct AbArgs {
    /// Ids, groups or patterns [default: what a quick survey measures]
    #[arg(value_name = "SELECT")]
    pub(crate) select: Vec<String>,
    /// The commands of the two sides, each after a --; an empty one starts workers as usual
    #[arg(last = true, value_name = "CMD_A -- CMD_B", allow_hyphen_values = true)]
    pub(crate) commands: Vec<OsString>,
    /// The groma that is the worker on the first side, where it is another one
    #[arg(long, value_name = "FILE")]
    pub(crate) program_a: Option<PathBuf>,
    /// The same for the second side
    #[arg(long, value_name = "FILE")]
    pub(crate) program_b: Option<PathBuf>,
    /// Both sides are the same on purpose
    #[arg(long)]
    pub(crate) same: bool,
    /// The time for all rounds of both sides [default: 60s; of a gate 90s, a third of it to confirm]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) budget: Option<Duration>,
    /// Pairs of rounds at most [default: 40]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: Option<u32>,
    /// Set a parameter, as of groma run
    #[arg(long = "param", value_name = "[SELECT:]NAME=VALUE,...", value_parser = parse_setting)]
    pub(crate) params: Vec<Setting>,
    /// Where to run, as of groma run
    #[arg(long)]
    pub(crate) placement: Option<Placement>,
    /// The longest that one round may take before it is killed
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) deadline: Option<Duration>,
    /// The seed of every random choice
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Where files are made that benchmarks need
    #[arg(long, value_name = "DIR")]
    pub(crate) work_dir: Option<PathBuf>,
    /// Every metric with its interval and verdict, controls too
    #[arg(long)]
    pub(crate) all: bool,
    /// Do not keep the two runs
    #[arg(long)]
    pub(crate) no_store: bool,
    /// The format: table, json, csv, markdown or junit
    #[arg(long, default_value = "table", value_parser = parse_compare_format)]
    pub(crate) format: groma_report::CompareFormat,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
