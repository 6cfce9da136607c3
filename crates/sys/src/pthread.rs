//! Threads straight from libc, without what std adds to them (a shared result, a stack for the handler of overflows).
//!
//! # Safety
//! The thread runs a function of ours that touches no memory, and is joined before [`Maker::create_join`] returns.
#![expect(unsafe_code, reason = "pthread_create, pthread_join")]

use std::io;
use std::mem::MaybeUninit;

/// What threads are made with.
#[derive(Debug)]
pub struct Maker {
    // In a box: the attributes of some libcs point into themselves.
    attributes: Box<MaybeUninit<libc::pthread_attr_t>>,
}

fn checked(error: libc::c_int) -> io::Result<()> {
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

impl Maker {
    /// Threads with a stack of `stack` bytes.
    ///
    /// # Errors
    /// Those of `pthread_attr_setstacksize`.
    pub fn new(stack: usize) -> io::Result<Maker> {
        let mut attributes = Box::new(MaybeUninit::uninit());
        // SAFETY: initialised by the first call before anything else uses it.
        unsafe {
            checked(libc::pthread_attr_init(attributes.as_mut_ptr()))?;
            let mut maker = Maker { attributes };
            checked(libc::pthread_attr_setstacksize(maker.attributes.as_mut_ptr(), stack))?;
            Ok(maker)
        }
    }

    /// Makes a thread that adds 1 to `n`, and waits for what it says.
    ///
    /// # Errors
    /// Those of `pthread_create` (`EAGAIN` at a limit of tasks) and `pthread_join`.
    #[inline]
    pub fn create_join(&self, n: usize) -> io::Result<usize> {
        extern "C" fn body(n: *mut libc::c_void) -> *mut libc::c_void {
            std::ptr::without_provenance_mut(n.addr().wrapping_add(1))
        }
        let mut thread = MaybeUninit::uninit();
        let mut said = std::ptr::null_mut();
        // SAFETY: the attributes are initialised; the argument is a number; the thread is joined once.
        unsafe {
            let argument = std::ptr::without_provenance_mut(n);
            checked(libc::pthread_create(thread.as_mut_ptr(), self.attributes.as_ptr(), body, argument))?;
            checked(libc::pthread_join(thread.assume_init(), &mut said))?;
        }
        Ok(said.addr())
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
        assert_eq!(maker.create_join(41).expect("a thread"), 42);
    }

    #[test]
    fn a_stack_that_is_too_small_is_refused() {
        assert!(Maker::new(1).is_err());
    }
}
