//! `read`, `write` and similar calls on borrowed descriptors, for timed loops: one libc call each,
//! no retry, no buffer.
//!
//! They use libc's wrappers, as programs do. Where the system call itself is the subject,
//! benchmarks use the raw calls of [`crate::arch`].
//!
//! # Safety
//! Each call passes a slice and its length; descriptors are borrowed, so they are open.
#![expect(unsafe_code, reason = "read and write through libc without std's retry and buffering")]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Turns a negative return value of a C library function or of `syscall` into the error in `errno`.
///
/// # Errors
/// `errno`.
#[inline]
pub(crate) fn checked(returned: impl Into<i64>) -> io::Result<()> {
    if returned.into() < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

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

/// Opens `/dev/null` for standard input, output and error where they are closed: the next file that
/// is opened would take their place.
///
/// # Errors
/// Those of `open`.
pub fn open_missing() -> io::Result<()> {
    loop {
        let null = File::options().read(true).write(true).open("/dev/null")?;
        if null.as_raw_fd() > 2 {
            return Ok(());
        }
        std::mem::forget(null);
    }
}

/// A duplicate of one of the standard streams, closed on exec.
///
/// # Errors
/// Those of `fcntl`.
pub fn duplicate(number: i32) -> io::Result<OwnedFd> {
    // SAFETY: F_DUPFD_CLOEXEC checks the number and returns a fresh descriptor.
    let fd = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) };
    checked(fd)?;
    // SAFETY: the descriptor is new and has no other owner.
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

/// Waits until `out` is writable, one of the others is readable, or a signal is handled; returns
/// whether it is `out`, which has priority.
pub fn writable(out: BorrowedFd<'_>, others: &[BorrowedFd<'_>]) -> bool {
    use rustix::event::{PollFd, PollFlags, poll};
    let mut polled = vec![PollFd::new(&out, PollFlags::OUT)];
    polled.extend(others.iter().map(|fd| PollFd::new(fd, PollFlags::IN)));
    loop {
        match poll(&mut polled, None) {
            // The write itself reports the error.
            Err(e) => return e != rustix::io::Errno::INTR,
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::time::{Duration, Instant};

    #[test]
    fn whole_buffers_are_transferred_and_an_early_end_is_an_error() {
        let (out, into) = pipe().expect("pipe");
        // More than the pipe holds: neither side gets by with one call.
        let sent: Vec<u8> = (0..1_000_000u32).map(|n| (n % 251) as u8).collect();
        let expected = sent.clone();
        let writer = std::thread::spawn(move || write_full(into.as_fd(), &sent));
        let mut seen = vec![0; expected.len()];
        read_full(out.as_fd(), &mut seen).expect("all of it");
        assert!(seen == expected);
        writer.join().expect("no panic").expect("all of it");
        assert_eq!(read_full(out.as_fd(), &mut [0]).map_err(|e| e.kind()), Err(io::ErrorKind::UnexpectedEof));
        assert!(read_full(out.as_fd(), &mut []).is_ok() && write(out.as_fd(), &[1]).is_err());
    }

    #[test]
    fn a_duplicate_refers_to_the_same_file_and_is_closed_on_exec() {
        use rustix::io::{FdFlags, fcntl_getfd};
        let (out, into) = pipe().expect("pipe");
        let copy = duplicate(into.as_raw_fd()).expect("F_DUPFD");
        assert!(copy.as_raw_fd() >= 3 && copy.as_raw_fd() != into.as_raw_fd());
        assert!([&out, &into, &copy].iter().all(|fd| fcntl_getfd(fd).expect("F_GETFD").contains(FdFlags::CLOEXEC)));
        drop(into);
        write_full(copy.as_fd(), b"x").expect("the same pipe");
        assert_eq!(read(out.as_fd(), &mut [0; 8]).expect("read"), 1);
        assert!(duplicate(-1).is_err());
    }

    /// In a child, because it replaces standard output.
    #[test]
    fn a_redirected_stream_is_inherited() {
        let (out, into) = pipe().expect("pipe");
        let exit = crate::testing::in_child(|| {
            let redirected = redirect(into.as_fd(), 1).is_ok();
            let program = crate::spawn::Command::new("/bin/sh", &["sh", "-c", "echo x"]);
            let ran = program.and_then(|program| program.fork_exec()).and_then(crate::process::wait);
            crate::testing::first_wrong(&[redirected, ran.is_ok_and(|exit| exit.success())])
        });
        drop(into);
        let mut seen = [0; 8];
        assert_eq!((exit, read(out.as_fd(), &mut seen).expect("read")), (Some(0), 2));
        assert_eq!(&seen[..2], b"x\n");
        assert!(redirect(out.as_fd(), -1).is_err());
    }

    #[test]
    fn readable_descriptors_are_returned_by_index() {
        let pipes = [(); 4].map(|()| pipe().expect("pipe"));
        let fds: Vec<BorrowedFd<'_>> = pipes.iter().map(|(out, _)| out.as_fd()).collect();
        let from = Instant::now();
        assert!(readable(&fds, Duration::from_millis(20)).is_empty());
        assert!(from.elapsed() >= Duration::from_millis(20), "it did not wait");
        write_full(pipes[1].1.as_fd(), b"x").expect("write");
        write_full(pipes[3].1.as_fd(), b"x").expect("write");
        // Returns at once, regardless of the time limit.
        assert_eq!(readable(&fds, Duration::from_secs(3600)), [1, 3]);
        let [(_, _), (_, _), (ended, held), (_, _)] = pipes;
        drop(held);
        assert_eq!(readable(&[ended.as_fd()], Duration::from_secs(3600)), [0], "an end is readable as well");
    }

    #[test]
    fn the_writable_descriptor_has_priority() {
        let ((out, into), (other, say)) = (pipe().expect("pipe"), pipe().expect("pipe"));
        write_full(say.as_fd(), b"x").expect("write");
        assert!(writable(into.as_fd(), &[other.as_fd()]), "both are ready");
        rustix::fs::fcntl_setfl(&into, rustix::fs::OFlags::NONBLOCK).expect("F_SETFL");
        while write(into.as_fd(), &[0; 4096]).is_ok() {}
        assert!(!writable(into.as_fd(), &[other.as_fd()]), "the pipe is full");
        drop(out);
        assert!(writable(into.as_fd(), &[]), "the write reports that there is no reader");
    }

    /// A terminal with 77 columns and 33 lines.
    #[test]
    fn a_terminal_is_as_wide_as_its_columns() {
        let exit = crate::testing::in_child(|| {
            let (mut control, mut terminal) = (-1, -1);
            let size = libc::winsize { ws_row: 33, ws_col: 77, ws_xpixel: 0, ws_ypixel: 0 };
            let none = std::ptr::null_mut();
            // SAFETY: room for two numbers, and a size that outlives the call.
            let made =
                unsafe { libc::openpty(&mut control, &mut terminal, none, none.cast(), (&raw const size).cast_mut()) };
            if made < 0 {
                return 255;
            }
            // SAFETY: the descriptor is open, and this process ends soon.
            let on = redirect(unsafe { BorrowedFd::borrow_raw(terminal) }, 1).is_ok();
            let seen = terminal_columns();
            let off = pipe().and_then(|(_, into)| redirect(into.as_fd(), 1)).is_ok();
            crate::testing::first_wrong(&[on, seen == Some(77), off, terminal_columns().is_none()])
        });
        match exit {
            Some(255) => println!("skipped: no terminals here"),
            exit => assert_eq!(exit, Some(0)),
        }
    }
}
