//! Reading the memory of another process (`process_vm_readv`), as debuggers and message-passing
//! libraries do.
//!
//! # Safety
//! The kernel writes into a slice that is borrowed exclusively, no more than its length; the other
//! side's addresses are checked by the kernel.
#![expect(unsafe_code, reason = "process_vm_readv")]

use crate::arch::syscall6;

/// Reads as many bytes as `into` has from this address of a process. Returns how many were read, or
/// a negative error number.
#[inline]
pub fn read(process: i32, address: usize, into: &mut [u8]) -> isize {
    let own = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let other = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: into.len() };
    let (own, other) = (&raw const own as usize, &raw const other as usize);
    // SAFETY: one part on each side; both structures live across the call.
    unsafe { syscall6(libc::SYS_process_vm_readv as usize, process as usize, own, 1, other, 1, 0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_another_process_is_read_and_of_none_is_not() {
        let text = *b"what a child has a copy of";
        let child = crate::fork::fork(|| {
            loop {
                std::thread::park();
            }
        });
        let child = child.expect("fork");
        let mut seen = [0; 26];
        match read(child.pid(), text.as_ptr() as usize, &mut seen) {
            26 => assert_eq!(seen, text),
            // A security module.
            error => assert_eq!(error, -(libc::EPERM as isize)),
        }
        assert!(read(child.pid(), 8, &mut seen) < 0);
    }
}
