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
        self.read_into(&mut libc::timespec { tv_sec: 0, tv_nsec: 0 })
    }

    #[inline(always)]
    fn read_into(self, t: &mut libc::timespec) -> i32 {
        // SAFETY: `t` is a valid timespec that lives across the call.
        unsafe { libc::clock_gettime(self.0, t) }
    }

    /// `clock_gettime` by number; 0 or a negative error number.
    #[inline(always)]
    pub fn read_by_number(self) -> isize {
        self.read_by_number_into(&mut libc::timespec { tv_sec: 0, tv_nsec: 0 })
    }

    #[inline(always)]
    fn read_by_number_into(self, t: &mut libc::timespec) -> isize {
        let at = std::ptr::from_mut(t) as usize;
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

/// The CPU of this thread by `getcpu`, by number; or a negative error number.
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

    /// A coarse clock is behind the fine one that it is taken from.
    #[test]
    fn both_ways_read_the_clock_that_is_named() {
        let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let ns = |t: libc::timespec| i128::from(t.tv_sec) * 1_000_000_000 + i128::from(t.tv_nsec);
        // No clock that can be set.
        for name in ["monotonic", "monotonic_coarse", "monotonic_raw", "boottime", "process_cputime", "thread_cputime"]
        {
            let clock = ClockId::named(name).expect(name);
            for _ in 0..100 {
                let (mut before, mut between, mut after) = (zero, zero, zero);
                clock.read_into(&mut before);
                clock.read_by_number_into(&mut between);
                clock.read_into(&mut after);
                let [before, between, after] = [before, between, after].map(ns);
                assert!(before <= between && between <= after, "{name}: {before} {between} {after}");
            }
        }
    }

    /// The times of two clocks may differ too little to show a mix-up.
    #[test]
    fn a_clock_has_the_number_that_its_name_has_in_the_kernel() {
        for (number, name) in [
            (0, "realtime"),
            (1, "monotonic"),
            (2, "process_cputime"),
            (3, "thread_cputime"),
            (4, "monotonic_raw"),
            (5, "realtime_coarse"),
            (6, "monotonic_coarse"),
            (7, "boottime"),
            (11, "tai"),
        ] {
            assert_eq!(ClockId::named(name), Some(ClockId(number)), "{name}");
        }
    }

    /// On one CPU there is nothing to choose.
    #[test]
    fn the_cpu_is_the_one_that_the_thread_is_on() {
        let seen = std::thread::spawn(|| {
            let last = *crate::affinity::allowed().expect("affinity").last().expect("a CPU");
            crate::affinity::pin(last).expect("an allowed CPU");
            [i64::from(last), i64::from(cpu()), cpu_by_number() as i64, i64::from(crate::counters::current_cpu())]
        });
        let seen = seen.join().expect("no panic");
        assert_eq!(seen, [seen[0]; 4]);
    }
}
