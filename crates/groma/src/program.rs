//! A program that measures: its benchmarks, its name, and its `main`.

use crate::flags::Cli;
use clap::{CommandFactory, FromArgMatches};
use groma_harness::remote::Service;
use groma_harness::{Benchmark, session, worker};
use groma_model::plain;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;

/// Usage errors: bad options, unknown ids, files that cannot be used.
const USAGE: u8 = 2;

/// Runs a program of these benchmarks alone; what `main` returns.
///
/// The program is called as its file is. [`Program`] has more choices.
pub fn main(benchmarks: &[&'static Benchmark]) -> ExitCode {
    Program::new().benchmarks(benchmarks).run()
}

/// A program: which benchmarks it has, and what it is called.
///
/// ```no_run
/// # static MINE: groma::harness::Benchmark = todo!();
/// fn main() -> std::process::ExitCode {
///     groma::Program::new().with_groma().benchmarks(&[&MINE]).run()
/// }
/// ```
///
/// Each round of a benchmark is measured by a worker process, which is this very program started
/// again. So [`run`](Program::run) comes first in `main`: whatever comes before it is done once
/// more in every worker, and makes it larger than the others.
#[derive(Clone, Debug, Default)]
pub struct Program {
    name: Option<&'static str>,
    benchmarks: Vec<&'static Benchmark>,
    services: Vec<&'static Service>,
    with_groma: bool,
}

impl Program {
    /// A program without benchmarks.
    pub fn new() -> Program {
        Program::default()
    }

    /// Gives it another name than that of its file: in help, messages and completions.
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

    /// Adds the benchmarks and services that groma comes with.
    pub fn with_groma(mut self) -> Program {
        self.with_groma = true;
        self.benchmarks(&groma_benches::all()).services(&groma_benches::services())
    }

    /// Does what the arguments say, or measures one round where this process is a worker.
    ///
    /// The exit code is 0 for success; `--help` lists the others. A worker does not return.
    pub fn run(self) -> ExitCode {
        // A worker is chosen before anything else happens in the process: its smallness is part of
        // what it measures.
        let first = std::env::args_os().nth(1);
        if first.as_ref().is_some_and(|a| a == worker::ARGUMENT) {
            worker::main(&self.benchmarks);
        }
        if first.as_ref().is_some_and(|a| a == session::ARGUMENT) {
            session::main(&self.services);
        }
        NAME.get_or_init(|| self.name.map_or_else(file_name, str::to_owned));
        if let Some(id) = self.twice() {
            warn!("two benchmarks of this program are called {id}");
            return ExitCode::from(USAGE);
        }
        let cli = match self.parse(std::env::args_os()) {
            Ok(cli) => cli,
            Err(error) => return ExitCode::from(refuse(&self, error)),
        };
        match crate::commands::run(&self, cli) {
            Ok(code) => ExitCode::from(code),
            Err(error) => {
                // The reader closed the pipe because it has read enough.
                if error.chain().any(is_broken_pipe) {
                    return ExitCode::SUCCESS;
                }
                // One line, also where a name or an answer holds several.
                warn!("{}", plain(&format!("{error:#}")));
                ExitCode::from(USAGE)
            }
        }
    }

    /// Its benchmarks, in the order of lists and tables.
    pub(crate) fn all(&self) -> &[&'static Benchmark] {
        &self.benchmarks
    }

    /// Those of its benchmarks that the texts name; see [`groma_runner::select`].
    ///
    /// # Errors
    /// Names the first text that names none.
    pub(crate) fn select(&self, texts: &[String], quick: bool) -> anyhow::Result<Vec<&'static Benchmark>> {
        groma_runner::select(&self.benchmarks, texts, quick)
            .map_err(|unknown| anyhow::anyhow!("{unknown} ({} list shows all)", name()))
    }

    /// The id that two of its benchmarks have.
    fn twice(&self) -> Option<&'static str> {
        let ids: Vec<&str> = self.benchmarks.iter().map(|b| b.info.id).collect();
        ids.iter().enumerate().find(|(i, id)| ids[..*i].contains(id)).map(|(_, id)| *id)
    }

    fn parse<A: Into<OsString> + Clone>(&self, args: impl IntoIterator<Item = A>) -> Result<Cli, clap::Error> {
        let mut matches = self.command().try_get_matches_from(args)?;
        Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut self.command()))
    }

    /// The command line: that of groma, or of a program with benchmarks of its own.
    pub(crate) fn command(&self) -> clap::Command {
        let groma = Cli::command();
        if self.with_groma && name() == "groma" {
            return groma;
        }
        let own = groma.name(name()).bin_name(name()).about(format!("{}: benchmarks run by groma", name()));
        let own = own.after_help(self.examples());
        if self.with_groma {
            return own;
        }
        // What is about groma's own benchmarks.
        let hidden = ["hammer"].into_iter().chain(self.services.is_empty().then_some("serve"));
        let own = hidden.fold(own, |own, verb| own.mut_subcommand(verb, |verb| verb.hide(true)));
        ["show", "plot"].into_iter().fold(own, |own, verb| own.mut_subcommand(verb, |verb| verb.after_help("")))
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
        format!("Examples:\n{lines}\n{}", crate::flags::EXIT_CODES)
    }
}

static NAME: OnceLock<String> = OnceLock::new();

/// What this program is called.
pub(crate) fn name() -> &'static str {
    NAME.get().map_or("groma", String::as_str)
}

/// The name of the file that this program was started from.
fn file_name() -> String {
    let program = std::env::args_os().next().unwrap_or_default();
    Path::new(&program).file_name().map_or("groma".to_owned(), |name| plain(&name.to_string_lossy()).into_owned())
}

/// Reports what is wrong with the command line, or prints the help that was asked for; the exit
/// code.
fn refuse(program: &Program, error: clap::Error) -> u8 {
    let args: Vec<OsString> = std::env::args_os().collect();
    if error.kind() == clap::error::ErrorKind::InvalidUtf8 {
        warn!("{}", not_text(program, &args));
        return USAGE;
    }
    // The error quotes what was typed, amid its own colours: made plain before it is parsed, it is
    // quoted plain.
    let typed = args.iter().map(|arg| plain(&arg.to_string_lossy()).into_owned());
    let error = program.parse(typed).err().filter(|e| e.kind() == error.kind()).unwrap_or(error);
    // Help and version are no errors; everything else has exit code 2. Where they cannot be
    // printed, nobody is left to read an error either.
    if !error.use_stderr() {
        let _ = error.print();
        return 0;
    }
    let colour = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
    let text = if colour { error.render().ansi().to_string() } else { error.render().to_string() };
    let _ = std::io::stderr().write_all(groma_report::for_terminal(&text, colour).as_bytes());
    USAGE
}

/// Names the argument that is not UTF-8 although it has to be; only names of files may be any
/// bytes.
fn not_text(program: &Program, args: &[OsString]) -> String {
    let lossy = |arg: &OsString| OsString::from(arg.to_string_lossy().into_owned());
    let is_refused = |i: usize| {
        let alone = args.iter().enumerate().map(|(j, arg)| if i == j { arg.clone() } else { lossy(arg) });
        program.parse(alone).is_err_and(|e| e.kind() == clap::error::ErrorKind::InvalidUtf8)
    };
    let Some(at) = (0..args.len()).find(|i| args[*i].to_str().is_none() && is_refused(*i)) else {
        return "an argument is not UTF-8".to_owned();
    };
    let text = args[at].to_string_lossy();
    let before = args[..at].last().map(|arg| arg.to_string_lossy()).filter(|arg| arg.starts_with('-'));
    match (text.split_once('='), before) {
        (Some((option, value)), _) if text.starts_with("--") => format!("{option}: '{value}' is not UTF-8"),
        (_, Some(option)) if !text.starts_with('-') => format!("{option}: '{text}' is not UTF-8"),
        _ => format!("'{text}' is not UTF-8"),
    }
}

fn is_broken_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
        || matches!(error.downcast_ref::<groma_store::StoreError>(), Some(groma_store::StoreError::BrokenPipe { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::Run;
    use groma_harness::model::Info;

    static ONE: Benchmark = Benchmark { info: Info::new("a.one"), run: Run::NotHere("a test") };
    static TWO: Benchmark = Benchmark { info: Info::new("a.two"), run: Run::NotHere("a test") };

    #[test]
    fn an_id_is_given_once() {
        assert_eq!(Program::new().benchmarks(&[&ONE, &TWO]).twice(), None);
        assert_eq!(Program::new().benchmarks(&[&ONE, &TWO]).benchmarks(&[&ONE]).twice(), Some("a.one"));
        assert_eq!(Program::new().with_groma().twice(), None);
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
            .select(&texts, false)
            .map(|list| list.iter().map(|b| b.info.id).collect())
            .map_err(|e| e.to_string())
    }

    #[test]
    fn ids_groups_and_patterns() {
        assert_eq!(ids(&["syscall.getppid"]), Ok(vec!["syscall.getppid"]));
        assert!(ids(&["ipc"]).expect("a group").contains(&"ipc.pipe_rtt"));
        assert!(ids(&["*.latency"]).expect("a pattern").contains(&"mem.latency"));
        let all = ids(&[]).expect("the default set");
        assert!(all.contains(&"mem.latency") && !all.iter().any(|id| id.starts_with("selftest.")));
        let of = |texts: &[String]| -> Vec<&str> {
            let chosen = Program::new().with_groma().select(texts, true).expect("both are there");
            chosen.iter().map(|b| b.info.id).collect()
        };
        let quick = of(&[]);
        assert!(quick.contains(&"mem.latency") && !quick.contains(&"vm.brk") && all.contains(&"vm.brk"));
        assert_eq!(of(&["vm.brk".to_owned()]), ["vm.brk"]);
    }

    #[test]
    fn a_slip_gets_a_suggestion() {
        let error = ids(&["syscall.getpid"]).expect_err("no such id");
        assert_eq!(error, "no benchmark 'syscall.getpid'; did you mean 'syscall.getppid'? (groma list shows all)");
        assert_eq!(ids(&["xyzzy"]).expect_err("no such id"), "no benchmark 'xyzzy' (groma list shows all)");
    }
}
