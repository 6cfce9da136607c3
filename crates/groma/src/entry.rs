//! Starts a program: as a worker, as a session of `serve`, or with the verb of its arguments.

use crate::command_line;
use crate::exit;
use crate::print::{is_broken_pipe, name, set_name};
use crate::program::Program;
use crate::verbs::lmbench;
use groma_harness::sys::facts::stack_limit;
use groma_harness::sys::{io as sysio, process, signals, sigsys};
use groma_harness::{Benchmark, session, worker};
use groma_model::plain;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write;
use std::process::ExitCode;

/// The smallest stack, in bytes: the command line alone overflows one of 128 KiB, of a debug build
/// a larger one.
const MIN_STACK: u64 = 1 << 20;

/// Runs a program of these benchmarks; `main` returns the result.
///
/// The program has the name of its file. [`Program`] has more options.
pub fn main(benchmarks: &[&'static Benchmark]) -> ExitCode {
    Program::new().benchmarks(benchmarks).run()
}

/// The rights of a group and of others.
const OTHERS: u32 = 0o077;

impl Program {
    /// Runs the verb of the arguments, or measures one round if this process is a worker.
    ///
    /// The exit code is 0 for success; `--help` lists the others. A worker does not return.
    pub fn run(self) -> ExitCode {
        ExitCode::from(self.exit_code())
    }

    /// As [`run`](Program::run), with these words instead of those of the process, for a `main`
    /// that is not Rust's. The first is the name of the program.
    pub fn run_words(self, words: Vec<OsString>) -> u8 {
        command_line::set(words);
        // As the runtime of Rust does before `main`.
        signals::ignore_broken_pipes();
        let _ = sysio::open_missing();
        self.exit_code()
    }

    fn exit_code(self) -> u8 {
        // Here and in workers, a call that a filter traps returns ENOSYS. Where `sigaction` is
        // refused as well, it ends the process.
        let _ = sigsys::answer_enosys();
        // A worker starts before anything else happens: its small process is part of what it
        // measures.
        let first = command_line::arguments().next();
        if first.as_ref().is_some_and(|a| a == worker::ARGUMENT) {
            worker::main(self.all());
        }
        if first.as_ref().is_some_and(|a| a == session::ARGUMENT) {
            session::main(self.peers());
        }
        // A parent that ignores SIGCHLD would make every wait for a worker fail, and a mask of the
        // owner's rights every file of ours useless to us.
        signals::keep_children();
        process::mask_rights(process::mask_rights(OTHERS) & OTHERS);
        let words = command_line::words();
        let lmbench = lmbench::called(&words).filter(|_| self.name == Some("groma"));
        set_name(lmbench.as_ref().map_or(self.name, |(program, _)| Some(program.name)));
        if let Some(bytes) = stack_limit().filter(|bytes| *bytes < MIN_STACK) {
            let least = MIN_STACK >> 10;
            warn!("the stack is limited to {} KiB, and {least} KiB are needed: ulimit -s {least}", bytes >> 10);
            return exit::USAGE;
        }
        // Without it a limit on files ends the program in the middle of a run.
        let _ = signals::survive_file_limit();
        if let Some(id) = self.duplicate() {
            warn!("two benchmarks of this program are called {id}");
            return exit::USAGE;
        }
        if let Some((program, words)) = lmbench {
            return lmbench::start(&self, program, words);
        }
        if words.len() < 2 && self.with_groma {
            print_first(&self);
            return exit::USAGE;
        }
        let cli = match self.parse(words) {
            Ok(cli) => cli,
            Err(error) => return refuse(&self, error),
        };
        match cli.command.run(&self) {
            Ok(code) => code,
            Err(error) => {
                // The reader of the pipe has read enough.
                if is_broken_pipe(&error) {
                    return 0;
                }
                // On one line, even if a name or an answer contains newlines.
                warn!("{}", plain(&format!("{error:#}")));
                exit::USAGE
            }
        }
    }
}

/// What the program's name alone prints: what to do first. The help is three screens.
const FIRST: [(&str, &str); 6] = [
    ("run", "survey this machine: two pages, in a minute"),
    ("run --profile quick", "the most common questions, in ten seconds"),
    ("explain ipc.pipe_rtt", "what a line means, and what can go wrong"),
    ("compare", "the latest run and the one before it"),
    ("report -o report.html", "everything of a run, for a browser"),
    ("--help", "all verbs; --help after a verb, its options"),
];

/// Prints what to do first.
fn print_first(program: &Program) {
    let name = name();
    let command = program.command();
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut text = format!("{about}.\n\n");
    for (words, what) in FIRST {
        let _ = writeln!(text, "  {:<30}{what}", format!("{name} {words}"));
    }
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Prints an error of the command line, or the help; returns the exit code.
fn refuse(program: &Program, error: clap::Error) -> u8 {
    let args = command_line::words();
    if error.kind() == clap::error::ErrorKind::InvalidUtf8 {
        warn!("{}", not_text(program, &args));
        return exit::USAGE;
    }
    // The error quotes what was typed amid colours. Parse again without control characters, so that
    // it quotes none.
    let typed = args.iter().map(|arg| plain(&arg.to_string_lossy()).into_owned());
    let error = program.parse(typed).err().filter(|e| e.kind() == error.kind()).unwrap_or(error);
    // Help and version are not errors. If they cannot be printed, neither can an error.
    if !error.use_stderr() {
        let _ = error.print();
        return 0;
    }
    let colour = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
    let text = if colour { error.render().ansi().to_string() } else { error.render().to_string() };
    let _ = std::io::stderr().write_all(groma_report::for_terminal(&text, colour).as_bytes());
    exit::USAGE
}

/// The message that names the argument that must be UTF-8 and is not. File names may be any bytes.
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
