//! The command line: one file for each verb, with its arguments, its help and what it does.
//!
//! A verb is its file, a `mod` line and a line of `verbs!`. The file has a `clap::Args` struct,
//! whose doc comment is the verb's line in `--help`, and `run(program, args)`, which returns the
//! exit code. Arguments are checked for their form when they are parsed; `run` looks up what they
//! name. What several verbs share is not here: arguments are in `args.rs`, values in `parse.rs`.

mod ab;
mod baseline;
mod calibrate;
mod command;
mod compare;
mod completions;
pub(crate) mod dd;
mod explain;
mod export;
mod fleet;
mod forget;
mod gate;
mod hammer;
mod import;
mod list;
pub(crate) mod lmbench;
mod machine;
mod manual;
mod merge;
mod paper;
mod plot;
pub(crate) mod predict;
pub(crate) mod push;
mod report;
pub(crate) mod run;
mod runs;
mod serve;
mod show;
mod site;
mod stored_run;
mod summary;
mod tag;
mod trend;
mod watch;

use crate::program::Program;
use anyhow::Result;
use clap::builder::styling::{AnsiColor, Styles};
use clap::{Parser, Subcommand};

/// Defines [`Command`], how each of its variants is run, and the groups of `--help`. What is under
/// `old` is the same as a newer form, and hidden.
macro_rules! verbs {
    ($($group:literal: [$($verb:ident: $variant:ident($args:ident), $line:literal;)*],)*
     old: [$($old:ident: $old_variant:ident($old_args:ident);)*],) => {
        // Not a doc comment: clap would show it.
        #[derive(Debug, Subcommand)]
        pub(crate) enum Command {
            $($($variant($verb::$args),)*)*
            $(#[command(hide = true)] $old_variant($old::$old_args),)*
        }

        impl Command {
            /// Runs the verb; returns the exit code.
            ///
            /// # Errors
            /// Usage errors, and output that cannot be written.
            pub(crate) fn run(&self, program: &Program) -> Result<u8> {
                match self {
                    $($(Command::$variant(args) => $verb::run(program, args),)*)*
                    $(Command::$old_variant(args) => $old::run(program, args),)*
                }
            }
        }

        /// The verbs with half a line each, as `--help` groups them.
        const GROUPS: &[(&str, &[(&str, &str)])] =
            &[$(($group, &[$((stringify!($verb), $line),)*]),)*];
    };
}

verbs! {
    "Measure": [
        run: Run(RunArgs), "a survey of this machine in a minute, or what you name";
        list: List(ListArgs), "what there is to measure";
        explain: Explain(ExplainArgs), "what a benchmark measures and how, or a word of the results";
        ab: Ab(AbArgs), "two conditions in turns: what a sandbox costs, a new kernel setting";
        predict: Predict(PredictArgs), "what the kernel costs an application, from its counts";
        watch: Watch(WatchArgs), "how much of each CPU others take";
    ],
    "Look at results": [
        show: Show(ShowArgs), "a run again, or one metric with its rounds and proofs";
        plot: Plot(PlotArgs), "a curve, a matrix or a distribution";
        report: Report(ReportArgs), "everything of a run in one file for a browser";
        machine: Machine(MachineArgs), "what this machine declares of itself";
        runs: Runs(RunsArgs), "the runs in the store; tag and forget them";
    ],
    "Compare": [
        compare: Compare(CompareArgs), "runs: what is slower or faster, and what else differs";
        gate: Gate(GateArgs), "exit code 1 if something became slower, for CI";
        baseline: Baseline(BaselineArgs), "what runs found, as a small file for version control";
        calibrate: Calibrate(CalibrateArgs), "how much runs differ although nothing has changed";
        trend: Trend(TrendArgs), "a metric over the runs of a machine, and its changes";
        paper: Paper(PaperArgs), "the tables of 1990 to 2014, with this machine in them";
    ],
    "Share": [
        export: Export(ExportArgs), "CSV, JSON, Parquet, Prometheus, lmbench; to PostgreSQL";
        import: Import(ImportArgs), "runs of streams, other stores, lmbench's result files";
    ],
    "Many machines": [
        fleet: Fleet(FleetArgs), "the slow hosts and links of many that should be equal";
        site: Site(SiteArgs), "all of them on pages, side by side, and over the years";
        serve: Serve(ServeArgs), "the peers of network benchmarks, for another machine";
    ],
    "For users of lmbench": [
        lmbench: Lmbench(LmbenchArgs), "a program of lmbench 3, with its options and output";
        summary: Summary(SummaryArgs), "runs in the layout of lmbench's summary";
        dd: Dd(DdArgs), "lmdd: move blocks, check them, time every transfer";
        hammer: Hammer(HammerArgs), "random stores, on one CPU and on all at once (SLB)";
    ],
    "This program": [
        manual: Manual(ManualArgs), "manual pages, and completions for a shell";
    ],
    old: [
        tag: Tag(TagArgs);
        forget: Forget(ForgetArgs);
        merge: Merge(MergeArgs);
        push: Push(PushArgs);
        completions: Completions(CompletionsArgs);
    ],
}

/// Gives a command line its `--help`, with the verbs in groups.
pub(crate) fn grouped(command: clap::Command) -> clap::Command {
    let (header, literal) = (STYLES.get_header(), STYLES.get_literal());
    let is_shown = |verb: &str| command.find_subcommand(verb).is_some_and(|verb| !verb.is_hide_set());
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (group, verbs) in GROUPS {
        let lines: String = verbs
            .iter()
            .filter(|(verb, _)| is_shown(verb))
            .map(|(verb, line)| format!("  {literal}{verb:10}{literal:#} {line}\n"))
            .collect();
        if !lines.is_empty() {
            text += &format!("\n{header}{group}:{header:#}\n{lines}");
        }
    }
    text += &format!("\n{header}Options:{header:#}\n{{options}}{{after-help}}");
    command.help_template(text)
}

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
  0  whatever was named by its id was measured, and nothing failed
  1  gate, or compare --gate, found a regression; fleet judge a slow host
  2  usage error
  3  the machine is noisier than --require allows, or too noisy for a comparison
  4  some metric failed or timed out, one that was named is denied or
     unsupported, nothing was measured, or the run could not be kept
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
  groma fleet judge results/            which of many hosts are slow, and why
  groma explain ipc.pipe_rtt --run A    a value broken down into costs
  groma predict -- git status           what the kernel costs a command
  groma trend ipc.pipe_rtt              one metric over all runs
  groma export -o run.parquet           also csv, json, Prometheus
  groma import db1.db results/*/*.0     runs of another store, of lmbench
  groma summary host:db1 latest         runs as lmbench's summary has them
  groma watch --for 1m                  how much of each core others take
  groma dd if=data direct=1 hist=1      read a file past the page cache
  groma paper lmbench1996 table7        system calls of 1996, and of now
  groma hammer 32768 100                random stores, on one CPU and on all
  groma lmbench lat_ctx -s 16 2 8       a program of lmbench, with its output
  groma plot mem.latency -o caches.svg  a curve
  groma plot syscall.getppid --over P   the same over sizes of worker groups
  groma report -o report.html           everything of a run, for a browser

",
    exit_codes!()
);

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// Calls `each` with a command and all its subcommands, such as `groma baseline set`.
    fn for_each(command: &mut clap::Command, each: &mut impl FnMut(&mut clap::Command)) {
        each(command);
        command.get_subcommands_mut().for_each(|verb| for_each(verb, each));
    }

    /// On a terminal of 80 columns and on wider ones. `build` also checks the command line itself.
    /// clap fills paragraphs and keeps the lines of lists.
    #[test]
    fn help_fits_a_terminal_and_is_not_ragged() {
        const COLUMNS: usize = 80;
        let mut cli = Cli::command().term_width(COLUMNS);
        cli.build();
        let (mut verbs, mut bad) = (0, Vec::new());
        for_each(&mut cli, &mut |verb| {
            verbs += 1;
            for help in [verb.render_help(), verb.render_long_help()] {
                let wide = help.to_string();
                let wide = wide.lines().filter(|line| line.chars().count() > COLUMNS);
                bad.extend(wide.map(|line| format!("{}: too wide: {line}", verb.get_name())));
            }
            let Some(text) = verb.get_after_help().map(ToString::to_string) else { return };
            let lines: Vec<&str> = text.lines().collect();
            // Lines of lists that clap would wrap.
            let wide = lines.iter().filter(|line| line.starts_with(' ') && line.chars().count() > COLUMNS);
            bad.extend(wide.map(|line| format!("{}: a line of a list is too wide: {line}", verb.get_name())));
            // Paragraphs that are wrapped by hand.
            let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ') && !line.ends_with(':');
            let wrapped = lines.windows(2).filter(|pair| is_prose(pair[0]) && is_prose(pair[1]));
            bad.extend(wrapped.map(|pair| format!("{}: wrapped by hand: {}", verb.get_name(), pair[0])));
        });
        assert!(bad.is_empty(), "{bad:#?}");
        assert!(verbs > 30, "only {verbs} verbs found: this test looks in the wrong place");
    }

    /// `gate` has the arguments of `ab`, but another default budget.
    #[test]
    fn only_gate_shows_the_default_budget_of_a_gate() {
        let mut cli = Cli::command();
        let mut help = |verb| cli.find_subcommand_mut(verb).expect("a verb").render_long_help().to_string();
        assert!(help("ab").contains("[default: 60s, ") && !help("ab").contains("90s"));
        assert!(help("gate").contains("[default: 90s, ") && !help("gate").contains("60s"));
    }
}
