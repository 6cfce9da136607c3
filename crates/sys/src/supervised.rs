//! System calls that another process answers: the kernel holds the caller, tells the supervisor,
//! and hands its answer back (`SECCOMP_RET_USER_NOTIF`, Linux 5.0). One call, `getpgid`, which
//! nothing else here makes. Filters that the kernel answers itself are in `filter.rs`.
//!
//! # Safety
//! The structures are the kernel's, of the sizes that the numbers of the calls state, and live
//! across them. The listener is a new descriptor with no other owner.
#![expect(unsafe_code, reason = "seccomp with a listener, and its ioctls")]

use crate::arch::syscall3;
use crate::filter::{JUMP_IF, LOAD, RETURN, no_new_privileges, program, step};
use crate::pages::checked;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// `struct seccomp_notif`
#[repr(C)]
#[derive(Default)]
struct Notice {
    id: u64,
    pid: u32,
    flags: u32,
    call: i32,
    arch: u32,
    instruction: u64,
    arguments: [u64; 6],
}

/// `struct seccomp_notif_resp`
#[repr(C)]
#[derive(Default)]
struct Answer {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

const _: () = assert!(size_of::<Notice>() == 80 && size_of::<Answer>() == 24);

/// Numbers of the ioctls, the same on all CPUs of this project: `_IOWR('!', 0, notice)`,
/// `_IOWR('!', 1, answer)` and `_IOW('!', 4, u64)`.
const RECEIVE: usize = 0xc050_2100;
const SEND: usize = 0xc018_2101;
const SET_FLAGS: usize = 0x4008_2104;
/// Both sides of a notice switch on one CPU (Linux 6.6).
const SYNC_WAKE_UP: usize = 1;

/// From now on `getpgid` of the calling thread waits for the answer of who reads this listener.
///
/// # Errors
/// Those of `seccomp`: `EINVAL` before Linux 5.0, `EBUSY` where the process has a listener already.
pub fn listen() -> io::Result<OwnedFd> {
    let steps = [
        step(LOAD, 0, 0, 0),
        step(JUMP_IF, libc::SYS_getpgid as u32, 0, 1),
        step(RETURN, libc::SECCOMP_RET_USER_NOTIF, 0, 0),
        step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0),
    ];
    let program = program(&steps);
    no_new_privileges()?;
    let (set, listener) = (libc::SECCOMP_SET_MODE_FILTER as usize, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER as usize);
    // SAFETY: integers by value, and a program that outlives the call.
    let fd = unsafe { syscall3(libc::SYS_seccomp as usize, set, listener, std::ptr::from_ref(&program) as usize) };
    checked(fd)?;
    // SAFETY: the kernel has just made it for this process.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// Asks the kernel to let both sides switch on one CPU instead of waking another.
///
/// # Errors
/// Those of `ioctl`: `EINVAL` before Linux 6.6.
pub fn switch_on_one_cpu(listener: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: integers by value.
    checked(unsafe { syscall3(libc::SYS_ioctl as usize, listener.as_raw_fd() as usize, SET_FLAGS, SYNC_WAKE_UP) })
}

/// Answers calls until one has the argument `last`, which is answered as well. The answer is the
/// argument plus one. Returns how many were answered.
///
/// # Errors
/// Those of `ioctl`: `ENOENT` when the caller died meanwhile.
pub fn answer(listener: BorrowedFd<'_>, last: u64) -> io::Result<u64> {
    let mut answered = 0;
    let listener = listener.as_raw_fd() as usize;
    loop {
        // Zeroes are demanded.
        let mut notice = Notice::default();
        // SAFETY: the kernel writes one notice.
        let got = unsafe { syscall3(libc::SYS_ioctl as usize, listener, RECEIVE, &raw mut notice as usize) };
        if got == -(libc::EINTR as isize) {
            continue;
        }
        checked(got)?;
        let value = notice.arguments[0].wrapping_add(1) as i64;
        let answer = Answer { id: notice.id, value, ..Answer::default() };
        // SAFETY: the kernel reads one answer.
        checked(unsafe { syscall3(libc::SYS_ioctl as usize, listener, SEND, &raw const answer as usize) })?;
        answered += 1;
        if notice.arguments[0] == last {
            return Ok(answered);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn calls_get_the_answers_of_the_supervisor() {
        let exit = crate::testing::in_child(|| {
            let listener = match listen() {
                Ok(listener) => listener,
                // A kernel without it, or a supervisor of this process.
                Err(_) => return 255,
            };
            let supervisor = crate::fork::fork(|| match answer(listener.as_fd(), 77) {
                Ok(answered) => answered as i32,
                Err(_) => 200,
            });
            let Ok(supervisor) = supervisor else { return 254 };
            let answers = [3, 40, 77].map(crate::raw::getpgid);
            let code = supervisor.wait().ok().and_then(|exit| exit.code());
            crate::testing::first_wrong(&[answers == [4, 41, 78], code == Some(3)])
        });
        assert!(matches!(exit, Some(0 | 255)), "{exit:?}");
    }
}
