//! `read`, `write` and similar calls on borrowed descriptors, for timed loops: one libc call each,
//! no retry, no buffer.
//!
//! They use libc's wrappers, as programs do. Where the system call itself is the subject,
//! benchmarks use the raw calls of [`crate::arch`].
//!
//! # Safety
//! Each call passes a slice and its length; descriptors are borrowed, so they are open.
#![expect(unsafe_code, reason = "read and write through libc without std's retry and buffering")]

use crate::errno::checked;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

fn result(n: isize) -> io::Result<usize> {
    if n < 0 { Err(io::Error::last_os_error()) } else { Ok(n as usize) }
}

/// Reads once.
///
/// # Errors
/// Those of `read`.
#[inline]
pub fn read(fd: BorrowedFd<'_>, buf: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the buffer is valid for its length and exclusively borrowed.
    result(unsafe { libc::read(fd.as_raw_fd(), buf.as_mut_ptr().cast(), buf.len()) })
}

/// Writes once.
///
/// # Errors
/// Those of `write`.
#[inline]
pub fn write(fd: BorrowedFd<'_>, buf: &[u8]) -> io::Result<usize> {
    // SAFETY: the buffer is valid for its length.
    result(unsafe { libc::write(fd.as_raw_fd(), buf.as_ptr().cast(), buf.len()) })
}

/// Reads until the buffer is full.
///
/// # Errors
/// Those of `read`; `UnexpectedEof` when the peer closed.
#[inline]
pub fn read_full(fd: BorrowedFd<'_>, mut buf: &mut [u8]) -> io::Result<()> {
    while !buf.is_empty() {
        let n = read(fd, buf)?;
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        buf = &mut buf[n..];
    }
    Ok(())
}

/// Writes all of the buffer.
///
/// # Errors
/// Those of `write`.
#[inline]
pub fn write_full(fd: BorrowedFd<'_>, mut buf: &[u8]) -> io::Result<()> {
    while !buf.is_empty() {
        let n = write(fd, buf)?;
        buf = &buf[n..];
    }
    Ok(())
}

/// A pipe: (read end, write end), both closed on exec.
///
/// # Errors
/// Those of `pipe2`.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    // SAFETY: `fds` has room for two descriptors.
    checked(unsafe { libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) })?;
    // SAFETY: both descriptors are new and have no other owner.
    Ok(unsafe { (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])) })
}

/// Makes `target` (a descriptor number such as 1 for standard output) a duplicate of `fd`.
///
/// # Errors
/// Those of `dup2`.
pub fn redirect(fd: BorrowedFd<'_>, target: i32) -> io::Result<()> {
    // SAFETY: `fd` is open; `target` is one of the standard streams, and its old file is closed.
    checked(unsafe { libc::dup2(fd.as_raw_fd(), target) })
}

/// A duplicate of one of the standard streams, closed on exec.
///
/// # Errors
/// Those of `fcntl`.
pub fn duplicate(number: i32) -> io::Result<OwnedFd> {
    // SAFETY: F_DUPFD_CLOEXEC checks the number and returns a fresh descriptor.
    let fd = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) };
    checked(fd)?;
    // SAFETY: the descriptor is fresh and owned by nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The indices of those descriptors that become readable (or end) within the time; none when it
/// expires.
pub fn readable(fds: &[BorrowedFd<'_>], wait: std::time::Duration) -> Vec<usize> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut polled: Vec<PollFd<'_>> = fds.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
    let timeout = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) };
    if poll(&mut polled, Some(&timeout)).is_err() {
        // Interrupted: the caller checks its clock and calls again.
        return Vec::new();
    }
    polled.iter().enumerate().filter(|(_, p)| !p.revents().is_empty()).map(|(i, _)| i).collect()
}

/// Waits until `out` is writable, or one of the others is readable; returns whether it is `out`,
/// which has priority.
pub fn writable(out: BorrowedFd<'_>, others: &[BorrowedFd<'_>]) -> bool {
    use rustix::event::{PollFd, PollFlags, poll};
    let mut polled = vec![PollFd::new(&out, PollFlags::OUT)];
    polled.extend(others.iter().map(|fd| PollFd::new(fd, PollFlags::IN)));
    loop {
        match poll(&mut polled, None) {
            // An error is for the writer to see.
            Err(e) if e != rustix::io::Errno::INTR => return true,
            Ok(_) if !polled[0].revents().is_empty() => return true,
            Ok(_) if polled[1..].iter().any(|p| !p.revents().is_empty()) => return false,
            _ => {}
        }
    }
}

/// Columns of the terminal on standard output, if it is one.
pub fn terminal_columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}
