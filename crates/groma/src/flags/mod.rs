//! The command line: a file for what each verb takes. Values are checked for their form here;
//! nothing is looked up yet.

pub(crate) mod ab;
mod baseline;
mod calibrate;
mod compare;
mod dd;
mod explain;
mod export;
mod forget;
mod gate;
mod hammer;
mod list;
mod merge;
mod paper;
mod parse;
mod plot;
mod predict;
pub(crate) mod report;
mod run;
mod runs;
mod serve;
mod show;
mod tag;
mod trend;
mod watch;

pub(crate) use ab::AbArgs;
pub(crate) use baseline::BaselineVerb;
pub(crate) use calibrate::CalibrateArgs;
pub(crate) use compare::CompareArgs;
pub(crate) use dd::DdArgs;
pub(crate) use explain::ExplainArgs;
pub(crate) use export::{ExportArgs, ExportFormat};
pub(crate) use forget::ForgetArgs;
pub(crate) use gate::GateArgs;
pub(crate) use hammer::HammerArgs;
pub(crate) use list::ListArgs;
pub(crate) use merge::MergeArgs;
pub(crate) use paper::PaperArgs;
pub(crate) use parse::parse_time;
pub(crate) use plot::PlotArgs;
pub(crate) use predict::PredictArgs;
pub(crate) use report::ReportArgs;
pub(crate) use run::RunArgs;
pub(crate) use runs::RunsArgs;
pub(crate) use serve::ServeArgs;
pub(crate) use show::ShowArgs;
pub(crate) use tag::TagArgs;
pub(crate) use trend::TrendArgs;
pub(crate) use watch::WatchArgs;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand};
use groma_model::{Placement, Record, Tag};
use groma_store::Filter;
use std::path::PathBuf;

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
        "Exit codes:
  0  all selected metrics ok, noisy, unresolved or unsupported
  1  gate, or compare --gate, found a regression
  2  usage error
  3  the machine is noisier than --require allows, or too noisy for a comparison
  4  some metric failed, timed out or was denied
  130, 143  ended by Ctrl-C or SIGTERM; what was measured is kept"
    };
}

/// What the exit codes mean.
pub(crate) const EXIT_CODES: &str = exit_codes!();

const EXAMPLES: &str = concat!(
    "Examples:
  groma run                             survey this machine in about a minute
  groma run --profile quick             the most common questions, in 10 s
  groma run --all                       everything; says how long it takes
  groma run ipc 'mem.*' syscall.read    a group, a pattern, one benchmark
  groma run syscall.getppid -P 1,2,4    as 1, 2 and 4 processes at once
  groma list                            what there is to measure
  groma explain ipc.pipe_rtt            what it measures, how, and its pitfalls
  groma show                            the latest results again
  groma show ipc.pipe_rtt               one metric: rounds, samples, proofs
  groma show --hardware                 declared and measured hardware
  groma runs                            all runs in the store, and their names
  groma ab -- -- bwrap --ro-bind / /    what a sandbox costs
  groma compare                         the latest run and the one before it
  groma gate --baseline base.ndjson     exit code 1 if something became slower
  groma explain ipc.pipe_rtt --run A    a value broken down into costs
  groma predict -- git status           what the kernel costs a command
  groma trend ipc.pipe_rtt              one metric over all runs
  groma export -o run.parquet           also csv, json, Prometheus
  groma watch --for 1m                  how much of each core others take
  groma dd if=data direct=1 hist=1      read a file past the page cache
  groma paper lmbench1996 table7        system calls of 1996, and of now
  groma hammer 32768 100                random stores, on one CPU and on all
  groma plot mem.latency -o caches.svg  a curve
  groma plot syscall.getppid --over P   the same over sizes of worker groups
  groma report -o report.html           everything of a run, for a browser

",
    exit_codes!()
);

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure this machine
    #[command(after_help = run::HELP)]
    Run(RunArgs),
    /// Run the peers of network benchmarks, for another machine that names this one with --host
    Serve(ServeArgs),
    /// List the benchmarks
    #[command(after_help = list::HELP)]
    List(ListArgs),
    /// Explain a benchmark: what it measures, how, and what can go wrong; or a word of the results,
    /// such as noisy, drift or P; or break a value of a run down into measured costs
    #[command(after_help = explain::HELP)]
    Explain(ExplainArgs),
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
    #[command(after_help = watch::HELP)]
    Watch(WatchArgs),
    /// Show the results of a run
    #[command(after_help = show::HELP)]
    Show(ShowArgs),
    /// List the runs in the store
    #[command(after_help = runs::HELP)]
    Runs(RunsArgs),
    /// Give a run of the store tags, or take them from it
    #[command(after_help = tag::HELP)]
    Tag(TagArgs),
    /// Remove runs from the store, and give their space back
    #[command(after_help = forget::HELP)]
    Forget(ForgetArgs),
    /// Take the runs of other stores and of streams with samples into the store
    #[command(after_help = merge::HELP)]
    Merge(MergeArgs),
    /// Write runs for other programs: CSV, JSON, Parquet, Prometheus, the layout of lmbench
    #[command(after_help = export::HELP)]
    Export(ExportArgs),
    /// Measure two conditions in turns and compare them: what a sandbox costs, or another groma
    #[command(after_help = ab::HELP)]
    Ab(AbArgs),
    /// Compare runs: what became slower or faster, and what differs between their machines
    #[command(after_help = compare::HELP)]
    Compare(CompareArgs),
    /// Fail if anything became slower, confirmed on fresh rounds: for continuous integration
    #[command(after_help = gate::HELP)]
    Gate(GateArgs),
    /// Keep what runs found in a small file, to compare with and to hold in version control
    #[command(subcommand, after_help = baseline::HELP)]
    Baseline(BaselineVerb),
    /// Learn by how much runs of this machine differ although nothing has changed
    #[command(after_help = calibrate::HELP)]
    Calibrate(CalibrateArgs),
    /// Show a metric over the runs of a machine, where it changed, and what else changed then
    #[command(after_help = trend::HELP)]
    Trend(TrendArgs),
    /// Show the tables of the papers that came before, with this machine among their rows
    #[command(after_help = paper::HELP)]
    Paper(PaperArgs),
    /// Predict what an application's system calls, faults and switches cost on a machine, and check
    /// it
    #[command(after_help = predict::HELP)]
    Predict(PredictArgs),
    /// Plot a metric of a run: a curve over its sizes, a matrix of its CPUs, or the distribution of
    /// its samples
    #[command(after_help = plot::HELP)]
    Plot(PlotArgs),
    /// Write runs into one file for a browser: the pages, curves, every value with its rounds, a
    /// comparison of several runs, and what each benchmark measures
    #[command(after_help = report::HELP)]
    Report(ReportArgs),
    /// Move blocks between files and devices, check what they hold, and time every transfer
    #[command(after_help = dd::HELP)]
    Dd(DdArgs),
    /// Store to random places in memory, with one writer and then with all CPUs at once (Closson's
    /// memhammer)
    #[command(after_help = hammer::HELP)]
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

/// Which runs of a store are meant.
#[derive(Clone, Debug, Args)]
pub(crate) struct WhichRuns {
    /// Only runs of this machine
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// Only runs with this tag
    #[arg(long)]
    tag: Option<Tag>,
    /// Only runs that began then or later: 2026-11-22, 2026-11-22T10:00, or 3d (three days ago)
    #[arg(long, value_name = "DATE", value_parser = parse::parse_since)]
    since: Option<String>,
    /// Only runs that began then or earlier
    #[arg(long, value_name = "DATE", value_parser = parse::parse_until)]
    until: Option<String>,
}

impl WhichRuns {
    /// What they have in common.
    pub(crate) fn filter(&self) -> Filter {
        Filter {
            host: self.host.clone(),
            tag: self.tag.clone(),
            since: self.since.clone(),
            before: self.until.clone(),
            ..Filter::default()
        }
    }
}

/// Which points of a metric are meant.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct WhichPoints {
    /// Only the points with this value of a parameter, or one of these: size=64K or op=read,write
    #[arg(long = "param", value_name = "NAME=VALUE,...", value_parser = parse::parse_param)]
    pub(crate) params: Vec<(String, Vec<String>)>,
    /// Only the points in this placement: same-cpu, compact, 0,2
    #[arg(long, value_name = "WHERE")]
    pub(crate) placement: Option<Placement>,
    /// Only worker groups of these sizes: 1,2,4
    #[arg(short = 'P', long, value_name = "N,...", value_delimiter = ',', value_parser = parse::parse_workers)]
    pub(crate) parallel: Vec<u32>,
}

impl WhichPoints {
    /// Whether a record is of such a point.
    pub(crate) fn take(&self, record: &Record) -> bool {
        let has = |(name, values): &(String, Vec<String>)| {
            record.params.get(name).is_some_and(|value| values.iter().any(|text| value.is_typed(text)))
        };
        self.params.iter().all(has) && self.is_there(record)
    }

    /// Whether a record is of this placement and of one of these sizes of worker groups, where they
    /// were named.
    pub(crate) fn is_there(&self, record: &Record) -> bool {
        self.placement.as_ref().is_none_or(|placement| *placement == record.placement)
            && (self.parallel.is_empty() || self.parallel.contains(&record.workers))
    }

    /// The options as they are typed, each with its value.
    pub(crate) fn typed(&self) -> Vec<String> {
        let mut options: Vec<String> =
            self.params.iter().map(|(name, values)| format!("--param {name}={}", values.join(","))).collect();
        options.extend(self.placement.as_ref().map(|placement| format!("--placement {placement}")));
        let groups: Vec<String> = self.parallel.iter().map(u32::to_string).collect();
        options.extend((!groups.is_empty()).then(|| format!("-P {}", groups.join(","))));
        options
    }
}

#[derive(Clone, Debug, Args)]
pub(crate) struct TagsArgs {
    /// What to call the run, to find it again: groma show before
    #[arg(long = "tag", visible_alias = "label", value_name = "TAG,...", value_delimiter = ',')]
    pub(crate) tags: Vec<Tag>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    /// Every command with its subcommands, such as `groma baseline set`.
    fn all(command: &mut clap::Command, each: &mut impl FnMut(&mut clap::Command)) {
        each(command);
        command.get_subcommands_mut().for_each(|verb| all(verb, each));
    }

    /// On a terminal of 80 columns, and on wider ones: clap fills paragraphs, and keeps each line
    /// of a list as it is written.
    #[test]
    fn help_fits_a_terminal_and_is_not_ragged() {
        const COLUMNS: usize = 80;
        let mut cli = Cli::command().term_width(COLUMNS);
        cli.build();
        let (mut verbs, mut bad) = (0, Vec::new());
        all(&mut cli, &mut |verb| {
            verbs += 1;
            for help in [verb.render_help(), verb.render_long_help()] {
                let wide = help.to_string();
                let wide = wide.lines().filter(|line| line.chars().count() > COLUMNS);
                bad.extend(wide.map(|line| format!("{}: too wide: {line}", verb.get_name())));
            }
            let Some(text) = verb.get_after_help().map(ToString::to_string) else { return };
            let lines: Vec<&str> = text.lines().collect();
            // A line of a list that clap would wrap.
            let wide = lines.iter().filter(|line| line.starts_with(' ') && line.chars().count() > COLUMNS);
            bad.extend(wide.map(|line| format!("{}: a line of a list is too wide: {line}", verb.get_name())));
            // A paragraph that is wrapped by hand.
            let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ') && !line.ends_with(':');
            let wrapped = lines.windows(2).filter(|pair| is_prose(pair[0]) && is_prose(pair[1]));
            bad.extend(wrapped.map(|pair| format!("{}: wrapped by hand: {}", verb.get_name(), pair[0])));
        });
        assert!(bad.is_empty(), "{bad:#?}");
        assert!(verbs > 30, "only {verbs} verbs found: this test looks in the wrong place");
    }

    /// The two have their arguments in common, but for what only a gate does.
    #[test]
    fn the_budget_of_a_gate_is_explained_by_gate_alone() {
        let mut cli = Cli::command();
        let mut help = |verb| cli.find_subcommand_mut(verb).expect("a verb").render_long_help().to_string();
        assert!(help("ab").contains("[default: 60s, ") && !help("ab").contains("90s"));
        assert!(help("gate").contains("[default: 90s, ") && !help("gate").contains("60s"));
    }
}
