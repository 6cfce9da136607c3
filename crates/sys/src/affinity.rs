//! Which CPUs a thread may run on.
//!
//! Masks are byte vectors of whatever length the kernel accepts. lmbench's 32-bit shift over 64-bit
//! words was wrong from CPU 31 up, and a fixed 1024-bit set is wrong on the largest machines
//! (`docs/methods/operating-system.md#placement-and-cpu-masks`).
//!
//! # Safety
//! Each call passes a buffer and its true length.
#![expect(unsafe_code, reason = "sched_getaffinity and sched_setaffinity with masks of any length")]

use crate::errno::checked;
use std::io;

/// Masks start at this many bytes (8192 CPUs) and double until the kernel accepts them.
const FIRST_MASK_BYTES: usize = 1024;

/// The CPUs that the calling thread may run on, in ascending order.
///
/// # Errors
/// Those of `sched_getaffinity`.
pub fn allowed() -> io::Result<Vec<u32>> {
    allowed_to(0)
}

/// The CPUs that another thread may run on, in ascending order; 0 is the calling one.
///
/// # Errors
/// Those of `sched_getaffinity`: `ESRCH` when there is no such thread.
pub fn allowed_to(thread: i32) -> io::Result<Vec<u32>> {
    let mut mask = vec![0u8; FIRST_MASK_BYTES];
    loop {
        // SAFETY: the buffer is as long as it says and writable; the kernel writes whole words into
        // it.
        let got = unsafe { libc::syscall(libc::SYS_sched_getaffinity, thread, mask.len(), mask.as_mut_ptr()) };
        if got >= 0 {
            let bits = |(i, byte): (usize, &u8)| {
                let byte = *byte;
                (0..8u32).filter(move |b| byte & (1 << b) != 0).map(move |b| i as u32 * 8 + b)
            };
            return Ok(mask[..got as usize].iter().enumerate().flat_map(bits).collect());
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EINVAL) || mask.len() > 1 << 20 {
            return Err(error);
        }
        mask = vec![0; mask.len() * 2];
    }
}

/// Restricts the calling thread to these CPUs.
///
/// # Errors
/// `InvalidInput` for an empty list; those of `sched_setaffinity` (a CPU that is offline or outside
/// the cpuset).
pub fn restrict(cpus: &[u32]) -> io::Result<()> {
    let Some(&last) = cpus.iter().max() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no CPU to run on"));
    };
    // Whole 8-byte words: the kernel reads unsigned longs.
    let mut mask = vec![0u8; (last as usize / 64 + 1) * 8];
    for &cpu in cpus {
        mask[cpu as usize / 8] |= 1 << (cpu % 8);
    }
    // SAFETY: the buffer is as long as it says; the kernel only reads it.
    checked(unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, mask.len(), mask.as_ptr()) })
}

/// Pins the calling thread to one CPU and checks that it runs there.
///
/// # Errors
/// Those of [`restrict`]; `Other` when the thread runs elsewhere afterwards.
pub fn pin(cpu: u32) -> io::Result<()> {
    restrict(&[cpu])?;
    let seen = allowed()?;
    if seen != [cpu] {
        return Err(io::Error::other(format!("pinned to CPU {cpu}, but may run on {seen:?}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_to_each_allowed_cpu_and_back() {
        let before = allowed().expect("affinity can be read");
        assert!(!before.is_empty());
        for &cpu in &before {
            pin(cpu).expect("an allowed CPU takes us");
            assert_eq!(crate::counters::current_cpu(), cpu);
        }
        restrict(&before).expect("the old set is still allowed");
        assert_eq!(allowed().expect("affinity can be read"), before);
        assert!(restrict(&[]).is_err());
        assert!(restrict(&[1_000_000]).is_err());
    }
}
