//! Operations that wait and are cancelled before what they wait for happens.

use super::{Ring, Submission};
use rustix::io_uring::IoringOp;
use std::io;
use std::os::fd::BorrowedFd;

const TIMEOUT: u8 = IoringOp::Timeout as u8;
const TIMEOUT_REMOVE: u8 = IoringOp::TimeoutRemove as u8;
const CANCEL: u8 = IoringOp::AsyncCancel as u8;

/// The data of the operation that waits, and of the one that cancels it.
const WAITING: u64 = 1;
const CANCELLING: u64 = 2;

/// What an operation waits for.
#[derive(Clone, Copy, Debug)]
pub enum Awaited<'fd> {
    /// A time-out of so many nanoseconds.
    Timeout(u64),
    /// Data in a descriptor.
    Readable(BorrowedFd<'fd>),
}

impl Ring {
    /// Starts an operation that waits and cancels it, by one `io_uring_enter`. Returns whether it
    /// was cancelled, and not over by itself.
    ///
    /// # Errors
    /// Those of `io_uring_enter`; `EINVAL` for an operation that the kernel does not have.
    #[inline]
    pub fn start_and_cancel(&mut self, awaited: Awaited<'_>) -> io::Result<bool> {
        // `struct __kernel_timespec`: 64 bits each on every system.
        let mut span = [0u64; 2];
        let cancel = match awaited {
            Awaited::Timeout(ns) => {
                span = [ns / 1_000_000_000, ns % 1_000_000_000];
                // The kernel has copied it when the call that submits it returns.
                let address = std::hint::black_box(&span).as_ptr() as u64;
                let timeout = Submission { opcode: TIMEOUT, fd: -1, address, length: 1, ..Submission::default() };
                self.push(Submission { data: WAITING, ..timeout });
                TIMEOUT_REMOVE
            }
            Awaited::Readable(fd) => {
                self.push_poll(fd, WAITING);
                CANCEL
            }
        };
        self.push(Submission { opcode: cancel, fd: -1, address: WAITING, data: CANCELLING, ..Submission::default() });
        let (mut cancelled, mut unknown) = (0, false);
        self.complete(2, |completion| match (completion.data, -completion.result) {
            (WAITING, libc::ECANCELED) | (CANCELLING, 0) => cancelled += 1,
            (CANCELLING, libc::EINVAL) => unknown = true,
            _ => {}
        })?;
        std::hint::black_box(&span);
        if unknown {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(cancelled == 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{pipe, write};
    use std::os::fd::AsFd;

    #[test]
    fn what_was_over_is_not_cancelled() {
        let Ok(mut ring) = Ring::new(4) else { return println!("no rings here") };
        let (out, into) = pipe().expect("a pipe");
        assert!(ring.start_and_cancel(Awaited::Timeout(3_000_000_000)).expect("a time-out"));
        assert!(ring.start_and_cancel(Awaited::Readable(out.as_fd())).expect("a poll"));
        write(into.as_fd(), b"1").expect("write");
        assert!(!ring.start_and_cancel(Awaited::Readable(out.as_fd())).expect("a poll"));
        assert_eq!(ring.pop(), None);
    }
}
