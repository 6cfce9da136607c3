//! Calls through libc's wrappers, where the wrapper is part of what is measured: the counterpart of
//! [`crate::raw`].
//!
//! One wrapper and nothing around it: the first `ret` after a system call can cost half as much as
//! the call, and each further one still some nanoseconds, so the standard library's own layer would
//! show (`docs/methods/operating-system.md#calls-by-number`).
//!
//! # Safety
//! Out-parameters are owned and valid.
#![expect(unsafe_code, reason = "calls of libc without the standard library's layer")]

use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};

/// `getppid`.
#[inline(always)]
pub fn getppid() -> i32 {
    // SAFETY: no arguments.
    unsafe { libc::getppid() }
}

/// `getpid`.
#[inline(always)]
pub fn getpid() -> i32 {
    // SAFETY: no arguments.
    unsafe { libc::getpid() }
}

/// What libc's `fstat` fills.
#[derive(Debug)]
pub struct StatRoom(MaybeUninit<libc::stat>);

impl StatRoom {
    /// An empty buffer.
    pub const fn new() -> StatRoom {
        StatRoom(MaybeUninit::zeroed())
    }

    /// Whether `fstat` has written here: no file has mode 0.
    pub fn filled(&self) -> bool {
        // SAFETY: zeroes, which are valid for its integers, or filled by `fstat`.
        unsafe { self.0.assume_init_ref() }.st_mode != 0
    }
}

impl Default for StatRoom {
    fn default() -> Self {
        StatRoom::new()
    }
}

/// `fstat`, which glibc has long implemented as `newfstatat` with an empty path; 0 or -1.
#[inline(always)]
pub fn fstat(fd: BorrowedFd<'_>, room: &mut StatRoom) -> i32 {
    // SAFETY: the buffer is a struct stat and exclusively borrowed.
    unsafe { libc::fstat(fd.as_raw_fd(), room.0.as_mut_ptr()) }
}

/// `write`; the bytes written, or -1.
#[inline(always)]
pub fn write(fd: BorrowedFd<'_>, bytes: &[u8]) -> isize {
    // SAFETY: the bytes are borrowed for the call.
    unsafe { libc::write(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn the_wrappers_answer() {
        assert_eq!(getppid(), crate::process::parent_id());
        assert_eq!(getpid(), crate::process::id());
        let mut room = StatRoom::new();
        assert!(!room.filled());
        let null = std::fs::File::open("/dev/null").expect("/dev/null");
        assert_eq!(fstat(null.as_fd(), &mut room), 0);
        assert!(room.filled());
        assert_eq!(write(null.as_fd(), &[0]), -1, "it is open for reading");
        let null = std::fs::File::options().write(true).open("/dev/null").expect("/dev/null");
        assert_eq!(write(null.as_fd(), &[0; 4]), 4);
    }
}
