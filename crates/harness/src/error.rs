//! Why a round ends without a value, and how errors of the system become such reasons.

use crate::sys::facts::task_limit;
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
    /// told with the tightest limit of memory, and `EADDRINUSE` and `EADDRNOTAVAIL` where there are
    /// few ports. `EAGAIN` is `Denied` in a process to which a limit refused a task, and told with
    /// that limit. Everything else is `Failed`.
    pub fn from_io(what: &str, error: &io::Error) -> BenchError {
        let text = format!("{what}: {error}");
        match error.raw_os_error() {
            Some(libc_errno::EPERM | libc_errno::EACCES) => BenchError::Denied(text),
            Some(libc_errno::ENOSYS) => BenchError::Unsupported(text),
            Some(libc_errno::ENOMEM) => BenchError::Unsupported(match crate::sys::facts::memory_headroom() {
                Some(room) => format!("{text}; {} leaves {} B", room.limit, room.bytes),
                None => text,
            }),
            // With the usual number of ports it is a fault of ours.
            Some(libc_errno::EADDRINUSE | libc_errno::EADDRNOTAVAIL) => match crate::ports::few_ports() {
                Some(few) => BenchError::Unsupported(format!("{text}; {few}")),
                None => BenchError::Failed(text),
            },
            Some(libc_errno::EAGAIN) if crate::sys::refused::any_task() => BenchError::no_task(what, error),
            _ => BenchError::Failed(text),
        }
    }

    /// The error for a process or thread that could not be created. A limit on tasks is a refusal
    /// by the system and not a failure of groma, and it is named.
    pub fn no_task(what: &str, error: &io::Error) -> BenchError {
        match error.raw_os_error() {
            Some(libc_errno::EAGAIN) => BenchError::Denied(format!("{what}: {error}; {}", task_limit())),
            _ => BenchError::from_io(what, error),
        }
    }
}

/// The error numbers that change what an error means; the same on every architecture of Linux.
mod libc_errno {
    pub(super) const EPERM: i32 = 1;
    pub(super) const EAGAIN: i32 = 11;
    pub(super) const ENOMEM: i32 = 12;
    pub(super) const EACCES: i32 = 13;
    pub(super) const ENOSYS: i32 = 38;
    pub(super) const EADDRINUSE: i32 = 98;
    pub(super) const EADDRNOTAVAIL: i32 = 99;
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

#[cfg(test)]
mod tests {
    use super::*;

    // The numbers of asm-generic/errno-base.h.
    const EPERM: i32 = 1;
    const ENOMEM: i32 = 12;
    const EACCES: i32 = 13;
    const ENOSYS: i32 = 38;
    /// ENOENT, ESRCH, EIO, EAGAIN, EBUSY, EINVAL, ENOSPC.
    const OTHERS: [i32; 7] = [2, 3, 5, 11, 16, 22, 28];

    #[test]
    fn errno_determines_the_state() {
        let told = |number| BenchError::from_io("asking", &io::Error::from_raw_os_error(number));
        let text = |error: &BenchError| error.to_string();
        for number in [EPERM, EACCES] {
            let stop = told(number);
            assert_eq!(stop, BenchError::Denied(text(&stop)));
        }
        for number in [ENOSYS, ENOMEM] {
            let stop = told(number);
            assert_eq!(stop, BenchError::Unsupported(text(&stop)));
        }
        for number in OTHERS {
            let stop = told(number);
            assert_eq!(stop, BenchError::Failed(text(&stop)));
            assert_eq!(text(&stop), format!("asking: {}", io::Error::from_raw_os_error(number)));
        }
        // Of a task, the same number is the refusal of a limit, which is named.
        let none = BenchError::no_task("forking", &io::Error::from_raw_os_error(11));
        assert!(matches!(&none, BenchError::Denied(why) if why.contains(&task_limit())), "{none:?}");
        // An error without a number is not a refusal by the kernel.
        let other = io::Error::new(io::ErrorKind::PermissionDenied, "so it says");
        assert_eq!(BenchError::from_io("asking", &other), BenchError::Failed("asking: so it says".to_owned()));
        // For lack of memory, the limit that applies is named as well.
        if crate::sys::facts::memory_headroom().is_some() {
            let why = text(&told(ENOMEM));
            assert!(why.contains(" leaves ") && why.ends_with(" B"), "{why}");
        }
    }

    #[test]
    fn an_error_names_the_failed_operation() {
        let refused: io::Result<()> = Err(io::Error::from_raw_os_error(EACCES));
        let stop = refused.context("making a pipe").expect_err("it was refused");
        assert!(matches!(stop, BenchError::Denied(_)), "{stop:?}");
        assert!(stop.to_string().starts_with("making a pipe: "), "{stop}");
        assert_eq!(io::Result::Ok(7).context("making a pipe"), Ok(7));
        let plain = BenchError::from(io::Error::from_raw_os_error(EPERM));
        assert!(matches!(plain, BenchError::Denied(_)), "{plain:?}");
    }

    #[test]
    fn a_panic_is_reported_whatever_its_payload() {
        assert_eq!(panic_text(&"a literal"), "a literal");
        assert_eq!(panic_text(&"a text".to_owned()), "a text");
        assert_eq!(panic_text(&7), "no message");
    }
}
