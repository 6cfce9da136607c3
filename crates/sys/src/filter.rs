//! A process cut off from the kernel: the exact test of whether a call enters it.
//!
//! CPU time in the kernel cannot tell: most kernels count it by ticks of 4 ms, so that in a round of 20 ms one in twenty
//! loops of nothing but system calls seems to have spent none. A filter (seccomp) that answers every call with an error
//! number that no error has can tell for each single one.
//!
//! # Safety
//! The filter program is a valid array that outlives the call which copies it.
#![expect(unsafe_code, reason = "prctl to install a seccomp filter")]

use std::io;

/// What every filtered call fails with: the largest number that counts as an error, which no error has.
pub const PLANTED: i32 = 4095;

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const JUMP_IF: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

const fn step(code: u16, k: u32, jt: u8) -> libc::sock_filter {
    libc::sock_filter { code, jt, jf: 0, k }
}

/// The call's number is the first word of `struct seccomp_data`.
const NUMBER: libc::sock_filter = step(LOAD, 0, 0);
const ALLOW: libc::sock_filter = step(RETURN, libc::SECCOMP_RET_ALLOW, 0);

const fn fail_with(error: i32) -> libc::sock_filter {
    step(RETURN, libc::SECCOMP_RET_ERRNO | error as u32, 0)
}

/// From now on every system call of the calling thread but the exit fails with [`PLANTED`], for ever.
///
/// Only for a freshly forked child that has nothing to do but to try calls and to exit.
///
/// # Errors
/// Those of `prctl`: `EINVAL` where the kernel has no filters.
pub fn cut_off() -> io::Result<()> {
    install(&mut [
        NUMBER,
        step(JUMP_IF, libc::SYS_exit_group as u32, 2),
        step(JUMP_IF, libc::SYS_exit as u32, 1),
        fail_with(PLANTED),
        ALLOW,
    ])
}

/// From now on one system call of the calling thread fails with this error, for ever: what a sandbox does.
///
/// Only for a test's child, or a thread of its own.
///
/// # Errors
/// As [`cut_off`].
pub fn refuse(call: libc::c_long, error: i32) -> io::Result<()> {
    install(&mut [NUMBER, step(JUMP_IF, call as u32, 1), ALLOW, fail_with(error)])
}

fn install(steps: &mut [libc::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: integers by value, and a program that outlives the call.
    let done = unsafe {
        if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 {
            return Err(io::Error::last_os_error());
        }
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, std::ptr::from_ref(&program))
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
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
}
