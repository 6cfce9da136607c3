//! Runs a program: as the worker or the session that it was started as, or as its arguments say.

use crate::message::set_name;
use crate::program::Program;
use groma_harness::{Benchmark, session, worker};
use groma_model::plain;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// Usage errors: bad options, unknown ids, files that cannot be used.
const USAGE: u8 = 2;

/// Runs a program of these benchmarks alone; what `main` returns.
///
/// The program is called as its file is. [`Program`] has more choices.
pub fn main(benchmarks: &[&'static Benchmark]) -> ExitCode {
    Program::new().benchmarks(benchmarks).run()
}

impl Program {
    /// Does what the arguments say, or measures one round where this process is a worker.
    ///
    /// The exit code is 0 for success; `--help` lists the others. A worker does not return.
    pub fn run(self) -> ExitCode {
        // A worker is chosen before anything else happens in the process: its smallness is part of
        // what it measures.
        let first = std::env::args_os().nth(1);
        if first.as_ref().is_some_and(|a| a == worker::ARGUMENT) {
            worker::main(self.all());
        }
        if first.as_ref().is_some_and(|a| a == session::ARGUMENT) {
            session::main(self.peers());
        }
        set_name(self.name);
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
