//! System calls that a filter stands in the way of: seccomp may answer them with an error, or with
//! the signal SIGSYS, which ends a program that has no handler.
//!
//! [`answer_enosys`] turns the second into the first: the call returns `ENOSYS` like one that the
//! kernel does not know, and its caller falls back or names it in an error. The numbers are kept
//! for the record. Calls before `main`, of the dynamic linker and the runtime, are out of reach,
//! and so is a filter that kills.
//!
//! # Safety
//! The handler reads the siginfo and writes one register of the context that the kernel passes, and
//! otherwise uses atomics only.
#![expect(unsafe_code, reason = "a handler of SIGSYS")]

use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// `si_code` of a SIGSYS from a filter, as in the kernel's `asm-generic/siginfo.h`.
const SYS_SECCOMP: i32 = 1;

/// A bit for each number of a system call up to 511, the highest of today being 470.
static SEEN: [AtomicU64; 8] = [const { AtomicU64::new(0) }; 8];

/// The part of the kernel's siginfo that SIGSYS fills on 64-bit machines.
#[repr(C)]
struct SigsysInfo {
    signal: i32,
    errno: i32,
    code: i32,
    _padding: i32,
    call_address: usize,
    number: i32,
    arch: u32,
}

extern "C" fn on_sigsys(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes a siginfo of 128 bytes whose SIGSYS part has this layout.
    let info = unsafe { &*info.cast::<SigsysInfo>() };
    if info.code != SYS_SECCOMP {
        // Somebody sent it: the default action on return.
        crate::signals::restore_default(signal);
        return;
    }
    if let Some(word) = SEEN.get(info.number as usize / 64) {
        word.fetch_or(1 << (info.number as usize % 64), Relaxed);
    }
    let result = -i64::from(libc::ENOSYS);
    // SAFETY: the kernel passes the context that it restores on return, and nothing else uses it.
    let context = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext };
    #[cfg(target_arch = "x86_64")]
    {
        context.gregs[libc::REG_RAX as usize] = result;
    }
    #[cfg(target_arch = "aarch64")]
    {
        context.regs[0] = result as u64;
    }
    #[cfg(target_arch = "riscv64")]
    {
        context.__gregs[10] = result as u64;
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
    {
        let _ = (context, result);
        crate::signals::restore_default(signal);
    }
}

/// Lets system calls that a filter answers with SIGSYS return `ENOSYS` in this process and its
/// forks. Programs that it executes have the default again.
///
/// # Errors
/// Those of `sigaction`.
pub fn answer_enosys() -> io::Result<()> {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a zeroed sigaction is legal, and the handler is one of SA_SIGINFO.
    crate::io::checked(unsafe {
        (*action.as_mut_ptr()).sa_sigaction = on_sigsys as *const () as libc::sighandler_t;
        (*action.as_mut_ptr()).sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        libc::sigaction(libc::SIGSYS, action.as_ptr(), std::ptr::null_mut())
    })
}

/// The names of the calls of this process that a filter has answered with SIGSYS; numbers for those
/// that have no name here.
pub fn calls() -> Vec<String> {
    let number = |(word, bits): (usize, &AtomicU64)| {
        let bits = bits.load(Relaxed);
        (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| word as u64 * 64 + bit)
    };
    let name = |number| crate::trace::call_name(number).map_or_else(|| format!("number {number}"), str::to_owned);
    SEEN.iter().enumerate().flat_map(number).map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;

    /// A call that would end the process returns an error instead, and is remembered by its name; a
    /// SIGSYS that somebody sends still ends it.
    #[test]
    fn a_call_that_a_filter_traps_is_unknown() {
        let exit = crate::testing::in_child(|| {
            if answer_enosys().is_err() || crate::filter::trap(&[libc::SYS_sched_setaffinity]).is_err() {
                return 255;
            }
            let refused = crate::affinity::restrict(&[0]).map_err(|e| e.raw_os_error());
            let right = refused == Err(Some(libc::ENOSYS)) && calls() == ["sched_setaffinity"];
            i32::from(!right)
        });
        assert!(matches!(exit, Some(0 | 255)), "{exit:?}");
        let mut sent = std::process::Command::new("/bin/sh");
        sent.args(["-c", "kill -SYS $$"]);
        // SAFETY: sigaction is async-signal-safe.
        unsafe { sent.pre_exec(answer_enosys) };
        assert!(!sent.status().expect("a shell").success(), "a program that is executed has the default");
    }
}
