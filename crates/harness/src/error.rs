//! Why a round ends without a value, and how errors of the system become such reasons.

use std::any::Any;
use std::fmt;
use std::io;

/// What a benchmark's function returns.
pub type Outcome = Result<(), BenchError>;

/// Why a round ends without a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BenchError {
    /// This machine cannot do it.
    Unsupported(String),
    /// The system refused it.
    Denied(String),
    /// It went wrong.
    Failed(String),
}

impl BenchError {
    /// An error of the system, told with what was tried.
    ///
    /// `EPERM` and `EACCES` become `Denied`, `ENOSYS` becomes `Unsupported`, and so does `ENOMEM`,
    /// told with the tightest limit of memory; everything else `Failed`.
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

/// The error numbers that change what an error means; the same on every architecture of Linux.
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

/// Adds what was tried to an error of the system: `pipe().context("making a pipe")?`.
pub trait Context<T> {
    /// The error told as "`what`: reason".
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

/// What a panic said.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|s| (*s).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}
