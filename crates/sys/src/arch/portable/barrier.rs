//! See [`crate::arch::call_through_barrier`]: a plain call, through which an exception passes
//! without a name.
//!
//! # Safety
//! The caller vouches for the function.
#![expect(unsafe_code, reason = "a function of C")]

/// Calls a function of C.
///
/// # Safety
/// As [`crate::arch::call_through_barrier`].
pub unsafe extern "C" fn call(function: *const (), a: usize, b: usize, c: usize) -> i32 {
    // SAFETY: the caller's duty.
    let function: extern "C" fn(usize, usize, usize) -> i32 = unsafe { std::mem::transmute(function) };
    function(a, b, c)
}
