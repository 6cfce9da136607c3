//! The command line of groma, for its own program and for programs of other benchmarks.
//!
//! A program of your own is a crate that depends on this one, describes its benchmarks and hands
//! them over:
//!
//! ```no_run
//! use groma::prelude::*;
//!
//! static EMPTY: Benchmark = Benchmark {
//!     info: Info { summary: "Doing nothing", iteration: "nothing", ..Info::new("my.empty") },
//!     run: Run::Here(|ctx| {
//!         ctx.measure(|iters| {
//!             (0..iters).for_each(|i| {
//!                 std::hint::black_box(i);
//!             });
//!             Ok(())
//!         })
//!     }),
//! };
//!
//! fn main() -> std::process::ExitCode {
//!     groma::main(&[&EMPTY])
//! }
//! ```
//!
//! It has every verb of `groma`: `run`, `list`, `explain`, `show`, `plot` and the others.
//! docs/writing-benchmarks.md explains a complete example.
//!
//! This crate is glue: arguments become a plan (`groma-runner`), worker processes measure it, and
//! rounds go to the store and to the views. It never runs a benchmark in its own process and holds
//! no unsafe code.
#![forbid(unsafe_code)]

// Both replace the macros of the standard library in all modules below: `tell` strips control
// characters, which another machine, a stored file or an argument may have put into a message.
macro_rules! eprintln {
    ($($text:tt)*) => { $crate::print::tell(format_args!("{}\n", format_args!($($text)*))) };
}
macro_rules! eprint {
    ($($text:tt)*) => { $crate::print::tell(format_args!($($text)*)) };
}
/// Prints a message after the program's name.
macro_rules! warn {
    ($($text:tt)*) => { $crate::print::tell(format_args!("{}: {}\n", $crate::print::name(), format_args!($($text)*))) };
}

mod args;
mod command_line;
mod directory;
mod earlier;
mod entry;
mod exit;
mod features;
mod here;
mod measure;
mod out_file;
mod parallel;
mod parse;
mod print;
mod program;
mod progress;
mod reference;
mod sides;
mod store;
mod verbs;
mod view;
mod wanted;

pub use entry::main;
pub use groma_harness as harness;
pub use groma_harness::testing;
pub use here::{Found, Here, measure_here};
pub use program::Program;

/// The parsers of what users type, for the fuzz targets only.
#[doc(hidden)]
pub mod fuzzing {
    pub use crate::verbs::dd::operands::Job;
    pub use crate::verbs::predict::counts;
    use crate::verbs::{Cli, Command, run};
    use clap::{CommandFactory, FromArgMatches};
    use groma_runner::RunRequest;

    /// The command line of groma.
    pub fn command() -> clap::Command {
        Cli::command()
    }

    /// Parses a command line; returns the request if the verb is `run`.
    ///
    /// # Errors
    /// Those of clap; help is one of them.
    pub fn parse<'w>(
        command: &mut clap::Command,
        words: impl Iterator<Item = &'w str>,
    ) -> Result<Option<RunRequest>, clap::Error> {
        let mut matches = command.try_get_matches_from_mut(words)?;
        let cli = Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(command))?;
        Ok(if let Command::Run(args) = cli.command { Some(run::request(&args)) } else { None })
    }
}

/// What nearly every file of a benchmark needs: the harness's prelude and [`Program`].
pub mod prelude {
    pub use crate::Program;
    pub use groma_harness::prelude::*;
}
