//! A memory access that raises SIGSEGV, for tests that must see a worker crash.
//!
//! `raise(SIGSEGV)` does not work: the Rust runtime's handler returns from it, and the process
//! continues.
//!
//! # Safety
//! The page belongs to us and is not readable; the kernel responds with SIGSEGV, and no instruction
//! after the read runs.
#![expect(unsafe_code, reason = "reads a page without permission, on purpose")]

use std::io;

/// Reads an unreadable page: the kernel ends this process with SIGSEGV.
///
/// # Errors
/// Those of `mmap`, if no page is available; `Other` if the read went through, which no
/// kernel allows.
pub fn read_forbidden_page() -> io::Result<()> {
    let page = crate::pages::page_size();
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping at an address that the kernel chooses affects nothing that exists.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), page, libc::PROT_NONE, flags, -1, 0) };
    if at == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: see the module's Safety section; volatile, so that the read is made.
    let byte = unsafe { at.cast::<u8>().read_volatile() };
    Err(io::Error::other(format!("a page without permission could be read: {byte}")))
}

#[cfg(test)]
mod tests {
    use crate::{fork, process};

    #[test]
    fn a_process_that_reads_it_is_ended_by_the_kernel() {
        let child = fork::fork(|| {
            process::no_core_file();
            i32::from(super::read_forbidden_page().is_err())
        });
        let exit = child.expect("fork").wait().expect("wait");
        assert_eq!(exit.signal(), Some(libc::SIGSEGV), "{exit}");
    }
}
