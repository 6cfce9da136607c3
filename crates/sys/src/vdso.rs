//! What a program can do without entering the kernel: through libc, which uses the vDSO where it
//! can, and the same by number, which does enter the kernel
//! (`docs/methods/operating-system.md#vdso`).
//!
//! # Safety
//! Out-parameters are owned and valid.
#![expect(unsafe_code, reason = "calls of libc without the standard library's layer, and raw system calls")]

use crate::arch::{syscall2, syscall3};

/// A clock of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockId(libc::clockid_t);

impl ClockId {
    /// The clock of that name: `monotonic` is `CLOCK_MONOTONIC`.
    pub fn named(name: &str) -> Option<ClockId> {
        Some(ClockId(match name {
            "monotonic" => libc::CLOCK_MONOTONIC,
            "monotonic_coarse" => libc::CLOCK_MONOTONIC_COARSE,
            "monotonic_raw" => libc::CLOCK_MONOTONIC_RAW,
            "realtime" => libc::CLOCK_REALTIME,
            "realtime_coarse" => libc::CLOCK_REALTIME_COARSE,
            "boottime" => libc::CLOCK_BOOTTIME,
            "tai" => libc::CLOCK_TAI,
            "process_cputime" => libc::CLOCK_PROCESS_CPUTIME_ID,
            "thread_cputime" => libc::CLOCK_THREAD_CPUTIME_ID,
            _ => return None,
        }))
    }

    /// `clock_gettime` through libc; 0 or -1.
    #[inline(always)]
    pub fn read(self) -> i32 {
        let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `t` is a valid timespec that lives across the call.
        unsafe { libc::clock_gettime(self.0, &mut t) }
    }

    /// `clock_gettime` by number; 0 or a negative error number.
    #[inline(always)]
    pub fn read_by_number(self) -> isize {
        let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let at = std::ptr::from_mut(&mut t) as usize;
        // SAFETY: `t` is a valid timespec that lives across the call.
        unsafe { syscall2(libc::SYS_clock_gettime as usize, self.0 as usize, at) }
    }
}

/// The CPU of this thread from libc; -1 where it does not know.
#[inline(always)]
pub fn cpu() -> i32 {
    // SAFETY: no arguments.
    unsafe { libc::sched_getcpu() }
}

/// The same by number: `getcpu`; or a negative error number.
#[inline(always)]
pub fn cpu_by_number() -> isize {
    let mut cpu = 0u32;
    let at = std::ptr::from_mut(&mut cpu) as usize;
    // SAFETY: the word lives across the call; nothing else is asked for.
    match unsafe { syscall3(libc::SYS_getcpu as usize, at, 0, 0) } {
        0 => cpu as isize,
        error => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_answer() {
        for name in ["monotonic", "monotonic_coarse", "realtime", "boottime", "process_cputime", "thread_cputime"] {
            let clock = ClockId::named(name).expect(name);
            assert_eq!((clock.read(), clock.read_by_number()), (0, 0), "{name}");
        }
        assert_eq!(ClockId::named("sundial"), None);
        assert_eq!(ClockId(4711).read_by_number(), -libc::EINVAL as isize);
        assert!(cpu() >= 0 && cpu_by_number() >= 0);
    }
}
