//! groma measures how long a computer's hardware and operating system take to do the things that programs are made of.
//!
//! This crate is glue: what was typed becomes a plan, the plan is worked off by worker processes, what they say goes to
//! the store and to the views. It never runs a benchmark in its own process and holds no unsafe code.
#![forbid(unsafe_code)]

mod commands;
mod context;
mod dd;
mod flags;
mod plan;
mod progress;
mod select;
mod shares;
mod supervise;
mod survey;
mod workdir;

use clap::Parser;
use std::io::IsTerminal;
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
        Err(e) => {
            // Help and version are no errors; everything else is one line and exit code 2, as clap has it.
            let code = if e.use_stderr() { USAGE } else { 0 };
            // Nobody is left to tell when even this cannot be printed.
            let _ = e.print();
            return ExitCode::from(code);
        }
    };
    match commands::run(cli) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            // Whoever closed the pipe has seen enough.
            if error.chain().any(is_broken_pipe) {
                return ExitCode::SUCCESS;
            }
            eprintln!("groma: {error:#}");
            ExitCode::from(USAGE)
        }
    }
}

fn is_broken_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
        || matches!(error.downcast_ref::<groma_store::StoreError>(), Some(groma_store::StoreError::BrokenPipe { .. }))
}

/// Whether standard error is a terminal that progress may be drawn on.
fn draws_progress() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
}
