//! Benchmarks as the harness sees them: a descriptor, and a function or why there is none.

use crate::Ctx;
use crate::model::Info;
use std::fmt;
use std::io;

/// A benchmark: the code that measures one thing, in one file.
#[derive(Clone, Copy, Debug)]
pub struct Benchmark {
    /// Its descriptor.
    pub info: Info,
    /// How to run it.
    pub run: Run,
}

/// How to run a benchmark on this platform.
#[derive(Clone, Copy, Debug)]
pub enum Run {
    /// Call this function.
    Here(fn(&mut Ctx) -> Outcome),
    /// It does not exist on this platform, for this reason.
    NotHere(&'static str),
}

/// What a benchmark's function returns.
pub type Outcome = Result<(), BenchError>;

/// Why a round ends without a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BenchError {
    /// This machine cannot do it.
    Unsupported(String),
    /// The system refused it.
    Denied(String),
    /// Any other failure.
    Failed(String),
}

impl BenchError {
    /// Converts an error of the operating system; `what` says what was tried.
    ///
    /// `EPERM` and `EACCES` become `Denied`. `ENOSYS` and `ENOMEM` become `Unsupported`, the latter
    /// with the tightest memory limit in its text. All others become `Failed`.
    pub fn from_io(what: &str, error: &io::Error) -> BenchError {
        let text = format!("{what}: {error}");
        match error.raw_os_error() {
            Some(libc_errno::EPERM | libc_errno::EACCES) => BenchError::Denied(text),
            Some(libc_errno::ENOSYS) => BenchError::Unsupported(text),
            Some(libc_errno::ENOMEM) => BenchError::Unsupported(match crate::sys::facts::memory_headroom() {
                Some(room) => format!("{text}; {} leaves {} B", room.limit, room.bytes),
                None => text,
            }),
            _ => BenchError::Failed(text),
        }
    }
}

/// The error numbers that [`BenchError::from_io`] distinguishes, the same on all architectures of
/// Linux.
mod libc_errno {
    pub(super) const EPERM: i32 = 1;
    pub(super) const ENOMEM: i32 = 12;
    pub(super) const EACCES: i32 = 13;
    pub(super) const ENOSYS: i32 = 38;
}

impl From<io::Error> for BenchError {
    fn from(error: io::Error) -> BenchError {
        BenchError::from_io("system call", &error)
    }
}

impl fmt::Display for BenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BenchError::Unsupported(why) | BenchError::Denied(why) | BenchError::Failed(why) => f.write_str(why),
        }
    }
}

/// Adds to an I/O error what was tried: `pipe().context("making a pipe")?`.
pub trait Context<T> {
    /// Formats the error as "`what`: reason".
    ///
    /// # Errors
    /// The same error, as a [`BenchError`].
    fn context(self, what: &str) -> Result<T, BenchError>;
}

impl<T> Context<T> for io::Result<T> {
    fn context(self, what: &str) -> Result<T, BenchError> {
        self.map_err(|e| BenchError::from_io(what, &e))
    }
}
