//! System calls by number, each a safe face over the architecture's bare instruction: for benchmarks whose subject is the
//! call itself.
//!
//! They return what the kernel returned: a negative error number on failure, which the benchmark checks once outside its
//! loop or sums up inside it. Calls through libc, as programs make them, are in [`crate::io`].
//!
//! # Safety
//! Every pointer passed comes from a reference that outlives the call, with its true length.
#![expect(unsafe_code, reason = "raw system calls")]

use crate::arch::{syscall0, syscall1, syscall2, syscall3, syscall4};
use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd};

const AT_FDCWD: usize = libc::AT_FDCWD as usize;

/// `getppid`: the id of the parent.
#[inline(always)]
pub fn getppid() -> isize {
    // SAFETY: no arguments.
    unsafe { syscall0(libc::SYS_getppid as usize) }
}

/// `read`.
#[inline(always)]
pub fn read(fd: BorrowedFd<'_>, buf: &mut [u8]) -> isize {
    // SAFETY: the buffer is exclusively borrowed and as long as it says.
    unsafe { syscall3(libc::SYS_read as usize, fd.as_raw_fd() as usize, buf.as_mut_ptr() as usize, buf.len()) }
}

/// `write`.
#[inline(always)]
pub fn write(fd: BorrowedFd<'_>, buf: &[u8]) -> isize {
    // SAFETY: the buffer is as long as it says.
    unsafe { syscall3(libc::SYS_write as usize, fd.as_raw_fd() as usize, buf.as_ptr() as usize, buf.len()) }
}

/// Room for the kernel's `struct stat`, whatever its layout here: no architecture's exceeds 256 bytes.
#[derive(Debug)]
#[repr(align(16))]
pub struct StatRoom([u8; 256]);

impl StatRoom {
    /// Empty room.
    pub const fn new() -> StatRoom {
        StatRoom([0; 256])
    }

    /// Whether the kernel has written something here.
    pub fn filled(&self) -> bool {
        self.0.iter().any(|b| *b != 0)
    }
}

impl Default for StatRoom {
    fn default() -> Self {
        StatRoom::new()
    }
}

/// The number behind [`stat`] here: `newfstatat`, which every Linux has (x86's older `stat` is the same path).
pub const STAT_NUMBER: i64 = libc::SYS_newfstatat;

/// `newfstatat` of a path, following links, as today's libc does `stat`.
#[inline(always)]
pub fn stat(path: &CStr, room: &mut StatRoom) -> isize {
    // SAFETY: the path is NUL-terminated; the room is larger than any struct stat.
    unsafe {
        syscall4(libc::SYS_newfstatat as usize, AT_FDCWD, path.as_ptr() as usize, room.0.as_mut_ptr() as usize, 0)
    }
}

/// `fstat` itself, not the `newfstatat` with an empty path that libc makes of it (half as much again).
#[inline(always)]
pub fn fstat(fd: BorrowedFd<'_>, room: &mut StatRoom) -> isize {
    // SAFETY: the room is larger than any struct stat.
    unsafe { syscall2(libc::SYS_fstat as usize, fd.as_raw_fd() as usize, room.0.as_mut_ptr() as usize) }
}

/// `openat` read-only, then `close` of what it gave; the sum of both answers less the descriptor is 0 when both worked.
#[inline(always)]
pub fn open_close(path: &CStr) -> isize {
    let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as usize;
    // SAFETY: the path is NUL-terminated; the descriptor that is closed was opened here.
    unsafe {
        let fd = syscall4(libc::SYS_openat as usize, AT_FDCWD, path.as_ptr() as usize, flags, 0);
        if fd < 0 { fd } else { syscall1(libc::SYS_close as usize, fd as usize) }
    }
}

/// `kill` with signal 0 to a process: permission checks and no signal.
#[inline(always)]
pub fn kill_nothing(pid: i32) -> isize {
    // SAFETY: integers by value; signal 0 sends nothing.
    unsafe { syscall2(libc::SYS_kill as usize, pid as usize, 0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn the_numbers_are_the_right_ones() {
        assert_eq!(getppid(), std::os::unix::process::parent_id() as isize);
        let zero = std::fs::File::open("/dev/zero").expect("/dev/zero");
        let mut byte = [7u8];
        assert_eq!(read(zero.as_fd(), &mut byte), 1);
        assert_eq!(byte, [0]);
        let null = std::fs::OpenOptions::new().write(true).open("/dev/null").expect("/dev/null");
        assert_eq!(write(null.as_fd(), &[1, 2, 3]), 3);
        let mut room = StatRoom::new();
        assert_eq!(stat(c"/dev/null", &mut room), 0);
        assert!(room.filled());
        let mut room = StatRoom::new();
        assert_eq!(fstat(null.as_fd(), &mut room), 0);
        assert!(room.filled());
        assert_eq!(open_close(c"/dev/null"), 0);
        assert_eq!(open_close(c"/nonexistent"), -libc::ENOENT as isize);
        assert_eq!(kill_nothing(crate::process::id()), 0);
    }
}
