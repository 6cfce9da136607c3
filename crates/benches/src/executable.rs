//! Our own programs, embedded in this one and written to where they can be executed.

use groma_harness::prelude::*;
use groma_harness::sys::fork;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Writes a program. A child process writes it, so that no process forked in the meantime inherits
/// the descriptor: the kernel does not execute a file that is open for writing (`ETXTBSY`).
pub(crate) fn write(path: &Path, elf: &[u8]) -> Outcome {
    let write = || -> io::Result<()> {
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o700).open(path)?;
        io::Write::write_all(&mut file, elf)
    };
    let child = fork::fork(|| write().map_or_else(|e| e.raw_os_error().unwrap_or(255), |()| 0));
    let exit = child.and_then(fork::Child::wait).context("forking a child that writes a program")?;
    match exit.code() {
        Some(0) => Ok(()),
        Some(errno) => Err(BenchError::from_io("writing a program", &io::Error::from_raw_os_error(errno))),
        None => Err(BenchError::Failed(format!("the child that writes a program {exit}"))),
    }
}
