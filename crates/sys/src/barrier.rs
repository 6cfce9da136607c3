//! Barriers in all threads of this process at once (`membarrier`).
//!
//! # Safety
//! Integers by value.
#![expect(unsafe_code, reason = "membarrier")]

use crate::arch::syscall3;
use crate::pages::checked;
use std::io;

/// `MEMBARRIER_CMD_PRIVATE_EXPEDITED` and its registration.
const PRIVATE_EXPEDITED: usize = 1 << 3;
const REGISTER: usize = 1 << 4;

fn membarrier(command: usize) -> io::Result<()> {
    // SAFETY: see the module's Safety section.
    checked(unsafe { syscall3(libc::SYS_membarrier as usize, command, 0, 0) })
}

/// Announces that this process will make barriers.
///
/// # Errors
/// `ENOSYS` or `EINVAL` before Linux 4.14.
pub fn join() -> io::Result<()> {
    membarrier(REGISTER)
}

/// A barrier in every thread of this process that runs: those on other CPUs are interrupted.
///
/// # Errors
/// `EPERM` without [`join`].
#[inline]
pub fn interrupt() -> io::Result<()> {
    membarrier(PRIVATE_EXPEDITED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::in_child;

    #[test]
    fn a_barrier_takes_an_announcement() {
        let code = in_child(|| {
            let unannounced = interrupt().is_err();
            if join().is_err() {
                return 2;
            }
            i32::from(!(unannounced && interrupt().is_ok()))
        });
        match code {
            Some(2) => println!("no membarrier here"),
            code => assert_eq!(code, Some(0)),
        }
    }
}
