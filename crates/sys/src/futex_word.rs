//! One word through which two tasks take turns: a futex for threads of one process, or for
//! processes.
//!
//! [`crate::shared`] has the futex of worker groups, which is always between processes and takes
//! part in no measurement. Here the call itself is the subject: by number, with the kernel's
//! result, and private where both tasks are threads
//! (`docs/methods/operating-system.md#round-trips`).
//!
//! # Safety
//! The word is a live, aligned 32-bit atomic for the duration of the call; no timeout and no second
//! word are passed.
#![expect(unsafe_code, reason = "futex by number")]

use std::sync::atomic::AtomicU32;

/// Who may wait on the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Threads of this process only: the kernel uses the address.
    Private,
    /// Whoever maps the memory: the kernel uses the page behind the address.
    Shared,
}

impl Scope {
    fn flag(self) -> libc::c_int {
        match self {
            Scope::Private => libc::FUTEX_PRIVATE_FLAG,
            Scope::Shared => 0,
        }
    }

    #[inline(always)]
    fn futex(self, word: &AtomicU32, operation: libc::c_int, value: u32) -> isize {
        // SAFETY: see the module's Safety section; a null fourth argument is "no time-out".
        unsafe {
            crate::arch::syscall4(
                libc::SYS_futex as usize,
                word.as_ptr() as usize,
                (operation | self.flag()) as usize,
                value as usize,
                0,
            )
        }
    }

    /// `FUTEX_WAKE` of one waiter; the number woken, or the error as a negative number.
    #[inline(always)]
    pub fn wake_one(self, word: &AtomicU32) -> isize {
        self.futex(word, libc::FUTEX_WAKE, 1)
    }

    /// `FUTEX_WAIT` while the word holds `value`; 0 when woken, otherwise the error as a negative
    /// number. Returns without sleeping ([`CHANGED`]) when the word holds something else.
    #[inline(always)]
    pub fn wait_while(self, word: &AtomicU32, value: u32) -> isize {
        self.futex(word, libc::FUTEX_WAIT, value)
    }
}

/// What `wait_while` returns when the word does not hold the value.
pub const CHANGED: isize = -(libc::EAGAIN as isize);

/// Whether the result of `wait_while` is expected: woken, nothing to wait for, or a signal.
#[inline(always)]
pub fn is_wait(returned: isize) -> bool {
    returned == 0 || returned == CHANGED || returned == -(libc::EINTR as isize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wakes_without_waiters_and_waits_on_a_changed_word_return() {
        for scope in [Scope::Private, Scope::Shared] {
            let word = AtomicU32::new(5);
            assert_eq!(scope.wake_one(&word), 0);
            assert_eq!(scope.wait_while(&word, 4), CHANGED);
        }
        assert!(is_wait(0) && is_wait(CHANGED) && !is_wait(-(libc::EFAULT as isize)));
    }

    /// A signal ends a wait; a wake of one scope does not reach waiters of the other.
    #[test]
    fn an_interruption_is_a_wait_and_no_other_error_is() {
        assert!(is_wait(-(libc::EINTR as isize)));
        for error in [libc::ETIMEDOUT, libc::EINVAL, libc::EPERM, libc::ENOSYS] {
            assert!(!is_wait(-(error as isize)), "{error}");
        }
        assert!(!is_wait(1));
        assert_eq!((Scope::Private.flag(), Scope::Shared.flag()), (libc::FUTEX_PRIVATE_FLAG, 0));
    }
}
