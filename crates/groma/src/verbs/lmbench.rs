//! `groma lmbench PROGRAM`: the programs of lmbench 3 by their names, with their options, their
//! arguments and their lines, measured by groma's benchmarks.
//!
//! For scripts that call lmbench and read its lines. A line keeps lmbench's definition (a round
//! trip that is halved, a copied byte that counts once), and the measurement is ours: fresh
//! processes, short intervals, proofs. `--why` says how the two differ. Not a second way to measure
//! anything: a program here is a choice of points and a format (`programs/`).
//!
//! A link to groma with the name of a program is that program. Both forms are recognised before the
//! command line is parsed, since these programs have an option parser of their own.

mod call;
mod config;
mod lines;
mod measure;
mod options;
mod programs;
mod sched;
mod servers;
mod suite;

use crate::exit;
use crate::print::{is_broken_pipe, print};
use crate::program;
use anyhow::{Context, Result, bail};
use call::{Call, Program, Stop};
use clap::{Args, Subcommand};
use groma_harness::model::plain;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

const HELP: &str = "\
Options and arguments are those of lmbench: -P copies, -W microseconds, -N repetitions and what \
else a program has. Lines go where lmbench prints them, most of them to standard error. Before its \
first argument a program also takes:

  --why             what differs from lmbench's number, and from groma's
  --strict          lmbench's definition to the letter, faults included
  --help            its usage
  --bind ADDRESS    with -s: serve other machines at this address, with the
                    token in GROMA_TOKEN

Examples:
  groma lmbench --list
  groma lmbench run --config CONFIG.db1     the whole suite, and its result file
  groma lmbench lat_syscall -N 5 null
  groma lmbench bw_mem -P 2 64m bcopy
  groma lmbench lat_sem --why
  groma lmbench --install ~/lmbench/bin     links named lat_syscall, bw_mem...
  lat_tcp -s; lat_tcp localhost; lat_tcp -S localhost
      a server in the background, its client, its end

Exit codes: 0 every line was printed; 1 no server, no such file, a port in use; 2 usage; 4 a line \
is missing. Notes (what is imprecise, why a line is missing) go to standard error where that is a \
terminal, and to the file that GROMA_NOTES names: GROMA_NOTES=- is standard error.";

/// Run a program of lmbench 3 by its name, with its options and its output
#[derive(Debug, Args)]
#[command(after_help = HELP, args_conflicts_with_subcommands = true, subcommand_precedence_over_arg = true)]
#[command(disable_help_subcommand = true)]
pub(crate) struct LmbenchArgs {
    #[command(subcommand)]
    whole: Option<Whole>,
    /// List the programs: what they print, and the command of groma
    #[arg(long, conflicts_with_all = ["install", "program"])]
    list: bool,
    /// Make links to groma with the names of all programs in this directory
    #[arg(long, value_name = "DIR", conflicts_with = "program")]
    install: Option<PathBuf>,
    /// The program and its words: lat_syscall -P 2 null
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

#[derive(Debug, Subcommand)]
enum Whole {
    Run(suite::SuiteArgs),
}

/// A program with the words that follow its name, where the words of the process name one: by a
/// link to groma, or as `groma lmbench PROGRAM`.
pub(crate) fn called(words: &[OsString]) -> Option<(&'static Program, Vec<OsString>)> {
    let link = Path::new(words.first()?).file_name()?;
    if let Some(program) = find(link) {
        return Some((program, words[1..].to_vec()));
    }
    if words.get(1)? != "lmbench" {
        return None;
    }
    // `groma lmbench --why lat_pipe` is `groma lmbench lat_pipe --why`.
    let at = (2..words.len()).find(|i| !["--why", "--strict"].iter().any(|own| words[*i] == *own))?;
    let program = find(&words[at])?;
    Some((program, words[2..at].iter().chain(&words[at + 1..]).cloned().collect()))
}

fn find(name: &OsStr) -> Option<&'static Program> {
    programs::all().find(|program| name == program.name)
}

/// Runs a program; returns its exit code.
pub(crate) fn start(groma: &program::Program, program: &'static Program, words: Vec<OsString>) -> u8 {
    let ended = options::sort(words, program.letters).map_err(Stop::Usage).and_then(|words| {
        if words.help || words.why {
            return Ok(if words.help { help(program) } else { why(program) });
        }
        let (failed, imprecise) = Default::default();
        let mut call = Call { groma, program, words, remote: None, work_dir: None, failed, imprecise };
        (program.run)(&mut call)?;
        call.tell_imprecise();
        Ok(if call.failed.get() { exit::FAILED } else { 0 })
    });
    let say = |what: &str| eprintln!("{}: {}", program.name, plain(what));
    match ended {
        Ok(code) => code,
        Err(Stop::Usage(what)) => {
            say(&what);
            eprintln!("{}", usage(program));
            exit::USAGE
        }
        Err(Stop::Missing(what)) => {
            say(&what);
            MISSING
        }
        Err(Stop::Silent(what)) => {
            call::note(program.name, &what);
            MISSING
        }
        Err(Stop::Unmeasured(what)) => {
            say(&what);
            exit::FAILED
        }
        Err(Stop::Signal(signal)) => groma_runner::signals::exit_code(signal),
    }
}

/// The exit code where something that was named is not there, or is in the way.
const MISSING: u8 = 1;

fn usage(program: &Program) -> String {
    format!("Usage: {} {}", program.name, program.usage).trim_end().to_owned()
}

/// The two lines of `--why`.
fn why(program: &Program) -> u8 {
    let Program { name, differs, native, .. } = program;
    let differs = if differs.is_empty() { "the same as there, but for how it is measured" } else { differs };
    printed(&format!("{name}: {differs}\n{name}: {native}\n"))
}

fn help(program: &Program) -> u8 {
    let Program { prints, .. } = program;
    printed(&format!("{}\n\nPrints: {prints}\n\nAlso --why, --strict: groma lmbench --help\n", usage(program)))
}

fn printed(text: &str) -> u8 {
    match print(text) {
        Ok(()) => 0,
        Err(error) if is_broken_pipe(&error) => 0,
        Err(error) => {
            warn!("{error:#}");
            exit::FAILED
        }
    }
}

/// Measures the suite, lists, installs, or says which program is unknown.
pub(super) fn run(groma: &program::Program, args: &LmbenchArgs) -> Result<u8> {
    if let Some(Whole::Run(args)) = &args.whole {
        return suite::run(groma, args);
    }
    if let Some(dir) = &args.install {
        return install(dir);
    }
    let first = args.program.iter().find(|word| !word.to_string_lossy().starts_with("--"));
    match (args.list, first) {
        (true, _) | (_, None) => {
            print(&list())?;
            Ok(0)
        }
        (_, Some(name)) => bail!("lmbench has no program '{}' (groma lmbench --list)", name.display()),
    }
}

fn list() -> String {
    let width = programs::all().map(|program| program.name.len()).max().unwrap_or_default();
    let row =
        |program: &Program| format!("{:width$}  {}\n{:width$}  {}\n", program.name, program.prints, "", program.native);
    programs::all().map(row).collect()
}

/// Makes a link for each program. A file that is no such link is left alone and named.
fn install(dir: &Path) -> Result<u8> {
    let groma = std::env::current_exe().context("looking for this program")?;
    if !dir.is_dir() {
        bail!("--install: {}: not a directory", dir.display());
    }
    let mut made = 0;
    let mut refused = Vec::new();
    for program in programs::all() {
        let link = dir.join(program.name);
        match std::os::unix::fs::symlink(&groma, &link) {
            Ok(()) => made += 1,
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                if std::fs::read_link(&link).is_ok_and(|to| to == groma) {
                    made += 1;
                } else {
                    refused.push(program.name);
                }
            }
            Err(e) => bail!("--install: {}: {e}", link.display()),
        }
    }
    print(&format!("{made} links to {} in {}\n", groma.display(), dir.display()))?;
    if refused.is_empty() {
        return Ok(0);
    }
    warn!("--install: left alone, since it was there already: {}", refused.join(", "));
    Ok(exit::FAILED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> Option<(&'static str, Vec<String>)> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let (program, rest) = called(&words)?;
        Some((program.name, rest.into_iter().map(|word| word.to_string_lossy().into_owned()).collect()))
    }

    #[test]
    fn a_program_is_called_by_its_link_or_after_the_verb() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(of(&["/x/lat_ctx", "-s", "0", "2"]), Some(("lat_ctx", words(&["-s", "0", "2"]))));
        assert_eq!(
            of(&["groma", "lmbench", "--strict", "bw_mem", "1m", "rd"]),
            Some(("bw_mem", words(&["--strict", "1m", "rd"])))
        );
        for words in [
            &["groma", "lmbench"][..],
            &["groma", "lmbench", "--list"],
            &["groma", "run", "lat_ctx"],
            &["groma", "lat_ctx"],
        ] {
            assert_eq!(of(words), None, "{words:?}");
        }
    }

    /// The descriptions are complete, and the letters of a usage line are those that are accepted.
    #[test]
    fn every_program_is_described_and_takes_the_letters_of_its_usage() {
        let mut names: Vec<&str> = programs::all().map(|program| program.name).collect();
        for Program { name, usage, letters, prints, native, .. } in programs::all() {
            assert!(!prints.is_empty() && !native.is_empty(), "{name}");
            for letter in letters.chars().filter(|letter| *letter != ':') {
                assert!(usage.contains(&format!("-{letter}")), "{name}: -{letter} is not in its usage");
            }
            let shown = usage.split(['[', ' ', '|']).filter_map(|word| word.strip_prefix('-')?.chars().next());
            for letter in shown.filter(char::is_ascii_alphabetic) {
                assert!(letters.contains(letter), "{name}: -{letter} is only in its usage");
            }
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), programs::all().count());
    }
}
