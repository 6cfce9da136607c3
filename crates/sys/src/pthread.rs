//! Threads directly from libc, without what std adds (a shared result, a stack for the overflow
//! handler).
//!
//! # Safety
//! The thread runs a function of ours that only accesses its errand, which is lent to it
//! exclusively until it has been joined, before [`Maker::create_join`] returns.
#![expect(unsafe_code, reason = "pthread_create, pthread_join, sysconf")]

use crate::clock::{Clock, Monotonic};
use std::io;
use std::mem::MaybeUninit;

/// Attributes of the threads.
#[derive(Debug)]
pub struct Maker {
    // Boxed, because the attributes of some libcs contain pointers to themselves.
    attributes: Box<MaybeUninit<libc::pthread_attr_t>>,
}

fn checked(error: libc::c_int) -> io::Result<()> {
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

/// Bytes of the smallest stack that libc allows: 16 KiB on x86-64, 128 KiB on aarch64 with glibc.
pub fn least_stack() -> usize {
    // SAFETY: a number by value.
    let least = unsafe { libc::sysconf(libc::_SC_THREAD_STACK_MIN) };
    usize::try_from(least).unwrap_or(0).max(libc::PTHREAD_STACK_MIN)
}

impl Maker {
    /// Threads with a stack of `stack` bytes, or the minimum that libc allows ([`least_stack`]).
    ///
    /// # Errors
    /// Those of `pthread_attr_setstacksize`.
    pub fn new(stack: usize) -> io::Result<Maker> {
        let stack = stack.max(least_stack());
        let mut attributes = Box::new(MaybeUninit::uninit());
        // SAFETY: initialised by the first call before anything else uses it.
        unsafe {
            checked(libc::pthread_attr_init(attributes.as_mut_ptr()))?;
            let mut maker = Maker { attributes };
            checked(libc::pthread_attr_setstacksize(maker.attributes.as_mut_ptr(), stack))?;
            Ok(maker)
        }
    }

    /// Creates a thread that returns `number` plus one, and joins it. Returns its result and, if
    /// `stamp`, when it began to run.
    ///
    /// # Errors
    /// Those of `pthread_create` (`EAGAIN` at a task limit) and `pthread_join`.
    #[inline]
    pub fn create_join(&self, number: usize, stamp: bool) -> io::Result<(usize, u64)> {
        struct Errand {
            number: usize,
            stamp: bool,
            at_ns: u64,
        }
        extern "C" fn body(errand: *mut libc::c_void) -> *mut libc::c_void {
            // SAFETY: the pointer is that of the errand below, which nothing else accesses until
            // this thread is joined.
            let errand = unsafe { &mut *errand.cast::<Errand>() };
            if errand.stamp {
                errand.at_ns = Monotonic.now_ns();
            }
            errand.number += 1;
            std::ptr::null_mut()
        }
        let mut errand = Errand { number, stamp, at_ns: 0 };
        let mut thread = MaybeUninit::uninit();
        let argument = (&raw mut errand).cast();
        // SAFETY: the attributes are initialised; the errand outlives the thread, which is joined
        // once.
        unsafe {
            checked(libc::pthread_create(thread.as_mut_ptr(), self.attributes.as_ptr(), body, argument))?;
            checked(libc::pthread_join(thread.assume_init(), std::ptr::null_mut()))?;
            // Read through the pointer that the thread wrote through.
            let errand = &*argument.cast::<Errand>();
            Ok((errand.number, errand.at_ns))
        }
    }
}

impl Drop for Maker {
    fn drop(&mut self) {
        // SAFETY: initialised in `new`, destroyed once.
        unsafe { libc::pthread_attr_destroy(self.attributes.as_mut_ptr()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_answers() {
        let maker = Maker::new(64 << 10).expect("attributes");
        assert_eq!(maker.create_join(41, false).expect("a thread"), (42, 0));
        let before = Monotonic.now_ns();
        let (answer, at_ns) = maker.create_join(42, true).expect("a thread");
        assert!(answer == 43 && before < at_ns && at_ns < Monotonic.now_ns());
    }

    #[test]
    fn threads_have_the_requested_stack() {
        for bytes in [1 << 20, 3 << 20] {
            let (maker, mut seen) = (Maker::new(bytes).expect("attributes"), 0);
            // SAFETY: initialised attributes and a place for the answer.
            let asked = unsafe { libc::pthread_attr_getstacksize(maker.attributes.as_ptr(), &mut seen) };
            assert_eq!((asked, seen), (0, bytes));
        }
    }

    #[test]
    fn a_stack_that_is_too_small_becomes_the_smallest() {
        assert!(least_stack() >= libc::PTHREAD_STACK_MIN);
        // libc itself refuses one byte.
        assert!(Maker::new(1).is_ok());
    }
}
