//! groma measures how long a computer's hardware and operating system take to do the things that programs are made of.
//!
//! This crate is glue: what was typed becomes a plan, the plan is worked off by worker processes, what they say goes to
//! the store and to the views. It never runs a benchmark in its own process and holds no unsafe code.
#![forbid(unsafe_code)]

// Both stand in for the macros of the standard library in all modules below, so that no message
// reaches the terminal with what another machine, a stored file or an argument has put into it
// (`tell`), and nobody has to think of it.
macro_rules! eprintln {
    ($($text:tt)*) => { $crate::tell(format_args!("{}\n", format_args!($($text)*))) };
}
macro_rules! eprint {
    ($($text:tt)*) => { $crate::tell(format_args!($($text)*)) };
}

mod commands;
mod context;
mod dd;
mod discreet;
mod flags;
mod plan;
mod progress;
mod select;
mod shares;
mod supervise;
mod survey;
mod workdir;

use clap::Parser;
use groma_model::{plain, plain_lines};
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

/// Usage errors: bad options, unknown ids, files that cannot be used.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    // A worker is chosen before anything else happens in the process: its smallness is part of what it measures.
    if std::env::args_os().nth(1).is_some_and(|a| a == groma_harness::worker::ARGUMENT) {
        groma_harness::worker::main(&groma_benches::all());
    }
    if std::env::args_os().nth(1).is_some_and(|a| a == groma_harness::session::ARGUMENT) {
        groma_harness::session::main(&groma_benches::services());
    }
    let cli = match flags::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return ExitCode::from(refuse(error)),
    };
    match commands::run(cli) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            // Whoever closed the pipe has seen enough.
            if error.chain().any(is_broken_pipe) {
                return ExitCode::SUCCESS;
            }
            // One line, also where a name or an answer holds several.
            eprintln!("groma: {}", plain(&format!("{error:#}")));
            ExitCode::from(USAGE)
        }
    }
}

/// Says what is wrong with the command line, or prints the help that was asked for; the exit code.
fn refuse(error: clap::Error) -> u8 {
    let args: Vec<OsString> = std::env::args_os().collect();
    if error.kind() == clap::error::ErrorKind::InvalidUtf8 {
        eprintln!("groma: {}", not_text(&args));
        return USAGE;
    }
    // The error quotes what was typed, amid its own colours: made plain before it is parsed, it is quoted plain.
    let typed = args.iter().map(|arg| plain(&arg.to_string_lossy()).into_owned());
    let error = flags::Cli::try_parse_from(typed).err().filter(|e| e.kind() == error.kind()).unwrap_or(error);
    // Help and version are no errors; everything else has exit code 2. Nobody is left to tell when
    // it cannot be printed.
    if !error.use_stderr() {
        let _ = error.print();
        return 0;
    }
    let colour = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
    let text = if colour { error.render().ansi().to_string() } else { error.render().to_string() };
    let _ = std::io::stderr().write_all(groma_report::for_terminal(&text, colour).as_bytes());
    USAGE
}

/// Which argument is not text although it has to be: names of files may be any bytes, everything else is UTF-8.
fn not_text(args: &[OsString]) -> String {
    let lossy = |arg: &OsString| OsString::from(arg.to_string_lossy().into_owned());
    let is_refused = |i: usize| {
        let alone = args.iter().enumerate().map(|(j, arg)| if i == j { arg.clone() } else { lossy(arg) });
        flags::Cli::try_parse_from(alone).is_err_and(|e| e.kind() == clap::error::ErrorKind::InvalidUtf8)
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

/// Writes a message to standard error, in plain characters. Where nobody listens any more, there is nobody to tell.
fn tell(message: std::fmt::Arguments<'_>) {
    let _ = std::io::stderr().lock().write_all(plain_lines(&message.to_string()).as_bytes());
}

fn is_broken_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
        || matches!(error.downcast_ref::<groma_store::StoreError>(), Some(groma_store::StoreError::BrokenPipe { .. }))
}

/// Whether standard error is a terminal that progress may be drawn on.
fn draws_progress() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
}
