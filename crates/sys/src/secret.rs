//! Memory that only its process can reach (`memfd_secret`, Linux 5.14): the kernel takes its pages
//! out of its own map of all memory.
//!
//! # Safety
//! The descriptor that the call returns is new and has no other owner.
#![expect(unsafe_code, reason = "memfd_secret")]

use crate::arch::syscall1;
use rustix::fd::{FromRawFd, OwnedFd};
use std::fs::File;
use std::io;

/// The number of `memfd_secret`, the same on all architectures.
const MEMFD_SECRET: usize = 447;

/// A file in such memory, without pages yet. To be mapped shared; it counts as locked memory.
///
/// # Errors
/// `ENOSYS` where the kernel has none or was started with `secretmem.enable=0`; those of
/// `ftruncate`.
pub fn file(len: u64) -> io::Result<File> {
    // SAFETY: the call reads no memory; see the module's Safety section.
    let fd = unsafe {
        match syscall1(MEMFD_SECRET, libc::O_CLOEXEC as usize) {
            error if error < 0 => return Err(io::Error::from_raw_os_error(-error as i32)),
            fd => File::from(OwnedFd::from_raw_fd(fd as i32)),
        }
    };
    fd.set_len(len)?;
    Ok(fd)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::other_memory;
    use crate::pages::{Map, page_size};

    #[test]
    fn its_process_reads_it_and_the_kernel_does_not() {
        let file = match file(page_size() as u64) {
            Ok(file) => file,
            Err(e) => return println!("no secret memory here: {e}"),
        };
        let mut map = match Map::file(&file, page_size(), true) {
            Ok(map) => map,
            Err(e) => return println!("no locked memory is left: {e}"),
        };
        map[0] = 7;
        assert_eq!(map[0], 7);
        let mut seen = [0];
        assert!(other_memory::read(std::process::id() as i32, map.as_ptr() as usize, &mut seen) < 0);
        assert_eq!(seen, [0]);
    }
}
