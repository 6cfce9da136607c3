//! Page faults that a thread of the process resolves (`userfaultfd`): missing pages, pages that are
//! there and not mapped, and writes to protected ones.
//!
//! # Safety
//! The structures are the kernel's, of the sizes that the numbers of the calls state. Pages are put
//! only where a fault waits for one, in memory that is registered and mapped as long as the caller
//! lends it; the kernel copies whole pages from a slice of that length.
#![expect(unsafe_code, reason = "userfaultfd and its ioctls")]

use crate::arch::{syscall1, syscall3};
use crate::pages::{checked, page_size};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Faults from user mode only, which need no privilege (Linux 5.11).
const USER_MODE_ONLY: usize = 1;
const API_VERSION: u64 = 0xaa;
/// Numbers of the ioctls (`linux/userfaultfd.h`), the same on all CPUs of this project.
const API: usize = 0xc018_aa3f;
const REGISTER: usize = 0xc020_aa00;
const COPY: usize = 0xc028_aa03;
const ZERO: usize = 0xc020_aa04;
const WRITE_PROTECT: usize = 0xc018_aa06;
const CONTINUE: usize = 0xc020_aa07;
const MODE_MISSING: u64 = 1;
const MODE_PROTECTED: u64 = 2;
const MODE_MINOR: u64 = 4;
/// Minor faults of shared memory (Linux 5.14).
const FEATURE_MINOR_SHARED: u64 = 1 << 10;
const EVENT_FAULT: u8 = 0x12;

/// How faults are resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolve {
    /// A missing page becomes a copy of one.
    Copy,
    /// A missing page becomes one of zeroes.
    Zero,
    /// A protected page becomes writable.
    Unprotect,
    /// A page of shared memory that is there is mapped.
    Continue,
}

/// The faults of a stretch of memory.
#[derive(Debug)]
pub struct Faults {
    fd: OwnedFd,
    resolve: Resolve,
}

impl Faults {
    /// Those of this memory, whole pages of anonymous memory, until this is dropped. Of
    /// [`Resolve::Continue`], shared memory.
    ///
    /// # Errors
    /// Those of `userfaultfd`: `ENOSYS` without it, `EPERM` where it is forbidden; `EINVAL` where
    /// the kernel cannot resolve faults in this way.
    pub fn of(memory: &mut [u8], resolve: Resolve) -> io::Result<Faults> {
        // SAFETY: integers by value.
        let fd = unsafe { syscall1(libc::SYS_userfaultfd as usize, libc::O_CLOEXEC as usize | USER_MODE_ONLY) };
        checked(fd)?;
        // SAFETY: the kernel has just made it for this process.
        let faults = Faults { fd: unsafe { OwnedFd::from_raw_fd(fd as i32) }, resolve };
        // Version, features, and what the kernel can.
        let (mode, features) = match resolve {
            Resolve::Copy | Resolve::Zero => (MODE_MISSING, 0),
            Resolve::Unprotect => (MODE_PROTECTED, 0),
            Resolve::Continue => (MODE_MINOR, FEATURE_MINOR_SHARED),
        };
        faults.ioctl(API, &mut [API_VERSION, features, 0])?;
        faults.ioctl(REGISTER, &mut [memory.as_ptr() as u64, memory.len() as u64, mode, 0])?;
        Ok(faults)
    }

    /// Write-protects the memory again.
    ///
    /// # Errors
    /// Those of `ioctl`.
    pub fn protect(&self, memory: &mut [u8]) -> io::Result<()> {
        self.ioctl(WRITE_PROTECT, &mut [memory.as_ptr() as u64, memory.len() as u64, 1])
    }

    /// Waits for a fault, resolves it with this page, and lets its task go on. Returns the address
    /// of the page that was touched.
    ///
    /// # Errors
    /// Those of `read` and `ioctl`.
    ///
    /// # Panics
    /// When `page` is no page.
    pub fn resolve_one(&self, page: &[u8]) -> io::Result<usize> {
        assert_eq!(page.len(), page_size(), "a page");
        // `struct uffd_msg`
        let mut message = [0u64; 4];
        loop {
            let (fd, at) = (self.fd.as_raw_fd() as usize, message.as_mut_ptr() as usize);
            // SAFETY: a buffer of 32 bytes.
            match unsafe { syscall3(libc::SYS_read as usize, fd, at, size_of_val(&message)) } {
                32 => break,
                error if error == -(libc::EINTR as isize) => {}
                error @ ..0 => return Err(io::Error::from_raw_os_error(-error as i32)),
                _ => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
        if message[0].to_ne_bytes()[0] != EVENT_FAULT {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let size = page.len() as u64;
        let at = message[2] & !(size - 1);
        match self.resolve {
            Resolve::Copy => self.ioctl(COPY, &mut [at, page.as_ptr() as u64, size, 0, 0]),
            Resolve::Zero => self.ioctl(ZERO, &mut [at, size, 0, 0]),
            Resolve::Unprotect => self.ioctl(WRITE_PROTECT, &mut [at, size, 0]),
            Resolve::Continue => self.ioctl(CONTINUE, &mut [at, size, 0, 0]),
        }?;
        Ok(at as usize)
    }

    fn ioctl<const N: usize>(&self, number: usize, argument: &mut [u64; N]) -> io::Result<()> {
        const { assert!(N <= 5) };
        // SAFETY: the structures are words, as many as the number of the call says.
        checked(unsafe {
            syscall3(libc::SYS_ioctl as usize, self.fd.as_raw_fd() as usize, number, argument.as_mut_ptr() as usize)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::{Map, Policy};

    #[test]
    fn a_thread_resolves_faults() {
        let size = page_size();
        let all = [(Resolve::Copy, 7u8), (Resolve::Zero, 0), (Resolve::Unprotect, 3), (Resolve::Continue, 3)];
        for (resolve, expected) in all {
            let memory = match resolve {
                Resolve::Continue => Map::shared(4 * size),
                _ => Map::anonymous(4 * size, Policy::Base),
            };
            let mut memory = memory.expect("memory");
            if matches!(resolve, Resolve::Unprotect | Resolve::Continue) {
                memory.fill(3);
            }
            let faults = match Faults::of(&mut memory, resolve) {
                Ok(faults) => faults,
                Err(e) => return eprintln!("no userfaultfd here: {e}"),
            };
            match resolve {
                Resolve::Unprotect => faults.protect(&mut memory).expect("protected"),
                _ => memory.drop_pages().expect("not mapped"),
            }
            let page = vec![7u8; size];
            std::thread::scope(|scope| {
                let handler = scope.spawn(|| (0..4).map(|_| faults.resolve_one(&page)).collect::<io::Result<Vec<_>>>());
                for i in 0..4 {
                    assert_eq!(memory[i * size], expected, "{resolve:?}");
                    memory[i * size] = 9;
                }
                let seen = handler.join().expect("no panic").expect("four faults");
                assert_eq!(seen, [0, 1, 2, 3].map(|i| memory.as_ptr() as usize + i * size));
            });
        }
    }
}
