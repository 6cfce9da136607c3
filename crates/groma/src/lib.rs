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
//! It then has every verb of `groma`: `run`, `list`, `explain`, `show`, `plot` and the others.
//! docs/writing-benchmarks.md explains a complete example.
//!
//! This crate is glue: arguments become a plan (`groma-runner`), worker processes measure it, and
//! rounds go to the store and to the views. It never runs a benchmark in its own process and holds
//! no unsafe code.
#![forbid(unsafe_code)]

// Both replace the macros of the standard library in all modules below, so that every message is
// made harmless to a terminal (`tell`), whatever another machine, a stored file or an argument has
// put into it.
macro_rules! eprintln {
    ($($text:tt)*) => { $crate::message::tell(format_args!("{}\n", format_args!($($text)*))) };
}
macro_rules! eprint {
    ($($text:tt)*) => { $crate::message::tell(format_args!($($text)*)) };
}
/// Prints a message with the program's name before it.
macro_rules! warn {
    ($($text:tt)*) => { $crate::message::tell(format_args!("{}: {}\n", $crate::message::name(), format_args!($($text)*))) };
}

mod commands;
mod counts;
mod dd;
mod entry;
mod flags;
#[doc(hidden)]
mod lmbench;
mod message;
mod out_file;
mod program;
mod progress;
mod reference;

pub use entry::main;
pub use groma_harness as harness;
pub use groma_harness::testing;
pub use program::Program;

/// What nearly every file of a benchmark needs: the harness's prelude and [`Program`].
pub mod prelude {
    pub use crate::Program;
    pub use groma_harness::prelude::*;
}
