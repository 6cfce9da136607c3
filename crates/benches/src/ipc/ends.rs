//! Ends of channels that are descriptors: byte streams and whole messages.

use super::trip::End;
use groma_harness::prelude::*;
use groma_harness::sys::io::{read, read_full, write, write_full};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// The length of a message in bytes, to be held against the system's limits before a message is
/// allocated, which may be a gigabyte.
pub(crate) fn length(ctx: &Ctx) -> Result<usize, BenchError> {
    match ctx.int("size") {
        0 => Err(BenchError::Unsupported("a message has at least 1 byte".to_owned())),
        size => Ok(size as usize),
    }
}

/// The buffer of a message, allocated and written before the measurement.
pub(crate) fn message(ctx: &Ctx) -> Result<Vec<u8>, BenchError> {
    Ok(vec![1; length(ctx)?])
}

/// An error unless a message of the expected length was transferred whole.
#[inline]
pub(crate) fn all(seen: usize, expected: usize) -> io::Result<()> {
    if seen == expected {
        return Ok(());
    }
    Err(io::Error::other(format!("{seen} bytes of {expected}")))
}

/// An end of two streams, one for each direction. A message may arrive in pieces; both sides
/// continue until it is whole.
pub(crate) struct Stream {
    pub(crate) input: OwnedFd,
    pub(crate) output: OwnedFd,
    pub(crate) message: Vec<u8>,
}

impl Stream {
    /// The two ends of a channel made of two one-way streams, each given as (read end, write end).
    pub(crate) fn ends(
        (there_out, there_in): (OwnedFd, OwnedFd),
        (back_out, back_in): (OwnedFd, OwnedFd),
        message: Vec<u8>,
    ) -> (Stream, Stream) {
        let here = Stream { input: back_out, output: there_in, message: message.clone() };
        (here, Stream { input: there_out, output: back_in, message })
    }
}

impl End for Stream {
    fn message(&mut self) -> &mut [u8] {
        &mut self.message
    }

    #[inline]
    fn send(&mut self) -> io::Result<()> {
        write_full(self.output.as_fd(), &self.message)
    }

    #[inline]
    fn receive(&mut self) -> io::Result<()> {
        read_full(self.input.as_fd(), &mut self.message)
    }
}

/// An end of a socket.
pub(crate) struct Socket {
    pub(crate) fd: OwnedFd,
    /// Whether the socket preserves message boundaries.
    pub(crate) whole: bool,
    pub(crate) message: Vec<u8>,
}

impl End for Socket {
    fn message(&mut self) -> &mut [u8] {
        &mut self.message
    }

    #[inline]
    fn send(&mut self) -> io::Result<()> {
        if self.whole {
            return all(write(self.fd.as_fd(), &self.message)?, self.message.len());
        }
        write_full(self.fd.as_fd(), &self.message)
    }

    #[inline]
    fn receive(&mut self) -> io::Result<()> {
        if self.whole {
            return all(read(self.fd.as_fd(), &mut self.message)?, self.message.len());
        }
        read_full(self.fd.as_fd(), &mut self.message)
    }
}
