//! A pipe to which each started program writes one byte: the evidence that they ran, and how many.
//!
//! The write end stays open across `execve`, under a number that the programs get as an argument.
//! Neither end blocks: a program that finds the pipe full fails instead of waiting for its parent,
//! which waits for it.

use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::{Errno, FdFlags};
use rustix::pipe::PipeFlags;
use std::io;

/// The pipe, and the number of bytes read from it.
#[derive(Debug)]
pub struct ExecCounter {
    out: OwnedFd,
    write_end: OwnedFd,
    count: u64,
}

impl ExecCounter {
    /// An empty pipe.
    ///
    /// # Errors
    /// Those of `pipe2` and `fcntl`.
    pub fn new() -> io::Result<ExecCounter> {
        let (out, write_end) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        rustix::io::fcntl_setfd(&write_end, FdFlags::empty())?;
        Ok(ExecCounter { out, write_end, count: 0 })
    }

    /// The number of the descriptor that started programs write their byte to.
    pub fn number(&self) -> i32 {
        self.write_end.as_raw_fd()
    }

    /// Reads what was written so far; returns all bytes since the start.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn bytes(&mut self) -> io::Result<u64> {
        let mut bytes = [0u8; 64];
        loop {
            match rustix::io::read(&self.out, &mut bytes) {
                Ok(n) => {
                    self.count += n as u64;
                    if n < bytes.len() {
                        return Ok(self.count);
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(self.count),
                Err(e) => return Err(e.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::wait;
    use crate::spawn::Command;

    #[test]
    fn counts_what_started_programs_wrote_and_never_waits() {
        let mut exec_counter = ExecCounter::new().expect("a pipe");
        assert_eq!(exec_counter.bytes().expect("read"), 0);
        let path = format!("/proc/self/fd/{}", exec_counter.number());
        let writer = Command::new("/bin/sh", &["sh", "-c", "echo > $0", &path]).expect("command");
        for n in 1..=3 {
            assert_eq!(wait(writer.posix_spawn().expect("spawn")).expect("wait").code(), Some(0));
            assert_eq!(exec_counter.bytes().expect("read"), n);
        }
    }

    #[test]
    fn counts_more_than_its_buffer_holds() {
        let mut exec_counter = ExecCounter::new().expect("a pipe");
        assert_eq!(rustix::io::write(&exec_counter.write_end, &[0; 200]), Ok(200));
        assert_eq!(exec_counter.bytes().expect("read"), 200);
        assert_eq!(rustix::io::write(&exec_counter.write_end, &[0; 64]), Ok(64));
        assert_eq!(exec_counter.bytes().expect("read"), 264);
    }

    /// Neither end blocks.
    #[test]
    fn only_the_write_end_is_inherited() {
        let exec_counter = ExecCounter::new().expect("a pipe");
        let handed = |fd: &OwnedFd| !rustix::io::fcntl_getfd(fd).expect("F_GETFD").contains(FdFlags::CLOEXEC);
        assert_eq!((handed(&exec_counter.out), handed(&exec_counter.write_end)), (false, true));
        for end in [&exec_counter.out, &exec_counter.write_end] {
            assert!(rustix::fs::fcntl_getfl(end).expect("F_GETFL").contains(rustix::fs::OFlags::NONBLOCK));
        }
    }
}
