//! The peer of a round trip: sends every message back.

use groma_harness::sys::io::{read, read_full, write_full};
use std::io;
use std::os::fd::BorrowedFd;

/// Reads messages as long as `message` and writes each back, until the benchmark closes between two
/// messages.
///
/// # Errors
/// Those of `read` and `write`; `UnexpectedEof` when the connection closes within a message.
pub(crate) fn echo(input: BorrowedFd<'_>, output: BorrowedFd<'_>, message: &mut [u8]) -> io::Result<()> {
    while read(input, &mut message[..1])? != 0 {
        read_full(input, &mut message[1..])?;
        write_full(output, message)?;
    }
    Ok(())
}
