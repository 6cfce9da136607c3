//! The ends of channels that are descriptors: streams of bytes, and messages that come whole or not at all.

use super::trip::End;
use groma_harness::prelude::*;
use groma_harness::sys::io::{read, read_full, write, write_full};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// The bytes of a message, all of them there before the measurement.
pub(crate) fn message(ctx: &Ctx) -> Result<Vec<u8>, BenchError> {
    match ctx.int("size") {
        0 => Err(BenchError::Unsupported("a message has a byte or more".to_owned())),
        size => Ok(vec![1; size as usize]),
    }
}

/// A message has so many bytes, or something is wrong.
#[inline]
pub(crate) fn all(seen: usize, expected: usize) -> io::Result<()> {
    if seen == expected {
        return Ok(());
    }
    Err(io::Error::other(format!("{seen} bytes of {expected}")))
}

/// An end of two streams, one for each direction: a message may come in pieces, and both sides go on until it is whole.
pub(crate) struct Stream {
    pub(crate) input: OwnedFd,
    pub(crate) output: OwnedFd,
    pub(crate) message: Vec<u8>,
}

impl Stream {
    /// The two ends that two one-way streams (read end, write end) have together.
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
    /// Whether the socket keeps messages whole.
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
