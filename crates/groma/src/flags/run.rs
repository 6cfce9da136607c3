//! What `groma run` takes.

use super::parse::{parse_address, parse_setting, parse_time, parse_token, parse_workers};
use super::{StoreArgs, TagsArgs};
use clap::{Args, ValueEnum};
use groma_model::{NoiseVerdict, Placement, Profile};
use groma_runner::Setting;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

pub(super) const HELP: &str = "Examples:
  groma run                            what stands on the two pages, in a minute
  groma run --all                      everything; says how long it takes
  groma run ipc 'mem.*' syscall.read   a group, a pattern, one benchmark
  groma run mem --param size=1M        every benchmark of memory that has a size
  groma run ipc --param 'ipc.pipe_*:size=1,64K'
      a parameter of some benchmarks only
  groma run ipc.pipe_rtt --placement 0,3
      between two CPUs
  groma run timer.sleep --param length=250us --round-length 2s --rounds 9
  groma run syscall -P 1,2,4           as one, two and four processes at once
  groma run ctx ipc --tag before       and give the run the tag 'before'
  groma run disk --work-dir /mnt/data --dry-run
      what would be measured
  groma run --dry-run --machine other.txt
      what would be measured on another machine";

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Ids, groups or patterns: syscall.getppid, ipc, 'mem.*' [default: what stands on the two
    /// pages that the run ends with; everything with --all]
    #[arg(value_name = "SELECT")]
    pub(crate) select: Vec<String>,

    /// How much time to spend
    #[arg(long, value_enum, default_value = "standard")]
    pub(crate) profile: ProfileArg,

    /// Time budget: 30s or 30, 2m, 1h [default: that of the profile: 10s, 60s, what everything
    /// needs, or 10m]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) budget: Option<Duration>,

    /// Sizes of worker groups (copies that run at the same time, which is proven): 1,2,4
    #[arg(short = 'P', long, value_name = "N,...", value_delimiter = ',', value_parser = parse_workers)]
    pub(crate) parallel: Vec<u32>,

    /// Make worker groups of threads instead of processes
    #[arg(long)]
    pub(crate) threads: bool,

    /// Where to run: same-cpu, smt, same-llc, cross-llc, cross-node, free or two CPUs such as 0,2
    /// for benchmarks with a peer; free, compact, spread or a list of CPUs for worker groups and
    /// single tasks; core=efficiency, node=1 or core=efficiency,node=1 for a class of core, a NUMA
    /// node, or both
    #[arg(long, value_name = "WHERE")]
    pub(crate) placement: Option<Placement>,

    /// Run the network benchmarks with their peer on the machine of this address, where groma serve
    /// listens: 10.0.0.2 or 10.0.0.2:24766 (names are not looked up)
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = parse_address)]
    pub(crate) host: Option<SocketAddr>,

    /// The token of that groma serve; both sides prove that they know it, and it is never sent
    #[arg(long, value_name = "TOKEN", env = "GROMA_TOKEN", hide_env_values = true, default_value = "", value_parser = parse_token)]
    pub(crate) token: String,

    /// Set a parameter, with all values to measure: size=64K or size=1,64,4K. It reaches every
    /// selected benchmark that has it; in front of a colon stand those that are meant, as an id, a
    /// group or a pattern: 'mem.*:size=1M'
    #[arg(long = "param", value_name = "[SELECT:]NAME=VALUE,...", value_parser = parse_setting)]
    pub(crate) params: Vec<Setting>,

    /// Measure the full set of each parameter instead of the default one
    #[arg(long)]
    pub(crate) full: bool,

    /// Rounds (fresh processes) for each metric, at most [default: by profile]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: Option<u32>,

    /// How long a round samples: 200ms [default: 4ms in a survey, else by profile, 4ms, 40ms or
    /// 60ms, and less where the budget is short]. What takes few samples ends earlier
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) round_length: Option<Duration>,

    /// The longest that one round may take before it is killed [default: 10s, and 5 times
    /// --round-length]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) deadline: Option<Duration>,

    /// Seed of every random choice [default: random, recorded with the run]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Refuse to measure (exit code 3) when the machine is noisier than this
    #[arg(long, value_enum, value_name = "NOISE")]
    pub(crate) require: Option<NoiseArg>,

    /// A directory for benchmarks that need files; what they make there is removed [default: the
    /// temporary directory, or /var/tmp where that is on a disk and the first is not]
    #[arg(long, value_name = "DIR")]
    pub(crate) work_dir: Option<PathBuf>,

    /// Also write the records as NDJSON ('-' for standard output)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    /// Print one JSON object instead of tables
    #[arg(long)]
    pub(crate) json: bool,

    /// Keep the raw samples of each round in --out and --json. Only then can merge and show read
    /// the run from --out
    #[arg(long)]
    pub(crate) samples: bool,

    #[command(flatten)]
    pub(crate) tags: TagsArgs,

    /// Measure everything if nothing is selected (as --profile complete); of a selection, show
    /// every point of a curve
    #[arg(long)]
    pub(crate) all: bool,

    /// Do not keep the run in the store, wherever it is
    #[arg(long)]
    pub(crate) no_store: bool,

    #[command(flatten)]
    pub(crate) store: StoreArgs,

    /// Print what would be measured and on which CPUs, and stop
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// With --dry-run: what would be measured on the machine of this file, which groma machine
    /// --record writes
    #[arg(long, value_name = "FILE")]
    pub(crate) machine: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ProfileArg {
    /// The most common questions, in about 10 s; too coarse for decisions
    Quick,
    /// What stands on the two pages, in about 60 s
    Standard,
    /// Everything, in as long as it takes; says how long
    Complete,
    /// Until each metric is precise enough, at most 10 minutes
    Rigorous,
}

impl From<ProfileArg> for Profile {
    fn from(arg: ProfileArg) -> Profile {
        match arg {
            ProfileArg::Quick => Profile::Quick,
            ProfileArg::Standard => Profile::Standard,
            ProfileArg::Complete => Profile::Complete,
            ProfileArg::Rigorous => Profile::Rigorous,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum NoiseArg {
    /// Less than 0.5 % of the time lost to others
    Quiet,
    /// Less than 3 %
    Fine,
    /// Up to 20 %
    Noisy,
}

impl From<NoiseArg> for NoiseVerdict {
    fn from(arg: NoiseArg) -> NoiseVerdict {
        match arg {
            NoiseArg::Quiet => NoiseVerdict::Quiet,
            NoiseArg::Fine => NoiseVerdict::Fine,
            NoiseArg::Noisy => NoiseVerdict::Noisy,
        }
    }
}
