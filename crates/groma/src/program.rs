//! A benchmark program: its benchmarks, its name and its command line.

use crate::print::name;
use crate::verbs::{Cli, EXIT_CODES, grouped};
use clap::{CommandFactory, FromArgMatches};
use groma_harness::Benchmark;
use groma_harness::model::{Families, Family, Pages, Tier};
use groma_harness::remote::Service;
use groma_runner::UnknownBenchmark;
use std::ffi::OsString;

/// A benchmark program: its benchmarks and its name.
///
/// ```no_run
/// # use groma::harness::{Benchmark, Run, model::Info};
/// # static MINE: Benchmark = Benchmark { info: Info::new("my.benchmark"), run: Run::NotHere("an example") };
/// fn main() -> std::process::ExitCode {
///     groma::Program::new().with_groma().benchmarks(&[&MINE]).run()
/// }
/// ```
///
/// Each round of a benchmark is measured by a worker process, which is this program started again.
/// So [`run`](Program::run) comes first in `main`: every worker repeats whatever comes before it,
/// and becomes larger.
#[derive(Clone, Debug, Default)]
pub struct Program {
    pub(crate) name: Option<&'static str>,
    benchmarks: Vec<&'static Benchmark>,
    services: Vec<&'static Service>,
    families: Vec<&'static Family>,
    pages: Pages<'static>,
    with_groma: bool,
}

impl Program {
    /// A program without benchmarks.
    pub fn new() -> Program {
        Program::default()
    }

    /// Sets the name in help, messages and completions; otherwise it is that of the file.
    pub fn name(self, name: &'static str) -> Program {
        Program { name: Some(name), ..self }
    }

    /// Adds benchmarks. Lists and tables show them in this order.
    pub fn benchmarks(mut self, more: &[&'static Benchmark]) -> Program {
        self.benchmarks.extend(more);
        self
    }

    /// Adds services: the peers of network benchmarks that `serve` runs for another machine.
    pub fn services(mut self, more: &[&'static Service]) -> Program {
        self.services.extend(more);
        self
    }

    /// Adds families: the names, sentences and rows that views show for their benchmarks. A
    /// benchmark does not need one.
    pub fn families(mut self, more: &[&'static Family]) -> Program {
        self.families.extend(more);
        self
    }

    /// Adds the benchmarks, families and services that groma comes with.
    pub fn with_groma(mut self) -> Program {
        (self.with_groma, self.pages) = (true, groma_benches::pages());
        let program = self.benchmarks(&groma_benches::all()).families(&groma_benches::families());
        program.services(&groma_benches::services())
    }

    /// Its benchmarks, in the order of lists and tables.
    pub(crate) fn all(&self) -> &[&'static Benchmark] {
        &self.benchmarks
    }

    /// The benchmarks that these texts select; see [`groma_runner::select`].
    ///
    /// # Errors
    /// Names the first text that selects none.
    pub(crate) fn select(&self, texts: &[String], tier: Tier) -> anyhow::Result<Vec<&'static Benchmark>> {
        self.find(texts, tier).map_err(|unknown| anyhow::anyhow!("{unknown} ({} list shows all)", name()))
    }

    /// Like [`select`](Program::select), with an error that has the closest id.
    pub(crate) fn find(&self, texts: &[String], tier: Tier) -> Result<Vec<&'static Benchmark>, UnknownBenchmark> {
        groma_runner::select(&self.benchmarks, texts, tier, groma_published::repeating)
    }

    /// Its families and pages, for the views.
    pub(crate) fn known_families(&self) -> Families<'_> {
        Families { all: &self.families, pages: self.pages }
    }

    /// Its services.
    pub(crate) fn peers(&self) -> &[&'static Service] {
        &self.services
    }

    /// An id that two of its benchmarks have.
    pub(crate) fn duplicate(&self) -> Option<&'static str> {
        let ids: Vec<&str> = self.benchmarks.iter().map(|b| b.info.id).collect();
        ids.iter().enumerate().find(|(i, id)| ids[..*i].contains(id)).map(|(_, id)| *id)
    }

    pub(crate) fn parse<A: Into<OsString> + Clone>(
        &self,
        args: impl IntoIterator<Item = A>,
    ) -> Result<Cli, clap::Error> {
        let mut matches = self.command().try_get_matches_from(args)?;
        Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut self.command()))
    }

    /// The command line: that of groma, or one adapted to other benchmarks.
    pub(crate) fn command(&self) -> clap::Command {
        grouped(self.adapted())
    }

    fn adapted(&self) -> clap::Command {
        let groma = Cli::command();
        if self.with_groma && name() == "groma" {
            return groma;
        }
        let own = groma.name(name()).bin_name(name()).about(format!("{}: benchmarks run by groma", name()));
        let own = own.after_help(self.examples());
        if self.with_groma {
            return own;
        }
        // Verbs of groma's own benchmarks.
        let hidden =
            ["hammer", "lmbench", "paper", "predict"].into_iter().chain(self.services.is_empty().then_some("serve"));
        let own = hidden.fold(own, |own, verb| own.mut_subcommand(verb, |verb| verb.hide(true)));
        ["show", "plot"].into_iter().fold(own, |own, verb| own.mut_subcommand(verb, |verb| verb.after_help("")))
    }

    /// The command line for shell completions, which propose groups and ids where benchmarks are
    /// named. Not for parsing, which also accepts patterns and names of other tools.
    #[cfg(feature = "completions")]
    pub(crate) fn for_completions(&self) -> clap::Command {
        let ids = self.benchmarks.iter().map(|b| b.info.id);
        let names: std::collections::BTreeSet<&str> =
            ids.flat_map(|id| [id.split('.').next().unwrap_or(id), id]).collect();
        let proposed = clap::builder::PossibleValuesParser::new(names);
        // `show` takes a run or a metric.
        let names_benchmarks = |arg: &clap::Arg| match arg.get_id().as_str() {
            "select" | "metric" => true,
            "run" => arg.is_positional(),
            _ => false,
        };
        self.command().mut_subcommands(|verb| {
            verb.mut_args(|arg| if names_benchmarks(&arg) { arg.value_parser(proposed.clone()) } else { arg })
        })
    }

    /// Examples with a benchmark that this program has, and the exit codes.
    fn examples(&self) -> String {
        let (name, id) = (name(), self.benchmarks.first().map_or("ID", |b| b.info.id));
        let lines = [
            (format!("{name} run"), "all that need not be named, in about a minute"),
            (format!("{name} run --profile quick"), "the same, coarser, in about ten seconds"),
            (format!("{name} run {id} -P 1,2,4"), "as one, two and four processes at once"),
            (format!("{name} list"), "what there is to measure"),
            (format!("{name} explain {id}"), "what it measures, how, and what can go wrong"),
            (format!("{name} show"), "the latest results again"),
            (format!("{name} plot {id} -o curve.svg"), "a curve"),
        ];
        let width = lines.iter().map(|(line, _)| line.len()).max().unwrap_or_default();
        let lines: String = lines.iter().map(|(line, what)| format!("  {line:width$}   {what}\n")).collect();
        format!("Examples:\n{lines}\n{}", EXIT_CODES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::Run;
    use groma_harness::model::Info;

    static ONE: Benchmark = Benchmark { info: Info::new("a.one"), run: Run::NotHere("a test") };
    static TWO: Benchmark = Benchmark { info: Info::new("a.two"), run: Run::NotHere("a test") };

    #[test]
    fn a_duplicate_id_is_found() {
        assert_eq!(Program::new().benchmarks(&[&ONE, &TWO]).duplicate(), None);
        assert_eq!(Program::new().benchmarks(&[&ONE, &TWO]).benchmarks(&[&ONE]).duplicate(), Some("a.one"));
        assert_eq!(Program::new().with_groma().duplicate(), None);
    }

    #[test]
    fn the_command_line_of_an_own_program_is_consistent() {
        Program::new().benchmarks(&[&ONE]).command().debug_assert();
        let examples = Program::new().benchmarks(&[&ONE]).examples();
        assert!(examples.contains("explain a.one") && examples.contains("Exit codes:"), "{examples}");
    }

    fn ids(texts: &[&str]) -> Result<Vec<&'static str>, String> {
        let texts: Vec<String> = texts.iter().map(|t| (*t).to_owned()).collect();
        Program::new()
            .with_groma()
            .select(&texts, Tier::Standard)
            .map(|list| list.iter().map(|b| b.info.id).collect())
            .map_err(|e| e.to_string())
    }

    #[test]
    fn ids_groups_and_patterns() {
        assert_eq!(ids(&["syscall.getppid"]), Ok(vec!["syscall.getppid"]));
        assert!(ids(&["ipc"]).expect("a group").contains(&"ipc.pipe_rtt"));
        // perf bench has a test 'syscall fork', which proc.fork_exit repeats.
        assert!(ids(&["syscall"]).expect("a group").iter().all(|id| id.starts_with("syscall.")));
        assert!(ids(&["*.latency"]).expect("a pattern").contains(&"mem.latency"));
        let all = ids(&[]).expect("the default set");
        assert!(all.contains(&"mem.latency") && !all.iter().any(|id| id.starts_with("selftest.")));
        let of = |texts: &[String]| -> Vec<&str> {
            let chosen = Program::new().with_groma().select(texts, Tier::Quick).expect("both are there");
            chosen.iter().map(|b| b.info.id).collect()
        };
        let quick = of(&[]);
        assert!(quick.contains(&"mem.latency") && !quick.contains(&"vm.brk") && all.contains(&"vm.brk"));
        assert_eq!(of(&["vm.brk".to_owned()]), ["vm.brk"]);
    }

    #[test]
    fn names_of_other_tools_and_words_of_ids_are_known() {
        assert_eq!(ids(&["lat_pipe"]), Ok(vec!["ipc.pipe_rtt"]));
        assert!(ids(&["lat_syscall"]).expect("calls").contains(&"syscall.read"));
        assert_eq!(ids(&["pipe"]), Ok(vec!["ipc.pipe_rtt", "ipc.pipe_bandwidth"]));
        assert!(ids(&["latency"]).expect("a word").contains(&"mem.loaded_latency"));
    }
}
