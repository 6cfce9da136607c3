//! Moves bytes between files, pipes and sockets without a user-space buffer; and the capacity of
//! pipes.
//!
//! # Safety
//! `vmsplice` gets the write end of a pipe and a slice, which the kernel only reads. It holds the
//! pages, not the address, so even an unmapped buffer stays valid for it. If a buffer changes
//! before it is read, a reader sees other bytes, never foreign memory.
#![expect(unsafe_code, reason = "vmsplice")]

use rustix::fs::MemfdFlags;
use rustix::pipe::{IoSliceRaw, SpliceFlags, fcntl_getpipe_size, fcntl_setpipe_size};
use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;

/// Bytes that a pipe holds at most.
///
/// # Errors
/// Those of `fcntl`.
pub fn pipe_holds(pipe: BorrowedFd<'_>) -> io::Result<u64> {
    Ok(fcntl_getpipe_size(pipe)? as u64)
}

/// Sets the capacity of a pipe, which the kernel rounds up.
///
/// # Errors
/// Those of `fcntl`: `EPERM` beyond [`largest_pipe`] or the user's share.
pub fn resize_pipe(pipe: BorrowedFd<'_>, bytes: u64) -> io::Result<()> {
    fcntl_setpipe_size(pipe, bytes as usize)?;
    Ok(())
}

/// The largest capacity without privilege, in bytes; `None` without `/proc`.
pub fn largest_pipe() -> Option<u64> {
    std::fs::read_to_string("/proc/sys/fs/pipe-max-size").ok()?.trim().parse().ok()
}

/// A file in memory without a name, gone with its last descriptor.
///
/// # Errors
/// Those of `memfd_create`.
pub fn memory_file() -> io::Result<File> {
    Ok(rustix::fs::memfd_create("groma", MemfdFlags::CLOEXEC)?.into())
}

/// Puts the pages of the whole buffer into the pipe without copying: the buffer must not change
/// until they are read.
///
/// # Errors
/// Those of `vmsplice`.
pub fn vmsplice_full(pipe: BorrowedFd<'_>, mut buffer: &[u8]) -> io::Result<()> {
    while !buffer.is_empty() {
        let part = [IoSliceRaw::from_slice(buffer)];
        // SAFETY: see the module's Safety section; no page is given away (SPLICE_F_GIFT).
        let n = unsafe { rustix::pipe::vmsplice(pipe, &part, SpliceFlags::empty()) }?;
        buffer = &buffer[check_moved(n)?..];
    }
    Ok(())
}

/// Sends `len` bytes of the file from `offset` on to a pipe or socket by `sendfile`.
///
/// # Errors
/// Those of `sendfile`; `UnexpectedEof` when the file is shorter.
#[inline]
pub fn sendfile_full(to: BorrowedFd<'_>, file: BorrowedFd<'_>, mut offset: u64, len: usize) -> io::Result<()> {
    let end = offset + len as u64;
    while offset < end {
        let left = (end - offset) as usize;
        check_moved(rustix::fs::sendfile(to, file, Some(&mut offset), left)?)?;
    }
    Ok(())
}

/// As [`sendfile_full`] by `splice`: one of the two ends must be a pipe. `offset` is `None` where
/// `from` has none.
///
/// # Errors
/// Those of `splice`; `UnexpectedEof` when there is no more.
#[inline]
pub fn splice_full(
    to: BorrowedFd<'_>,
    from: BorrowedFd<'_>,
    mut offset: Option<u64>,
    mut len: usize,
) -> io::Result<()> {
    while len > 0 {
        // The kernel counts the offset on.
        len -= check_moved(rustix::pipe::splice(from, offset.as_mut(), to, None, len, SpliceFlags::empty())?)?;
    }
    Ok(())
}

/// A result of 0 is end-of-file.
fn check_moved(n: usize) -> io::Result<usize> {
    if n == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(n) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{pipe, read_full};
    use std::io::Write;
    use std::os::fd::AsFd;

    #[test]
    fn a_pipe_has_the_requested_capacity() {
        let (out, _in) = pipe().expect("pipe");
        resize_pipe(out.as_fd(), 2 * crate::pages::page_size() as u64).expect("smaller is always allowed");
        assert_eq!(pipe_holds(out.as_fd()).expect("fcntl"), 2 * crate::pages::page_size() as u64);
        assert!(largest_pipe().is_none_or(|n| n >= crate::pages::page_size() as u64));
    }

    #[test]
    fn bytes_arrive_by_every_call() {
        let path = std::env::temp_dir().join(format!("groma-splice-{}", crate::process::id()));
        let mut file = std::fs::File::options().read(true).write(true).create_new(true).open(&path).expect("a file");
        std::fs::remove_file(&path).expect("its name gone");
        let bytes: Vec<u8> = (0..=255).cycle().take(10_000).collect();
        file.write_all(&bytes).expect("a file of 10,000 bytes");
        let (out, into) = pipe().expect("pipe");
        let (second_out, second_in) = pipe().expect("pipe");
        let mut seen = vec![0; 5000];

        vmsplice_full(into.as_fd(), &bytes[..5000]).expect("vmsplice");
        read_full(out.as_fd(), &mut seen).expect("read");
        assert_eq!(seen, bytes[..5000]);
        sendfile_full(into.as_fd(), file.as_fd(), 3000, 5000).expect("sendfile");
        read_full(out.as_fd(), &mut seen).expect("read");
        assert_eq!(seen, bytes[3000..8000]);
        splice_full(into.as_fd(), file.as_fd(), Some(5000), 5000).expect("splice");
        splice_full(second_in.as_fd(), out.as_fd(), None, 5000).expect("splice");
        read_full(second_out.as_fd(), &mut seen).expect("read");
        assert_eq!(seen, bytes[5000..]);

        let eof = Err(io::ErrorKind::UnexpectedEof);
        assert_eq!(sendfile_full(into.as_fd(), file.as_fd(), 9999, 2).map_err(|e| e.kind()), eof);
        assert_eq!(splice_full(into.as_fd(), file.as_fd(), Some(10_000), 1).map_err(|e| e.kind()), eof);
    }

    #[test]
    fn the_largest_pipe_is_what_an_ordinary_user_may_have() {
        let Some(most) = largest_pipe() else { return println!("skipped: no /proc") };
        let exit = crate::testing::in_child(|| {
            let Ok((out, _into)) = pipe() else { return 255 };
            if !crate::testing::drop_root() {
                return 255;
            }
            let tried = |bytes| resize_pipe(out.as_fd(), bytes).map_err(|e| e.raw_os_error());
            // The user's pipes together have a limit of their own.
            let (all, more) = (tried(most), tried(most + 1));
            if all == Err(Some(libc::EPERM)) {
                return 255;
            }
            let holds = pipe_holds(out.as_fd()).ok();
            crate::testing::first_wrong(&[all.is_ok(), holds == Some(most), more == Err(Some(libc::EPERM))])
        });
        assert!(matches!(exit, Some(0 | 255)), "{exit:?}");
        let mut file = memory_file().expect("a file in memory");
        file.write_all(b"x").expect("it can be written");
    }
}
