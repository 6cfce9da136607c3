//! Calls through libc's wrappers where the wrapper is a part of what is measured: the other half of [`crate::raw`].
//!
//! One wrapper and nothing around it: the first `ret` after a system call can cost half as much as the call, and each
//! further one still some nanoseconds (dependencies.md section 8), so the standard library's own layer would show.
//!
//! # Safety
//! Out-parameters are owned and valid.
#![expect(unsafe_code, reason = "calls of libc without the standard library's layer")]

/// `getppid`.
#[inline(always)]
pub fn getppid() -> i32 {
    // SAFETY: no arguments.
    unsafe { libc::getppid() }
}

/// `clock_gettime` of `CLOCK_MONOTONIC`, which libc answers by the vDSO where there is one; 0 or -1.
#[inline(always)]
pub fn clock_gettime() -> i32 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is a valid timespec that lives across the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wrappers_answer() {
        assert_eq!(getppid(), crate::process::parent_id());
        assert_eq!(clock_gettime(), 0);
    }
}
