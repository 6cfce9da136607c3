//! The verbs, one file each.

mod ab;
mod baseline;
mod calibrate;
mod catalogue;
mod chromium;
mod compare;
mod dd;
mod earlier;
mod explain;
mod export;
mod forget;
mod gate;
mod hammer;
mod history;
mod machine;
mod measure;
mod merge;
mod paper;
mod plot;
mod predict;
mod report;
mod run;
mod runs;
mod serve;
mod sides;
mod strangers;
mod tag;
mod trend;
mod typical;
mod watch;

use crate::flags::{Cli, Command, StoreArgs};
use crate::message::name;
use crate::program::Program;
use anyhow::{Context, Result};
use groma_report::Style;
use groma_store::Store;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;

/// Does what was asked; the exit code.
///
/// # Errors
/// Usage errors, and output that cannot be written.
pub(crate) fn run(program: &Program, cli: Cli) -> Result<u8> {
    match cli.command {
        Command::Run(args) => run::run(program, &args),
        Command::Serve(args) => serve::serve(&args),
        Command::List(args) => catalogue::list(program, &args),
        Command::Explain(args) => catalogue::explain(program, &args),
        Command::Machine { record: Some(file), .. } => machine::record(&file),
        Command::Machine { json, no_gauge, all, record: None } => machine::machine(json, !no_gauge, all),
        Command::Show(args) => history::show(program, &args),
        Command::Runs(args) => runs::runs(program, &args),
        Command::Tag(args) => tag::tag(&args),
        Command::Forget(args) => forget::forget(&args),
        Command::Merge(args) => merge::merge(&args),
        Command::Export(args) => export::export(program, &args),
        Command::Ab(args) => ab::ab(program, &args),
        Command::Compare(args) => compare::compare(program, &args),
        Command::Gate(args) => gate::gate(program, &args),
        Command::Baseline(verb) => baseline::baseline(program, &verb),
        Command::Calibrate(args) => calibrate::calibrate(program, &args),
        Command::Trend(args) => trend::trend(program, &args),
        Command::Paper(args) => paper::paper(program, &args),
        Command::Predict(args) => predict::predict(program, &args),
        Command::Plot(args) => plot::plot(program, &args),
        Command::Report(args) => report::report(program, &args),
        Command::Watch(args) => watch::watch(&args),
        Command::Dd(args) => dd::dd(&args),
        Command::Hammer(args) => hammer::hammer(program, &args),
        Command::Completions { shell } => {
            let mut out = Vec::new();
            clap_complete::generate(shell, &mut program.completed(), name(), &mut out);
            print_own(&String::from_utf8_lossy(&out))?;
            Ok(0)
        }
        Command::Manual { verb } => {
            let mut groma = program.command();
            // Global arguments and usage lines are only filled in when the whole is built.
            groma.build();
            let page = match verb {
                None => groma,
                Some(verb) => {
                    let found = groma.find_subcommand(&verb).cloned();
                    found.with_context(|| format!("there is no verb '{verb}' ({} --help lists them)", name()))?
                }
            };
            let mut out = Vec::new();
            let title = page.get_display_name().unwrap_or(name()).to_owned();
            clap_mangen::Man::new(page).title(title).render(&mut out)?;
            print_own(&String::from_utf8_lossy(&out))?;
            Ok(0)
        }
    }
}

/// Writes to standard output what a view has made; nothing in it steers the terminal.
///
/// # Errors
/// Those of the write; a closed pipe ends the program quietly.
pub(crate) fn print(text: &str) -> Result<()> {
    print_own(&groma_report::for_terminal(text, style(false).colour))
}

/// Writes a text to standard output as it is; it must hold nothing from outside.
fn print_own(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// How text for people is to look on standard output.
pub(crate) fn style(all: bool) -> Style {
    let terminal = std::io::stdout().is_terminal();
    let no_colour = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
    // A locale that names another encoding than UTF-8; no locale at all, as in most containers,
    // counts as UTF-8.
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|v| std::env::var(v).ok().filter(|s| !s.is_empty()));
    let unicode = locale.is_none_or(|l| {
        let l = l.to_ascii_lowercase();
        l.contains("utf-8") || l.contains("utf8") || l == "c" || l == "posix"
    });
    Style { colour: terminal && !no_colour && !dumb, width: width(terminal), unicode, all, program: name() }
}

/// Columns of the terminal; of a pipe, `COLUMNS` or 100.
fn width(terminal: bool) -> usize {
    let asked = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok()).filter(|w| *w >= 40);
    let seen = if terminal { groma_harness::sys::io::terminal_columns() } else { None };
    asked.or(seen).unwrap_or(100)
}

/// The store's path: named, or the default one.
///
/// # Errors
/// When there is neither.
pub(crate) fn store_path(args: &StoreArgs) -> Result<PathBuf> {
    args.store
        .clone()
        .or_else(default_store)
        .context("there is no home directory to keep results in: name a store with --store FILE")
}

/// Opens a store that must exist.
///
/// # Errors
/// When it is not, or cannot be read.
pub(crate) fn existing_store(args: &StoreArgs) -> Result<Store> {
    let path = store_path(args)?;
    if !path.exists() {
        anyhow::bail!("{}: no store here yet: '{} run' makes one", path.display(), name());
    }
    Ok(Store::open(&path)?)
}

/// The store unless another one is named; `None` without a home directory.
fn default_store() -> Option<PathBuf> {
    Some(base_dir("XDG_DATA_HOME", ".local/share")?.join("groma").join("groma.db"))
}

/// The directory for the state of programs; `None` without a home directory.
pub(crate) fn state_dir() -> Option<PathBuf> {
    base_dir("XDG_STATE_HOME", ".local/state")
}

/// A directory of the XDG base directory specification: the variable's, or its default below the
/// home directory.
fn base_dir(variable: &str, default: &str) -> Option<PathBuf> {
    let absolute = |var: &str| std::env::var_os(var).map(PathBuf::from).filter(|p| p.is_absolute());
    absolute(variable).or_else(|| absolute("HOME").map(|home| home.join(default)))
}
