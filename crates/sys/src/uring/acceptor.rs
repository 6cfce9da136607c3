//! Connections accepted through a ring, each by an operation of its own, or all by one that goes on
//! (`IORING_ACCEPT_MULTISHOT`, Linux 5.19).
//!
//! # Safety
//! The kernel reads the listener's descriptor, which is borrowed for as long as the acceptor
//! exists; no address is asked for. A descriptor that a completion brings is new and has no other
//! owner.
#![expect(unsafe_code, reason = "descriptors that the kernel makes")]

use super::{Ring, Submission};
use crate::pages::checked;
use rustix::fd::{FromRawFd, OwnedFd};
use rustix::io_uring::{IoringAcceptFlags, IoringCqeFlags, IoringOp};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

const ACCEPT: u8 = IoringOp::Accept as u8;
const MULTISHOT: u16 = IoringAcceptFlags::MULTISHOT.bits();
/// Of a completion: its operation goes on.
const MORE: u32 = IoringCqeFlags::MORE.bits();

/// How many connections an operation accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accept {
    /// One.
    Single,
    /// All, until it fails.
    Multishot,
}

/// A ring that accepts the connections of one listener.
#[derive(Debug)]
pub struct Acceptor<'fd> {
    ring: Ring,
    listener: BorrowedFd<'fd>,
    accept: Accept,
}

impl<'fd> Acceptor<'fd> {
    /// An acceptor whose first operation is handed over by the first [`Acceptor::enter`].
    pub fn new(ring: Ring, listener: BorrowedFd<'fd>, accept: Accept) -> Acceptor<'fd> {
        let mut acceptor = Acceptor { ring, listener, accept };
        acceptor.ask();
        acceptor
    }

    #[inline]
    fn ask(&mut self) {
        let priority = if self.accept == Accept::Multishot { MULTISHOT } else { 0 };
        self.ring.push(Submission { opcode: ACCEPT, priority, fd: self.listener.as_raw_fd(), ..Submission::default() });
    }

    /// Hands the operation over, where there is a new one, and waits for `wait` connections: one
    /// `io_uring_enter`.
    ///
    /// # Errors
    /// Those of `io_uring_enter`.
    #[inline]
    pub fn enter(&mut self, wait: u32) -> io::Result<()> {
        checked(self.ring.enter(wait))
    }

    /// The next connection, if there is one. An operation that has ended is asked for again.
    ///
    /// # Errors
    /// Those of accepting; `EINVAL` before Linux 5.19 for [`Accept::Multishot`].
    #[inline]
    pub fn next_connection(&mut self) -> io::Result<Option<OwnedFd>> {
        let Some(completion) = self.ring.pop() else { return Ok(None) };
        if completion.result < 0 {
            return Err(io::Error::from_raw_os_error(-completion.result));
        }
        if completion.flags & MORE == 0 {
            self.ask();
        }
        // SAFETY: see the module's Safety section.
        Ok(Some(unsafe { OwnedFd::from_raw_fd(completion.result) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn every_connection_is_accepted_once() {
        for accept in [Accept::Single, Accept::Multishot] {
            let Ok(ring) = Ring::new(4) else { return println!("no rings here") };
            let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
            let to = listener.local_addr().expect("a port");
            let mut acceptor = Acceptor::new(ring, listener.as_fd(), accept);
            acceptor.enter(0).expect("enter");
            for _ in 0..3 {
                let near = TcpStream::connect(to).expect("connecting");
                let far = loop {
                    match acceptor.next_connection() {
                        Ok(Some(far)) => break TcpStream::from(far),
                        Ok(None) => acceptor.enter(1).expect("enter"),
                        Err(e) => return println!("no {accept:?} here: {e}"),
                    }
                };
                assert_eq!(far.peer_addr().expect("a peer"), near.local_addr().expect("a port"), "{accept:?}");
            }
            assert!(acceptor.next_connection().expect("none").is_none());
        }
    }
}
