//! A process without system calls: the exact test of whether a call enters the kernel.
//!
//! CPU time in the kernel cannot show it: most kernels account it by ticks of 4 ms, so in a round
//! of 20 ms one in twenty loops that only make system calls seems to have spent none. A filter
//! (seccomp) that fails every call with an unused error number shows each single one
//! (`docs/methods/operating-system.md#vdso`).
//!
//! # Safety
//! The filter program is a valid array that outlives the call which copies it.
#![expect(unsafe_code, reason = "prctl to install a seccomp filter")]

use crate::io::checked;
use std::io;

/// The error of every filtered call: the largest number that counts as an error, which no error
/// has.
pub const PLANTED: i32 = 4095;

/// The instructions of a filter: load a word of `struct seccomp_data`, compare it, return.
pub(crate) const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
pub(crate) const JUMP_IF: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
pub(crate) const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

/// One of them, with the instructions that are skipped if a comparison holds, and if it does not.
pub(crate) const fn step(code: u16, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter { code, jt, jf, k }
}

/// Makes every system call of the calling thread except exit fail with [`PLANTED`], permanently.
///
/// Only for a freshly forked child that only tries calls and exits.
///
/// # Errors
/// Those of `prctl`: `EINVAL` where the kernel has no filters.
pub fn cut_off() -> io::Result<()> {
    let allowed = [libc::SYS_exit_group, libc::SYS_exit];
    install(&allowed, libc::SECCOMP_RET_ALLOW, libc::SECCOMP_RET_ERRNO | PLANTED as u32)
}

/// Makes these system calls fail with this error number in the calling thread and everything that
/// it starts, permanently, as a container's profile does.
///
/// # Errors
/// As [`cut_off`].
pub fn deny(calls: &[libc::c_long], errno: i32) -> io::Result<()> {
    install(calls, libc::SECCOMP_RET_ERRNO | errno as u32, libc::SECCOMP_RET_ALLOW)
}

/// As [`deny`], with the signal SIGSYS instead of an error.
///
/// # Errors
/// As [`cut_off`].
pub fn trap(calls: &[libc::c_long]) -> io::Result<()> {
    install(calls, libc::SECCOMP_RET_TRAP, libc::SECCOMP_RET_ALLOW)
}

/// The calls relevant to benchmarks that a container's profile commonly denies: io_uring and perf.
pub const URING_AND_PERF: [libc::c_long; 4] =
    [libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register, libc::SYS_perf_event_open];

/// What a filter of a given length compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compares {
    /// The number of the call. The kernel runs such a filter once for each number when it is
    /// installed, and where the answer is to allow the call, never again (Linux 5.11).
    Number,
    /// An argument, so the filter runs for each call.
    Argument,
}

/// The most comparisons of [`pass_after`]: a filter has at most 4096 instructions.
pub const MAX_COMPARISONS: u64 = 4091;

/// Installs a filter that compares so many times in vain, and then allows every call but `getpgid`,
/// which fails with [`PLANTED`]; in the calling thread and everything that it starts, permanently.
///
/// # Errors
/// As [`cut_off`]; `EINVAL` beyond [`MAX_COMPARISONS`].
pub fn pass_after(comparisons: usize, compares: Compares) -> io::Result<()> {
    apply(&passing(comparisons, compares))
}

/// The instructions of [`pass_after`].
pub fn passing(comparisons: usize, compares: Compares) -> Vec<libc::sock_filter> {
    // Beyond all numbers of calls, and no argument of the calls that are measured.
    const NONE: u32 = 0x4000_0000;
    let at = match compares {
        Compares::Number => 0,
        // The second argument, of 64-bit words from the 16th byte on.
        Compares::Argument => 24,
    };
    let mut steps = vec![step(LOAD, at, 0, 0)];
    steps.extend((0..comparisons).map(|i| step(JUMP_IF, NONE + i as u32, 0, 0)));
    steps.extend([
        step(LOAD, 0, 0, 0),
        step(JUMP_IF, libc::SYS_getpgid as u32, 0, 1),
        step(RETURN, libc::SECCOMP_RET_ERRNO | PLANTED as u32, 0, 0),
        step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0),
    ]);
    steps
}

/// Installs a filter: one result for the listed calls, another for the rest.
fn install(calls: &[libc::c_long], listed: u32, others: u32) -> io::Result<()> {
    // The call's number is the first word of `struct seccomp_data`.
    let mut steps = vec![step(LOAD, 0, 0, 0)];
    for (i, call) in calls.iter().enumerate() {
        steps.push(step(JUMP_IF, *call as u32, (calls.len() - i) as u8, 0));
    }
    steps.extend([step(RETURN, others, 0, 0), step(RETURN, listed, 0, 0)]);
    apply(&steps)
}

/// Makes the kernel copy a filter and use it from now on.
pub(crate) fn apply(steps: &[libc::sock_filter]) -> io::Result<()> {
    let program = program(steps);
    no_new_privileges()?;
    // SAFETY: integers by value, and a program that outlives the call, which only reads it.
    unsafe { checked(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, std::ptr::from_ref(&program))) }
}

/// A filter as the kernel takes it; it must not outlive its instructions.
pub(crate) fn program(steps: &[libc::sock_filter]) -> libc::sock_fprog {
    libc::sock_fprog { len: steps.len() as u16, filter: steps.as_ptr().cast_mut() }
}

/// Renounces the privileges that executed programs could give. Until then, nobody but root may
/// install a filter.
pub(crate) fn no_new_privileges() -> io::Result<()> {
    // SAFETY: integers by value.
    unsafe { checked(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) }
}

/// Makes a call fail with [`PLANTED`] unless the lower half of this argument is `value`, in the
/// calling thread and permanently: shows what the kernel receives.
#[cfg(test)]
pub(crate) fn deny_unless(call: libc::c_long, argument: u32, value: u32) -> io::Result<()> {
    // In `struct seccomp_data` the arguments are 64-bit words from the 16th byte on.
    let half = if cfg!(target_endian = "big") { 4 } else { 0 };
    let steps = [
        step(LOAD, 0, 0, 0),
        step(JUMP_IF, call as u32, 0, 2),
        step(LOAD, 16 + 8 * argument + half, 0, 0),
        step(JUMP_IF, value, 0, 1),
        step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0),
        step(RETURN, libc::SECCOMP_RET_ERRNO | PLANTED as u32, 0, 0),
    ];
    apply(&steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_cut_off_gets_the_planted_error_and_can_exit() {
        let child = crate::fork::fork(|| match cut_off() {
            Err(_) => 2,
            Ok(()) => i32::from(crate::raw::getppid() != -(PLANTED as isize)),
        });
        let code = child.expect("fork").wait().expect("wait").code();
        // 2: a kernel without filters.
        assert!(matches!(code, Some(0 | 2)), "{code:?}");
        assert!(crate::raw::getppid() > 0, "the parent is not filtered");
    }

    #[test]
    fn deny_leaves_other_calls_alone() {
        let child = crate::fork::fork(|| match deny(&[libc::SYS_getuid, libc::SYS_getppid], libc::EPERM) {
            Err(_) => 2,
            Ok(()) => {
                let denied = crate::raw::getppid() == -(libc::EPERM as isize);
                i32::from(!(denied && crate::affinity::allowed().is_ok()))
            }
        });
        let code = child.expect("fork").wait().expect("wait").code();
        assert!(matches!(code, Some(0 | 2)), "{code:?}");
    }

    #[test]
    fn a_long_filter_denies_the_marked_call_only() {
        for (comparisons, compares) in [(0, Compares::Number), (1000, Compares::Argument), (4091, Compares::Number)] {
            let exit = crate::testing::in_child(|| {
                if pass_after(comparisons, compares).is_err() {
                    return 255;
                }
                let planted = crate::raw::getpgid(0) == -(PLANTED as isize);
                crate::testing::first_wrong(&[planted, crate::raw::getppid() > 0])
            });
            assert!(matches!(exit, Some(0 | 255)), "{comparisons}: {exit:?}");
        }
        let too_long = crate::testing::in_child(|| i32::from(pass_after(4092, Compares::Number).is_ok()));
        assert_eq!(too_long, Some(0));
    }

    /// The first of the listed calls, one in the middle and the last; not their neighbours.
    #[test]
    fn every_listed_call_is_denied_and_no_other() {
        let listed = [libc::SYS_getuid, libc::SYS_getgid, libc::SYS_geteuid, libc::SYS_getegid, libc::SYS_gettid];
        let exit = crate::testing::in_child(|| {
            if deny(&listed, libc::EXDEV).is_err() {
                return 255;
            }
            // SAFETY: none of these calls has an argument.
            let tried = |call: libc::c_long| unsafe { libc::syscall(call) } == -1
                && io::Error::last_os_error().raw_os_error() == Some(libc::EXDEV);
            let others = [libc::SYS_getpid, libc::SYS_getppid, libc::SYS_sched_yield];
            let checks = [listed.map(tried).to_vec(), others.map(|call| !tried(call)).to_vec()].concat();
            crate::testing::first_wrong(&checks)
        });
        assert!(matches!(exit, Some(0 | 255)), "call {exit:?}");
    }

    /// Not only the calls of some list.
    #[test]
    fn cut_off_denies_every_call() {
        let exit = crate::testing::in_child(|| {
            let Ok(()) = cut_off() else { return 255 };
            let calls = [libc::SYS_read, libc::SYS_getpid, libc::SYS_clock_gettime, libc::SYS_gettid, libc::SYS_openat];
            // SAFETY: no call with these numbers accesses memory: the arguments are zeroes, and it
            // is denied before they are looked at.
            let denied = |call: libc::c_long| unsafe { libc::syscall(call, 0, 0, 0) } == -1
                && io::Error::last_os_error().raw_os_error() == Some(PLANTED);
            crate::testing::first_wrong(&calls.map(denied))
        });
        assert!(matches!(exit, Some(0 | 255)), "call {exit:?}");
    }
}
