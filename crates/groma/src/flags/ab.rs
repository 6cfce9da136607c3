//! What `groma ab` takes.

use super::StoreArgs;
use super::parse::{parse_compare_format, parse_setting, parse_state, parse_time};
use clap::{Args, ValueEnum};
use groma_model::Placement;
use groma_runner::Setting;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

pub(super) const HELP: &str = "Examples:
  groma ab -- -- bwrap --bind / / --dev /dev --proc /proc
      nothing beside a sandbox, in a minute
  groma ab --profile standard -- -- bwrap --bind / / --proc /proc
      the same for all of the two pages, in three
  groma ab syscall ipc --budget 2m -- -- unshare -Urn
      some groups beside a user and network namespace
  groma ab mem.latency -- taskset -c 0 -- taskset -c 1
      two CPUs
  groma ab vm.fault --set-a vm.overcommit_memory=0 \\
      --set-b vm.overcommit_memory=1
      a setting of the kernel
  groma ab net --before 'tc qdisc del dev lo root; true' \\
      --after 'tc qdisc add dev lo root fq'
      what a script changes
  groma ab --program-b target/release/groma -- --
      this groma beside another one
  groma ab --same -- --   the same twice: what is found is noise

Each worker is started behind the command of its side, which gets the path of groma and an \
argument, and has to pass standard input, output and error on; starting it is not measured. \
Rounds come in pairs, one of each side in random order, with the same seed. Both sides are kept \
as runs, and groma compare A B shows them again. For an exit code use groma gate.

What --set-a and --set-b write, groma itself restores at the end, also when it is interrupted or \
fails; after SIGKILL the next groma run does. To undo what --before and --after change, it runs \
--before again. These two are never timed; processes that they leave in the background are ended \
with them.";

/// The survey whose metrics are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SurveyArg {
    /// What a quick survey measures
    Quick,
    /// What stands on the two pages
    Standard,
}

#[derive(Debug, Args)]
pub(crate) struct AbArgs {
    /// Ids, groups or patterns [default: those of the profile]
    #[arg(value_name = "SELECT")]
    pub(crate) select: Vec<String>,
    /// Where nothing is selected: what to measure
    #[arg(long, value_enum, default_value_t = SurveyArg::Quick, conflicts_with_all = ["select", "params"])]
    pub(crate) profile: SurveyArg,
    /// The commands of the two sides, each after a --; an empty one starts workers as usual, and
    /// the second may hold a -- of its own
    #[arg(last = true, value_name = "CMD_A -- CMD_B", allow_hyphen_values = true)]
    pub(crate) commands: Vec<OsString>,
    /// Another groma whose workers measure on the first side [default: this one]
    #[arg(long, value_name = "FILE")]
    pub(crate) program_a: Option<PathBuf>,
    /// The same for the second side
    #[arg(long, value_name = "FILE")]
    pub(crate) program_b: Option<PathBuf>,
    /// A file that holds this value in the rounds of the first side, such as
    /// /sys/kernel/mm/transparent_hugepage/enabled=never, or a sysctl: vm.swappiness=10; a file
    /// that only the other side names has its present value
    #[arg(long, value_name = "FILE=VALUE", value_parser = parse_state)]
    pub(crate) set_a: Vec<(PathBuf, String)>,
    /// The same for the second side
    #[arg(long, value_name = "FILE=VALUE", value_parser = parse_state)]
    pub(crate) set_b: Vec<(PathBuf, String)>,
    /// A shell command that puts the machine into the state of the first side, which is its present
    /// state; run when the sides change, and at the end
    #[arg(long, value_name = "CMD", requires = "after", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) before: Option<String>,
    /// The same for the second side
    #[arg(long, value_name = "CMD", requires = "before", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) after: Option<String>,
    /// Both sides are the same on purpose
    #[arg(long)]
    pub(crate) same: bool,
    /// The time for all rounds of both sides [default: 60s, 3m with --profile standard]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) budget: Option<Duration>,
    /// Pairs of rounds at most [default: 40]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: Option<u32>,
    /// Set a parameter, as for groma run
    #[arg(long = "param", value_name = "[SELECT:]NAME=VALUE,...", value_parser = parse_setting)]
    pub(crate) params: Vec<Setting>,
    /// Where to run, as for groma run
    #[arg(long)]
    pub(crate) placement: Option<Placement>,
    /// The longest that one round, or a shell command, may take before it is killed
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) deadline: Option<Duration>,
    /// The seed of every random choice
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// A directory for benchmarks that need files
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
