//! What a benchmark is to the harness: a description, and a function or the reason why it is not here.

use crate::Ctx;
use crate::model::Info;
use std::fmt;
use std::io;

/// One unit of code that measures one thing, in one file.
#[derive(Clone, Copy, Debug)]
pub struct Benchmark {
    /// What it is.
    pub info: Info,
    /// How it is run.
    pub run: Run,
}

/// How a benchmark is run on this platform.
#[derive(Clone, Copy, Debug)]
pub enum Run {
    /// By this function.
    Here(fn(&mut Ctx) -> Outcome),
    /// Not at all, because of this.
    NotHere(&'static str),
}

/// What a benchmark's function returns.
pub type Outcome = Result<(), Stop>;

/// Why a round ends without a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// This machine cannot do it.
    Unsupported(String),
    /// The system refused it.
    Denied(String),
    /// It went wrong.
    Failed(String),
}

impl Stop {
    /// An error of the system, told with what was tried.
    ///
    /// `EPERM` and `EACCES` become `Denied`, `ENOSYS` becomes `Unsupported`, and so does `ENOMEM`, told with the tightest limit
    /// of memory; everything else `Failed`.
    pub fn from_io(what: &str, error: &io::Error) -> Stop {
        let text = format!("{what}: {error}");
        match error.raw_os_error() {
            Some(libc_errno::EPERM | libc_errno::EACCES) => Stop::Denied(text),
            Some(libc_errno::ENOSYS) => Stop::Unsupported(text),
            Some(libc_errno::ENOMEM) => Stop::Unsupported(match crate::sys::facts::memory_room() {
                Some(room) => format!("{text}; {} leaves {} B", room.limit, room.bytes),
                None => text,
            }),
            _ => Stop::Failed(text),
        }
    }
}

/// The error numbers that change what an error means; the same on every architecture of Linux.
mod libc_errno {
    pub(super) const EPERM: i32 = 1;
    pub(super) const ENOMEM: i32 = 12;
    pub(super) const EACCES: i32 = 13;
    pub(super) const ENOSYS: i32 = 38;
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::from_io("system call", &error)
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Unsupported(why) | Stop::Denied(why) | Stop::Failed(why) => f.write_str(why),
        }
    }
}

/// Adds what was tried to an error of the system: `pipe().doing("making a pipe")?`.
pub trait Doing<T> {
    /// The error told as "`what`: reason".
    ///
    /// # Errors
    /// The same error, as a [`Stop`].
    fn doing(self, what: &str) -> Result<T, Stop>;
}

impl<T> Doing<T> for io::Result<T> {
    fn doing(self, what: &str) -> Result<T, Stop> {
        self.map_err(|e| Stop::from_io(what, &e))
    }
}
