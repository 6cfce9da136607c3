//! A call that no exception passes: between the harness and functions of C and C++.
//!
//! Its frame has no unwind information. An exception that is thrown beyond it finds no handler, so
//! the runtime of C++ ends the process and says the type and what the exception holds. With unwind
//! information the search would reach the handlers of Rust, which catch a foreign exception only to
//! end the process without its name. It is no kernel: nothing here is measured.
//!
//! # Safety
//! The caller vouches for the function.
#![expect(unsafe_code, reason = "functions of C")]

use super::native;

/// Calls a function of the C ABI with three words, and returns its `int`; one with fewer arguments
/// ignores the rest.
///
/// # Safety
/// `function` is such a function, and its caller keeps what the words mean.
pub unsafe fn call_through_barrier(function: *const (), words: [usize; 3]) -> i32 {
    // SAFETY: the caller's duty.
    unsafe { native::barrier::call(function, words[0], words[1], words[2]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    extern "C" fn digits(a: usize, b: usize, c: usize) -> i32 {
        (a * 100 + b * 10 + c) as i32
    }

    #[test]
    fn arguments_and_result_pass() {
        // SAFETY: a function of three words.
        let seen = unsafe { call_through_barrier(digits as *const (), [1, 2, 3]) };
        // SAFETY: as above.
        let portable = unsafe { crate::arch::portable::barrier::call(digits as *const (), 1, 2, 3) };
        assert_eq!((seen, portable), (123, 123));
    }
}
