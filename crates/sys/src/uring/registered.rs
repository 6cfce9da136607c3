//! Reads of a file and into buffers that the kernel was told of in advance: it then need not look
//! up the descriptor and pin the pages for each operation.
//!
//! # Safety
//! The buffers are one mapping. It is unmapped after the rings, which hold its pages, are closed
//! (fields drop in order). They are lent out only while no operation is under way: a batch ends
//! with its last completion, however long that takes.
#![expect(unsafe_code, reason = "io_uring_register, buffers that the kernel fills")]

use super::{READ, Ring, Submission};
use crate::pages::{Map, Policy};
use rustix::io_uring::{IoringOp, IoringRegisterOp, IoringSqeFlags, io_uring_register};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

const READ_FIXED: u8 = IoringOp::ReadFixed as u8;
/// The descriptor of an operation is a place in the table of registered files.
const FIXED_FILE: u8 = IoringSqeFlags::FIXED_FILE.bits();

/// What the kernel was told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// The file (`IORING_REGISTER_FILES`).
    pub file: bool,
    /// The buffers (`IORING_REGISTER_BUFFERS`).
    pub buffers: bool,
}

/// A ring, a file and a buffer of several parts.
#[derive(Debug)]
pub struct Registered {
    ring: Ring,
    file: File,
    buffers: Map,
    part: usize,
    known: Known,
}

impl Registered {
    /// Registers what `known` says, with a buffer of `parts` parts of `part` bytes.
    ///
    /// # Errors
    /// Those of `mmap` and `io_uring_register`: `ENOMEM` where the limit of locked memory is lower
    /// than the buffers.
    ///
    /// # Panics
    /// When the ring has fewer entries than there are parts.
    pub fn new(ring: Ring, file: File, known: Known, parts: usize, part: usize) -> io::Result<Registered> {
        assert!(parts <= ring.entries() as usize, "more reads than the ring holds");
        let mut buffers = Map::anonymous(parts * part, Policy::Base)?;
        buffers.populate();
        if known.file {
            let number = file.as_raw_fd();
            // SAFETY: the kernel reads one descriptor, which is open.
            unsafe { io_uring_register(ring.as_fd(), IoringRegisterOp::RegisterFiles, (&raw const number).cast(), 1) }?;
        }
        if known.buffers {
            let one = libc::iovec { iov_base: buffers.as_mut_ptr().cast(), iov_len: parts * part };
            // SAFETY: the kernel reads one vector; its memory lives longer than the ring.
            unsafe { io_uring_register(ring.as_fd(), IoringRegisterOp::RegisterBuffers, (&raw const one).cast(), 1) }?;
        }
        Ok(Registered { ring, file, buffers, part, known })
    }

    /// Reads the start of the file into each part, all with one `io_uring_enter`; returns the
    /// number of parts filled.
    ///
    /// # Errors
    /// Those of `io_uring_enter`.
    #[inline]
    pub fn read(&mut self) -> io::Result<usize> {
        let (fd, flags) = if self.known.file { (0, FIXED_FILE) } else { (self.file.as_raw_fd(), 0) };
        let opcode = if self.known.buffers { READ_FIXED } else { READ };
        let parts = self.buffers.len() / self.part;
        let (mut address, length) = (self.buffers.as_mut_ptr() as u64, self.part as u32);
        for _ in 0..parts {
            // The buffer's number is 0, like everything behind the data.
            self.ring.push(Submission { opcode, flags, fd, address, length, ..Submission::default() });
            address += u64::from(length);
        }
        let mut filled = 0;
        self.ring.complete(parts as u32, |completion| filled += usize::from(completion.result == length as i32))?;
        Ok(filled)
    }

    /// The parts.
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.buffers.chunks_exact(self.part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Scratch;
    use std::io::Write;
    use std::os::unix::fs::FileExt;

    /// The kernel keeps the file that it was told of, and no other: what is behind the number of
    /// the descriptor afterwards is not read.
    #[test]
    fn each_way_reads_the_same() {
        let place = Scratch::new("registered");
        let path = place.0.join("file");
        for (file, buffers) in [(false, false), (true, false), (false, true), (true, true)] {
            let Ok(ring) = Ring::new(4) else { return println!("no rings here") };
            let mut open = File::options().read(true).write(true).create_new(true).open(&path).expect("a file");
            std::fs::remove_file(&path).expect("its name");
            open.write_all(&[7; 4096]).expect("a page");
            let other = open.try_clone().expect("a descriptor");
            let mut registered = match Registered::new(ring, open, Known { file, buffers }, 3, 4096) {
                Ok(registered) => registered,
                Err(e) => return println!("nothing can be registered here: {e}"),
            };
            assert_eq!(registered.read().expect("reads"), 3, "{file} {buffers}");
            assert!(registered.parts().all(|part| part == [7; 4096]), "{file} {buffers}");
            other.set_len(100).expect("a shorter file");
            assert_eq!(registered.read().expect("reads"), 0, "none of them is whole");
            other.write_all_at(&[9; 4096], 0).expect("a page");
            assert_eq!(registered.read().expect("reads"), 3);
            assert!(registered.parts().count() == 3 && registered.parts().all(|part| part == [9; 4096]));
        }
    }
}
