//! `groma run`: measures what its arguments select, or a survey.

use crate::args::{StoreArgs, TagsArgs};
use crate::directory;
use crate::measure::{Outputs, carry_out};
use crate::parse::{parse_address, parse_setting, parse_time, parse_token, parse_workers};
use crate::print::{print, style};
use crate::program::Program;
use crate::wanted::Wanted;
use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use groma_analysis::fleet;
use groma_harness::model::{Fact, Machine, NoiseVerdict, Placement, Profile, Remote};
use groma_harness::sys::facts;
use groma_harness::sys::recording::Recording;
use groma_harness::sys::topology::Topology;
use groma_report::{self as report, Format};
use groma_runner::plan::left_out;
use groma_runner::{Planned, RunRequest, Setting, complete_budget, fleet_budget, fleet_points, of_pages, plan};
use std::borrow::Cow;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const HELP: &str = "Examples:
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

/// Measure this machine
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct RunArgs {
    /// Ids, groups or patterns: syscall.getppid, ipc, 'mem.*' [default: what stands on the two
    /// pages that the run ends with; everything with --all]
    #[arg(value_name = "SELECT")]
    pub(super) select: Vec<String>,

    /// How much time to spend
    #[arg(long, value_enum, default_value = "standard")]
    profile: ProfileArg,

    /// Time budget: 30s or 30, 2m, 1h [default: that of the profile: 10s, 60s, what everything
    /// needs, 10m, or 20s to 60s]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    budget: Option<Duration>,

    /// Sizes of worker groups (copies that run at the same time, which is proven): 1,2,4
    #[arg(short = 'P', long, value_name = "N,...", value_delimiter = ',', value_parser = parse_workers)]
    parallel: Vec<u32>,

    /// Make worker groups of threads instead of processes
    #[arg(long)]
    threads: bool,

    /// Where to run: same-cpu, smt, same-llc, cross-llc, cross-node, free or two CPUs such as 0,2
    /// for benchmarks with a peer; free, compact, spread or a list of CPUs for worker groups and
    /// single tasks; core=efficiency, node=1 or core=efficiency,node=1 for a class of core, a NUMA
    /// node, or both
    #[arg(long, value_name = "WHERE")]
    placement: Option<Placement>,

    /// Run the network benchmarks with their peer on the machine of this address, where groma serve
    /// listens: 10.0.0.2 or 10.0.0.2:24766 (names are not looked up)
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = parse_address)]
    host: Option<SocketAddr>,

    /// The token of that groma serve; both sides prove that they know it, and it is never sent
    #[arg(long, value_name = "TOKEN", env = "GROMA_TOKEN", hide_env_values = true, default_value = "", value_parser = parse_token)]
    token: String,

    /// Set a parameter, with all values to measure: size=64K or size=1,64,4K. It reaches every
    /// selected benchmark that has it; in front of a colon stand those that are meant, as an id, a
    /// group or a pattern: 'mem.*:size=1M'
    #[arg(long = "param", value_name = "[SELECT:]NAME=VALUE,...", value_parser = parse_setting)]
    pub(super) params: Vec<Setting>,

    /// Measure the full set of each parameter instead of the default one
    #[arg(long)]
    full: bool,

    /// Rounds (fresh processes) for each metric, at most [default: by profile]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,

    /// How long a round samples: 200ms [default: 4ms in a survey, else by profile, 4ms, 40ms or
    /// 60ms, and less where the budget is short]. What takes few samples ends earlier
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    round_length: Option<Duration>,

    /// The longest that one round may take before it is killed [default: 10s, and 5 times
    /// --round-length]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    deadline: Option<Duration>,

    /// Seed of every random choice [default: random, recorded with the run]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Refuse to measure (exit code 3) when the machine is noisier than this, or a CPU quota of its
    /// own holds the run back for as long
    #[arg(long, value_enum, value_name = "NOISE")]
    require: Option<NoiseArg>,

    /// Fail (exit code 4) for whatever is denied, not only for what is named by its id
    #[arg(long)]
    strict: bool,

    /// A directory for benchmarks that need files; what they make there is removed [default: the
    /// temporary directory, or /var/tmp where that is on a disk and the first is not; where neither
    /// can be written, a directory of this user or /dev/shm]
    #[arg(long, value_name = "DIR")]
    work_dir: Option<PathBuf>,

    /// Also write the records as NDJSON ('-' for standard output). In a directory, DIR/, which is
    /// made if it is missing, the file is named by the host and a fingerprint of what it should
    /// share with its equals
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,

    /// Keep the raw samples of each round in --out and --json. Only then can merge and show read
    /// the run from --out
    #[arg(long)]
    samples: bool,

    #[command(flatten)]
    tags: TagsArgs,

    /// Measure everything if nothing is selected (as --profile complete); of a selection, show
    /// every point of a curve
    #[arg(long)]
    all: bool,

    /// Do not keep the run in the store, wherever it is
    #[arg(long)]
    no_store: bool,

    #[command(flatten)]
    store: StoreArgs,

    /// Print what would be measured and on which CPUs, and stop
    #[arg(long)]
    dry_run: bool,

    /// With --dry-run: what would be measured on the machine of this file, which groma machine
    /// --record writes
    #[arg(long, value_name = "FILE")]
    machine: Option<PathBuf>,
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
    /// What tells a slow host from its equals, in 20 s (60 s with many CPUs), for groma fleet
    /// judge; kept in no store but that of --store
    Fleet,
}

impl From<ProfileArg> for Profile {
    fn from(arg: ProfileArg) -> Profile {
        match arg {
            ProfileArg::Quick => Profile::Quick,
            ProfileArg::Standard => Profile::Standard,
            ProfileArg::Complete => Profile::Complete,
            ProfileArg::Rigorous => Profile::Rigorous,
            ProfileArg::Fleet => Profile::Fleet,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum NoiseArg {
    /// Less than 0.5 % of the time lost
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

/// Plans, measures and prints.
pub(super) fn run(program: &Program, args: &RunArgs) -> Result<u8> {
    let started = Instant::now();
    let of_fleet = Profile::from(args.profile) == Profile::Fleet;
    if of_fleet && !is_plain(args) {
        bail!("--profile fleet chooses itself what is measured, so that hosts can be compared: name nothing else");
    }
    let out = args.out.as_deref().map(in_directory).transpose()?;
    let outputs = Outputs {
        json: args.json,
        out: out.as_deref(),
        numbered: matches!(out, Some(Cow::Owned(_))),
        samples: args.samples,
        all: args.all,
        // Thousands of hosts may share a home directory, and no SQLite file takes them all at once.
        no_store: args.no_store || (of_fleet && args.store.store.is_none()),
        store: &args.store,
        silent: false,
        wanted: Wanted { select: args.select.clone(), strict: args.strict },
    };
    outputs.check()?;
    let mut request = request(args);
    // A quick survey measures part of the standard plan, so that both have the same points.
    let profile = if request.survey { Profile::Standard } else { request.profile };
    let wanted = RunRequest { profile, ..request.clone() };
    let benches = program.select(&args.select, wanted.tier())?;
    let topology = match &args.machine {
        None => Topology::for_plan(),
        Some(file) if args.dry_run => Topology::recorded(&recording(file)?),
        Some(file) => {
            bail!("--machine {}: another machine can be planned for, not measured: add --dry-run", file.display())
        }
    };
    let pages = program.known_families().pages;
    let mut plan = if of_fleet {
        fleet_points(&benches, pages.fleet, &wanted, &topology)?
    } else {
        plan(&benches, &wanted, &topology)?
    };
    if of_fleet {
        let measured = plan.iter().filter(|planned| planned.unsupported.is_none()).count();
        request.budget = request.budget.or(Some(fleet_budget(measured)));
    } else if request.survey {
        plan = of_pages(plan, pages, request.profile == Profile::Quick);
    }
    if request.profile == Profile::Complete && request.budget.is_none() {
        let measured = plan.iter().filter(|planned| planned.unsupported.is_none()).count();
        let budget = complete_budget(measured);
        if !args.dry_run {
            warn!("measuring {measured} points in about {}", report::units::wall(budget.as_secs_f64()));
        }
        request.budget = Some(budget);
    }
    if args.dry_run {
        return dry_run(&plan);
    }
    if let Some(choice) = left_out(&plan, &topology) {
        warn!("{choice}");
    }
    // A complete run ends with its pages, not with a thousand lines. `show --all` prints those
    // later, if the run is stored.
    let every_point = args.all && (request.profile != Profile::Complete || args.no_store);
    carry_out(program, &request, &outputs, &plan, started, |head, records, end, _| {
        let style = style(every_point);
        report::run(program.known_families(), head, records, Some(end), &style).render(Format::Table, &style)
    })
}

/// Whether the arguments select nothing, so that this is a survey.
fn is_survey(args: &RunArgs) -> bool {
    is_plain(args) && matches!(Profile::from(args.profile), Profile::Quick | Profile::Standard | Profile::Fleet)
}

/// Whether the arguments choose neither what is measured nor where.
fn is_plain(args: &RunArgs) -> bool {
    let plain = args.select.is_empty() && args.params.is_empty() && args.parallel.is_empty() && !args.threads;
    let here = args.placement.is_none() && args.host.is_none();
    plain && here && !args.all && !args.full
}

/// The path of `--out`; in a directory, that of the file which is named by this host. What ends in
/// a slash is a directory, and is made: else the first of many hosts would make a file of the name.
fn in_directory(out: &Path) -> Result<Cow<'_, Path>> {
    if directory::is_named(out) {
        std::fs::create_dir_all(out).with_context(|| format!("--out {}", out.display()))?;
    }
    if !out.is_dir() {
        return Ok(Cow::Borrowed(out));
    }
    let facts = facts::facts().into_iter().map(|(key, value)| Fact { key, value }).collect();
    let machine = Machine { facts };
    Ok(Cow::Owned(out.join(format!("{}.ndjson", fleet::file_stem(&machine)))))
}

/// The request of these arguments.
pub(crate) fn request(args: &RunArgs) -> RunRequest {
    let everything = args.select.is_empty() && args.all && Profile::from(args.profile) == Profile::Standard;
    RunRequest {
        profile: if everything { Profile::Complete } else { args.profile.into() },
        survey: is_survey(args),
        full: args.full,
        params: args.params.clone(),
        placement: args.placement.clone(),
        parallel: args.parallel.clone(),
        threads: args.threads,
        remote: args.host.map(|address| Remote { address, token: args.token.clone() }),
        budget: args.budget,
        rounds: args.rounds,
        round_length: args.round_length,
        deadline: args.deadline,
        seed: args.seed,
        require: args.require.map(Into::into),
        work_dir: args.work_dir.clone(),
        tags: args.tags.tags.iter().cloned().collect(),
        ..RunRequest::new(args.profile.into())
    }
}

/// Reads a recording of `groma machine --record`.
fn recording(file: &Path) -> Result<Recording> {
    let of_file = || format!("--machine {}", file.display());
    let text = std::fs::read_to_string(file).with_context(of_file)?;
    text.parse().map_err(anyhow::Error::msg).with_context(of_file)
}

/// Prints the plan.
fn dry_run(plan: &[Planned]) -> Result<u8> {
    let mut text = String::new();
    for planned in plan {
        let metrics: Vec<&str> = planned.point.metrics.iter().map(|m| m.id.as_str()).collect();
        text.push_str(&planned.point.name());
        if metrics.len() > 1 {
            text.push_str(&format!("  ({})", metrics.join(", ")));
        }
        match &planned.unsupported {
            Some(why) => text.push_str(&format!("  unsupported: {why}")),
            None => text.push_str(&format!("  on {}", planned.cpus)),
        }
        text.push('\n');
    }
    text.push_str(&format!("{} points\n", plan.len()));
    print(&text)?;
    Ok(0)
}
