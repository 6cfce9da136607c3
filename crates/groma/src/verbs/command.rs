//! The command line of a program: that of groma, or one adapted to other benchmarks.

use super::{Cli, EXIT_CODES, grouped};
use crate::features::LONG_VERSION;
use crate::print::name;
use crate::program::Program;
use clap::{CommandFactory, FromArgMatches};
use std::ffi::OsString;

impl Program {
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
        let groma = Cli::command().long_version(LONG_VERSION.as_str());
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
            ["hammer", "lmbench", "paper", "predict"].into_iter().chain(self.peers().is_empty().then_some("serve"));
        let own = hidden.fold(own, |own, verb| own.mut_subcommand(verb, |verb| verb.hide(true)));
        ["show", "plot"].into_iter().fold(own, |own, verb| own.mut_subcommand(verb, |verb| verb.after_help("")))
    }

    /// The command line for shell completions, which propose groups and ids where benchmarks are
    /// named. Not for parsing, which also accepts patterns and names of other tools.
    #[cfg(feature = "completions")]
    pub(crate) fn for_completions(&self) -> clap::Command {
        let ids = self.all().iter().map(|b| b.info.id);
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
        let (name, id) = (name(), self.all().first().map_or("ID", |b| b.info.id));
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
    use groma_harness::model::Info;
    use groma_harness::{Benchmark, Run};

    static ONE: Benchmark = Benchmark { info: Info::new("a.one"), run: Run::NotHere("a test") };

    #[test]
    fn the_command_line_of_an_own_program_is_consistent() {
        Program::new().benchmarks(&[&ONE]).command().debug_assert();
        let examples = Program::new().benchmarks(&[&ONE]).examples();
        assert!(examples.contains("explain a.one") && examples.contains("Exit codes:"), "{examples}");
    }
}
