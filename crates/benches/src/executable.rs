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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::testing::Place;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_program_is_written_whole_and_can_be_executed_by_its_owner() {
        let place = Place::new();
        let path = place.path().join("program");
        write(&path, b"#!/bin/true\n").expect("a directory");
        assert_eq!(std::fs::read(&path).expect("written"), b"#!/bin/true\n");
        assert_eq!(std::fs::metadata(&path).expect("written").permissions().mode() & 0o777, 0o700);
        // The child says why not.
        for (path, kind) in
            [(path, io::ErrorKind::AlreadyExists), (place.path().join("no/program"), io::ErrorKind::NotFound)]
        {
            let why = write(&path, b"").expect_err("impossible").to_string();
            let error = std::fs::OpenOptions::new().write(true).create_new(true).open(&path).expect_err("the same");
            assert!(error.kind() == kind && why.contains(&error.to_string()), "{why}");
        }
        place.clear();
    }
}
