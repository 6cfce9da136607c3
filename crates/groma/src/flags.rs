//! The command line. Values are checked for their form here; nothing is looked up yet.

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum};
use groma_model::{NoiseVerdict, Placement, Profile, Tag};
use groma_runner::Setting;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

// The path is for the fuzz targets, which include this file.
#[path = "flags/parse.rs"]
mod parse;
pub(crate) use parse::parse_time;
use parse::{
    parse_address, parse_compare_format, parse_format, parse_param, parse_session_time, parse_setting, parse_since,
    parse_token, parse_until,
};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default())
    .placeholder(AnsiColor::Cyan.on_default());

/// Measures how long a computer's hardware and operating system take to do the things programs are
/// made of
#[derive(Debug, Parser)]
#[command(name = "groma", version, styles = STYLES, max_term_width = 110, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

macro_rules! exit_codes {
    () => {
        "Exit codes: 0 all selected metrics ok, noisy, unresolved or unsupported; 1 a comparison found a regression;
2 usage error; 3 the machine is noisier than --require allows; 4 some metric failed, timed out or was denied;
130 or 143 ended by Ctrl-C or SIGTERM (what was measured is kept)."
    };
}

/// What the exit codes mean.
pub(crate) const EXIT_CODES: &str = exit_codes!();

const EXAMPLES: &str = concat!(
    "Examples:
  groma run                            survey this machine in about a minute
  groma run --profile quick            what a person asks first, in about ten seconds
  groma run --all                      everything; says how long it takes
  groma run ipc 'mem.*' syscall.read   a group, a pattern, one benchmark
  groma run syscall.getppid -P 1,2,4   as one, two and four processes at once
  groma list                           what there is to measure
  groma explain ipc.pipe_rtt           what it measures, how, and what can go wrong
  groma show                           the latest results again
  groma show ipc.pipe_rtt              one metric: rounds, samples, proofs, earlier runs
  groma show --hardware                the hardware on one page, declared beside measured
  groma runs                           all runs in the store, and how to name one
  groma ab -- -- bwrap --ro-bind / /   what a sandbox costs, measured in turns
  groma compare                        the latest run beside the one before it
  groma trend ipc.pipe_rtt             one metric over all runs, and where it changed
  groma watch --for 1m                 how much of each core others take
  groma dd if=data direct=1 hist=1     read a file past the page cache, block by block
  groma hammer 32768 100               random stores, alone and on all CPUs together
  groma plot mem.latency -o caches.svg a curve
  groma plot syscall.getppid --over P  the same over the sizes of the worker groups

",
    exit_codes!()
);

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure this machine
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArgs),
    /// Run the peers of network benchmarks, for another machine that names this one with --host
    Serve(ServeArgs),
    /// List the benchmarks
    #[command(after_help = LIST_EXAMPLES)]
    List(ListArgs),
    /// Explain a benchmark: what it measures, how, and what can go wrong; or a word of the results,
    /// such as noisy, drift or P
    Explain {
        /// Ids, groups or patterns, or states, flags and labels
        #[arg(required = true, value_name = "SELECT")]
        select: Vec<String>,
    },
    /// Show what this machine declares about itself, and how busy it is
    Machine {
        /// As JSON
        #[arg(long)]
        json: bool,
        /// Skip measuring the noise, which takes a second
        #[arg(long)]
        no_gauge: bool,
        /// Every fact, not only those that numbers depend on most
        #[arg(long)]
        all: bool,
        /// Write what the kernel says of the CPUs into this file instead, for groma run --dry-run
        /// --machine on any computer
        #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "no_gauge", "all"])]
        record: Option<PathBuf>,
    },
    /// Watch how much of each CPU others take: busy sibling threads, stolen time, the clock
    #[command(after_help = WATCH_EXAMPLES)]
    Watch(WatchArgs),
    /// Show the results of a run
    #[command(after_help = SHOW_EXAMPLES)]
    Show(ShowArgs),
    /// List the runs in the store
    #[command(after_help = RUNS_EXAMPLES)]
    Runs(RunsArgs),
    /// Give a run of the store tags, or take them from it
    #[command(after_help = TAG_EXAMPLES)]
    Tag(TagArgs),
    /// Remove runs from the store, and give their space back
    #[command(after_help = FORGET_EXAMPLES)]
    Forget(ForgetArgs),
    /// Take the runs of other stores and of streams with samples into the store
    #[command(after_help = MERGE_WORDS)]
    Merge(MergeArgs),
    /// Measure two conditions in turns and compare them: what a sandbox costs, or another groma
    #[command(after_help = AB_WORDS)]
    Ab(AbArgs),
    /// Compare runs: what became slower or faster, and what differs between their machines
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(CompareArgs),
    /// Show a metric over the runs of a machine, where it changed, and what else changed then
    #[command(after_help = TREND_EXAMPLES)]
    Trend(TrendArgs),
    /// Plot a metric of a run: a curve over its sizes, a matrix of its CPUs, or the distribution of
    /// its samples
    #[command(after_help = PLOT_EXAMPLES)]
    Plot(PlotArgs),
    /// Move blocks between files and devices, check what they hold, and time every transfer
    #[command(after_help = DD_WORDS)]
    Dd(DdArgs),
    /// Store to random places in memory, with one writer and then with all CPUs at once (Closson's
    /// memhammer)
    #[command(after_help = HAMMER_WORDS)]
    Hammer(HammerArgs),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print a manual page (troff): of groma, or of one verb such as run
    Manual {
        /// The verb
        verb: Option<String>,
    },
}

#[derive(Clone, Debug, Args)]
pub(crate) struct StoreArgs {
    /// The store: an SQLite file [default: groma/groma.db in the XDG data directory]
    #[arg(long, value_name = "FILE", env = "GROMA_STORE", hide_env_values = true)]
    pub(crate) store: Option<PathBuf>,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct TagsArgs {
    /// What to call the run, to find it again: groma show before
    #[arg(long = "tag", visible_alias = "label", value_name = "TAG,...", value_delimiter = ',')]
    pub(crate) tags: Vec<Tag>,
}

const RUN_EXAMPLES: &str = "Examples:
  groma run                                        what stands on the two pages, in about a minute
  groma run --all                                  everything; says how long it takes
  groma run ipc 'mem.*' syscall.read               a group, a pattern, one benchmark
  groma run mem --param size=1M                    all of them that have a size
  groma run ipc --param 'ipc.pipe_*:size=1,64K'    some of them
  groma run ipc.pipe_rtt --placement 0,3           between two CPUs
  groma run timer.sleep --param length=250us --round-length 2s --rounds 9
  groma run syscall -P 1,2,4                       as one, two and four processes at once
  groma run ctx ipc --tag before                   and call it so
  groma run disk --work-dir /mnt/data --dry-run    what would be measured
  groma run --dry-run --machine other.txt          what would be measured on another machine";

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Ids, groups or patterns: syscall.getppid, ipc, 'mem.*' [default: what stands on the two pages
    /// that the run ends with; everything with --all]
    #[arg(value_name = "SELECT")]
    pub(crate) select: Vec<String>,

    /// How much time to spend
    #[arg(long, value_enum, default_value = "standard")]
    pub(crate) profile: ProfileArg,

    /// Time budget: 30s, 2m, 1h [default: that of the profile: 10s, 60s, what everything needs, or 10m]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) budget: Option<Duration>,

    /// Sizes of worker groups (copies that run at the same time, which is proven): 1,2,4
    #[arg(short = 'P', long, value_name = "N,...", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=i64::from(groma_harness::worker_group::MOST_MEMBERS)))]
    pub(crate) parallel: Vec<u32>,

    /// Make worker groups of threads instead of processes
    #[arg(long)]
    pub(crate) threads: bool,

    /// Where to run: same-cpu, smt, same-llc, cross-llc, cross-node, free or two CPUs such as 0,2 for
    /// benchmarks with a peer; free, compact, spread or a list of CPUs for worker groups and single
    /// tasks; core=efficiency, node=1 or core=efficiency,node=1 for a class of core, a NUMA node, or
    /// both
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

    /// How long a round samples: 200ms [default: 4ms in a survey, else by profile, 4ms, 40ms or 60ms,
    /// and less where the budget is short]. What takes few samples ends earlier
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

    /// Keep the raw samples of each round in --out and --json. Only then can merge and show read the
    /// run from --out
    #[arg(long)]
    pub(crate) samples: bool,

    #[command(flatten)]
    pub(crate) tags: TagsArgs,

    /// Measure everything if nothing is selected (as --profile complete), and show every point of
    /// a curve
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

const WATCH_EXAMPLES: &str = "A core with two hardware threads gives each about half of what it can do
when both are busy. On a rented machine the other thread may run somebody
else's work, and no counter of the kernel shows it. A probe of 3 us, 100 times
a second on each CPU, does; it takes half a percent of each.

Examples:
  groma watch                                        until Ctrl-C
  groma watch --for 10m --out shared.ndjson          and keep every second
  groma watch --for 10s --openmetrics > groma.prom   for a collector";

#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// How long to watch: 30s, 10m, 1h [default: until Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = parse_time)]
    pub(crate) time: Option<Duration>,

    /// Also write every second as NDJSON
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    /// Print nothing but the summary, as OpenMetrics text
    #[arg(long, requires = "time")]
    pub(crate) openmetrics: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DdArgs {
    /// Operands: if=disk.img bs=64K count=100 direct=1
    #[arg(required = true, value_name = "NAME=VALUE")]
    pub(crate) operands: Vec<OsString>,
    /// Allow of= to be a device that keeps what is written; its contents are lost
    #[arg(long)]
    pub(crate) destroy: bool,
}

const DD_WORDS: &str = "Operands:
  if=FILE of=FILE   input and output; '-' is a standard stream, 'internal' (the default) transfers nothing
  bs=SIZE           bytes of a block [64K]
  count=N move=SIZE time=TIME   how many blocks, how many bytes, how long, at most
  skip=N start=SIZE skip N blocks of input and output; add SIZE bytes to every offset
  rand=SIZE norepeat=1 seed=N   random blocks within SIZE bytes; none twice
  opat=1 ipat=1 mismatch=N      write a pattern (each 8-byte word is its offset); check it; end after N mismatches
  direct=1 idirect=1 odirect=1 osync=1 fsync=1   past the page cache; each write synced; all synced before the clock stops
  append=1 notrunc=1 nocreate=1   how of= is opened
  hist=1 json=1     latencies as a histogram; statistics as JSON (both on standard error)

Examples:
  groma dd of=data bs=1M count=256 opat=1 fsync=1   write a pattern
  groma dd if=data bs=1M ipat=1 direct=1            check it, from the disk
  groma dd if=data bs=4K rand=256M count=10000 direct=1 hist=1

Exit code 4: a transfer failed, or a block did not hold the pattern.";

const HAMMER_WORDS: &str = "Each writer has PAGES pages of memory of its own and does PAGES x LOOPS operations, as in the SLB: first one writer
alone, then all at once. The work is split into equal parts for fresh processes, as many as divide LOOPS, nine at
most: Ctrl-C keeps the parts that are complete. What an operation is, and why its time is a throughput and not a
latency: groma explain mem.hammer.

Examples:
  groma hammer 262144 6000                    1 GiB and 1572864000 stores on each CPU, as the SLB was run
  groma hammer 32768 100 --cpus 0,4           CPU 0 alone, then CPUs 0 and 4
  groma hammer 32768 100 --cpus 0 --mem-nodes 1   with memory of another node
  groma hammer 32768 100 --variant own        ownership latency instead";

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

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The address and port to listen on; services are at further ports of this address while they
    /// are used
    #[arg(long, value_name = "ADDRESS[:PORT]", default_value = "127.0.0.1", value_parser = parse_address)]
    pub(crate) bind: SocketAddr,
    /// The token that clients must know, of 16 or more characters beyond the loopback [default:
    /// none on the loopback, elsewhere a random one, which is printed]
    #[arg(long, value_name = "TOKEN", env = "GROMA_TOKEN", hide_env_values = true, value_parser = parse_token)]
    pub(crate) token: Option<String>,
    /// The longest that a session may take, which is one round of a client, such as 30s, 5m or 1h
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = parse_session_time)]
    pub(crate) deadline: Duration,
}

const LIST_EXAMPLES: &str = "Examples:
  groma list mem                           the benchmarks of a group
  groma list --long 'ipc.*'                with their parameters
  groma list --lineage lmbench3:lat_pipe   the command that repeats lmbench's
  groma list --lineage table10             table 10 of the paper of 1996, and of the one of 1990
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

const SHOW_EXAMPLES: &str = "Examples:
  groma show                                 the latest run: its two pages, or a table if it holds less
  groma show --format markdown               the same, to be pasted into a forum
  groma show --all                           every value with its interval
  groma show --states                        which values are not good, and why
  groma show --hardware                      the hardware page alone
  groma show ipc.pipe_rtt                    one metric: interval, rounds, samples, proofs, earlier runs
  groma show --select mem --all              every point of the benchmarks of memory
  groma show before                          the newest run with this tag; before~1 is the one before
  groma show host:db1                        the newest run of a machine
  groma show run.ndjson                      what groma run --out run.ndjson --samples wrote";

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// A run: its id or the beginning of it, one of its tags, latest, latest~1 (the one before),
    /// host:NAME, or the file of a stream (run.ndjson); or the id of a metric, which is shown on a card
    #[arg(default_value = "latest", value_name = "RUN|METRIC")]
    pub(crate) run: String,
    /// Only these ids, groups or patterns
    #[arg(long, value_name = "SELECT", value_delimiter = ',')]
    pub(crate) select: Vec<String>,
    /// The format
    #[arg(long, default_value = "table", value_parser = parse_format)]
    pub(crate) format: groma_report::Format,
    /// Only the hardware on one page: declared beside measured, bandwidths, latencies (table and
    /// markdown)
    #[arg(long, conflicts_with = "samples")]
    pub(crate) hardware: bool,
    /// Only which values are not good, grouped by the reason
    #[arg(long, conflicts_with_all = ["samples", "hardware", "all", "times"])]
    pub(crate) states: bool,
    /// Only where the time went: what the rounds of each benchmark took (table and json)
    #[arg(long, conflicts_with_all = ["samples", "hardware", "all"])]
    pub(crate) times: bool,
    /// With the raw samples (json and csv)
    #[arg(long)]
    pub(crate) samples: bool,
    /// Every value with its interval, instead of the pages; every point of a curve
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

const RUNS_EXAMPLES: &str = "Examples:
  groma runs --since 3d                 those of the last three days
  groma runs --host db1 --kernel 6.18   of one machine, with these kernels
  groma runs --bench ipc.pipe_rtt       those that measured it

What a run is called wherever one is asked for:
  20261122T2131   the beginning of its id, as far as needed
  before          the newest run with this tag
  latest          the newest run
  host:db1        the newest run of this machine
  latest~1        the run before that; likewise before~1, host:db1~2

Days are those of UTC, as the times of the list.";

#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    /// Only runs of this machine
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Option<String>,
    /// Only runs with this tag
    #[arg(long)]
    pub(crate) tag: Option<Tag>,
    /// Only runs with a kernel whose release begins so: 6.18
    #[arg(long, value_name = "RELEASE")]
    pub(crate) kernel: Option<String>,
    /// Only runs that began then or later: 2026-11-22, 2026-11-22T10:00, or 3d (three days ago)
    #[arg(long, value_name = "DATE", value_parser = parse_since)]
    pub(crate) since: Option<String>,
    /// Only runs that began then or earlier
    #[arg(long, value_name = "DATE", value_parser = parse_until)]
    pub(crate) until: Option<String>,
    /// Only runs that measured one of these: ids, groups or patterns
    #[arg(long, value_name = "SELECT", value_delimiter = ',')]
    pub(crate) bench: Vec<String>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

const TAG_EXAMPLES: &str = "Examples:
  groma tag latest before              call the newest run 'before'
  groma tag 20261122T2131 base v6.18   two tags for one run
  groma tag --delete before before     the newest run that is called so is so no more

Several runs can have the same tag. A tag is a letter, then letters, digits, '-', '_' and '.', 40 at most.";

#[derive(Debug, Args)]
pub(crate) struct TagArgs {
    /// The run: its id or the beginning of it, a tag, latest, latest~1, host:NAME
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// The tags
    #[arg(required = true, value_name = "TAG")]
    pub(crate) tags: Vec<Tag>,
    /// Take these tags from the run instead
    #[arg(short, long)]
    pub(crate) delete: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

const FORGET_EXAMPLES: &str = "Examples:
  groma forget latest                  what would be removed
  groma forget latest --yes            remove it
  groma forget --tag trial --yes       all runs with this tag
  groma forget --host db1 --until 90d  those of one machine that are older than 90 days

A run that is still being written stays.";

#[derive(Debug, Args)]
pub(crate) struct ForgetArgs {
    /// The runs: ids or beginnings of them, tags (the newest run of each), latest, latest~1, host:NAME
    #[arg(value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// All runs of this machine
    #[arg(long, value_name = "NAME", conflicts_with = "runs")]
    pub(crate) host: Option<String>,
    /// All runs with this tag
    #[arg(long, conflicts_with = "runs")]
    pub(crate) tag: Option<Tag>,
    /// All runs that began then or earlier: 2026-11-22, 2026-11-22T10:00, or 90d (90 days ago); with
    /// the other two only those
    #[arg(long, value_name = "DATE", value_parser = parse_until, conflicts_with = "runs")]
    pub(crate) until: Option<String>,
    /// Remove them; without it they are only listed
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

const MERGE_WORDS: &str =
    "Files are stores (SQLite) or what groma run --out FILE --samples has written; they stay as they are. A run that
is there already is not taken twice, so merging again is safe. At the first error merge ends; the runs before it
are kept, the one that it is in is not.

Examples:
  groma merge db1.db db2.db                       collect the runs of two machines
  groma merge run.ndjson --store all.db           into another store than the usual one";

#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Stores, and streams with samples
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// How a comparison is written, and what its exit code says.
#[derive(Debug, Args)]
pub(crate) struct OutcomeArgs {
    /// The format: table, json, csv, markdown or junit
    #[arg(long, default_value = "table", value_parser = parse_compare_format)]
    pub(crate) format: groma_report::CompareFormat,
    /// Exit with code 1 if something became slower (by more than so many percent), with 3 if more than
    /// half of the metrics cannot be told
    #[arg(long, value_name = "PERCENT", num_args = 0..=1, default_missing_value = "0", require_equals = true)]
    pub(crate) gate: Option<f64>,
}

const COMPARE_EXAMPLES: &str = "Examples:
  groma compare                                the latest run beside the one before it
  groma compare before                         the latest run beside the newest with this tag
  groma compare A B C                          three machines
  groma compare --a before --b after           all runs of two tags: several a side find smaller differences
  groma compare A B --relative cycles          two clock rates
  groma compare A B --select ipc,net --all     every metric of these, with intervals
  groma compare A B --format markdown          for a comment on a pull request
  groma compare base latest --gate=5           exit code 1 if something is slower by more than 5 %

A metric is called slower or faster only where the rounds of the two runs differ beyond chance, for the
whole comparison at once, and by more than other runs of the first side's machine do in the same state:
the more of them the store holds, the smaller the differences that are found.";

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The runs: ids, beginnings of ids, tags, latest, latest~1, host:NAME, or files of streams; the
    /// others are held against the first [default: the latest two]
    #[arg(value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// The runs of the first side, taken as one; a tag stands for all of its runs
    #[arg(long, value_name = "RUN", value_delimiter = ',', requires = "b", conflicts_with = "runs")]
    pub(crate) a: Vec<String>,
    /// The runs of the second side
    #[arg(long, value_name = "RUN", value_delimiter = ',', requires = "a")]
    pub(crate) b: Vec<String>,
    /// Only these ids, groups or patterns
    #[arg(long, value_name = "SELECT", value_delimiter = ',')]
    pub(crate) select: Vec<String>,
    /// Compare multiples of something instead of times: 'cycles', or a metric such as syscall.getppid
    #[arg(long, value_name = "WHAT")]
    pub(crate) relative: Option<String>,
    /// Every metric with its interval and verdict, controls too, and what is not compared
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) outcome: OutcomeArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

const AB_WORDS: &str = "Examples:
  groma ab -- -- bwrap --bind / / --dev /dev --proc /proc   nothing beside a sandbox, in a minute
  groma ab syscall ipc --budget 2m -- -- unshare -Urn       some groups beside a user and network namespace
  groma ab mem.latency -- taskset -c 0 -- taskset -c 1      two CPUs
  groma ab --program-b target/release/groma -- --           this groma beside another one
  groma ab --same -- --                                     the same twice: what is found is noise
  groma ab syscall --gate --program-b new/groma -- --       exit code 1 if something became slower

Each worker is started behind the command of its side, which gets the path of groma and an argument and has to
pass standard input, output and error on; starting it is not measured. Rounds come in pairs, one of each side in
random order, with the same seed. Both sides are kept as runs, and groma compare A B shows them again.";

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
    /// The time for all rounds of both sides
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_time)]
    pub(crate) budget: Duration,
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
    #[command(flatten)]
    pub(crate) outcome: OutcomeArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

const TREND_EXAMPLES: &str = "Examples:
  groma trend ipc.pipe_rtt                     its values over the last 200 runs, and where they changed
  groma trend --changes                        everything that changed, in the order of time
  groma trend syscall --since 2026-10-01 --changes     the system calls, since then
  groma trend mem.latency --format csv         for a spreadsheet

A change is a step that lasts for three runs or more and is clearer than in 198 of 199 random orders of the
runs; it takes twelve runs to see one.";

#[derive(Debug, Args)]
pub(crate) struct TrendArgs {
    /// The metrics: ids, groups or patterns
    #[arg(value_name = "METRIC")]
    pub(crate) select: Vec<String>,
    /// Only what changed, of all metrics unless some are named, in the order of time
    #[arg(long)]
    pub(crate) changes: bool,
    /// The machine [default: that of the newest run]
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Option<String>,
    /// Only runs with this tag
    #[arg(long)]
    pub(crate) tag: Option<Tag>,
    /// Only runs that began then or later: 2026-11-22, 2026-11-22T10:00, or 3d (three days ago)
    #[arg(long, value_name = "DATE", value_parser = parse_since)]
    pub(crate) since: Option<String>,
    /// Only runs that began then or earlier
    #[arg(long, value_name = "DATE", value_parser = parse_until)]
    pub(crate) until: Option<String>,
    /// The newest runs of these at most
    #[arg(long, value_name = "RUNS", default_value_t = 200)]
    pub(crate) last: usize,
    /// The format: table, json or csv
    #[arg(long, default_value = "table", value_parser = parse_format)]
    pub(crate) format: groma_report::Format,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

const PLOT_EXAMPLES: &str = "Examples:
  groma plot mem.latency -o caches.svg             latency by size, the levels marked
  groma plot mem.latency --run 20261121 --run latest   two runs: before and after, or two machines
  groma plot mem.bandwidth                         read, write and copy by size
  groma plot mem.bandwidth --param op=read,write_nt    these operations instead
  groma plot mem.loaded_latency                    latency over the bandwidth that was there with it
  groma plot ipc.pipe_rtt --placement same-cpu     the distribution of one point
  groma plot cpu.core_to_core --param protocol=flag2 -o cores.png   a matrix of CPUs
  groma plot mem.numa                              a matrix of nodes";

#[derive(Debug, Args)]
pub(crate) struct PlotArgs {
    /// The metric: mem.latency
    pub(crate) metric: String,
    /// The run, named as for show; of several, each is drawn
    #[arg(long, value_name = "RUN", default_value = "latest")]
    pub(crate) run: Vec<String>,
    /// Write an SVG or PNG file, by its ending, instead of drawing in the terminal
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// What the curve runs over: a size or count among the parameters, or P, the members of the
    /// worker group [default: what takes the most values]
    #[arg(long, value_name = "NAME", conflicts_with = "histogram")]
    pub(crate) over: Option<String>,
    /// Only the points with this value of a parameter, or one of these: protocol=flag2 or
    /// op=read,write
    #[arg(long = "param", value_name = "NAME=VALUE,...", value_parser = parse_param)]
    pub(crate) params: Vec<(String, Vec<String>)>,
    /// Only the points in this placement: same-cpu, compact, 0,2
    #[arg(long, value_name = "WHERE")]
    pub(crate) placement: Option<Placement>,
    /// Only worker groups of these sizes: 1,2,4
    #[arg(short = 'P', long, value_name = "N,...", value_delimiter = ',')]
    pub(crate) parallel: Vec<u32>,
    /// The distribution of the samples instead of a curve
    #[arg(long)]
    pub(crate) histogram: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ProfileArg {
    /// What a person asks first, in about 10 s; not for decisions
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
