//! The pointer chase.
//!
//! # Safety
//!
//! Follows its caller's pointers.
#![expect(unsafe_code, reason = "follows the caller's pointers")]

use crate::arch::CHASE_UNROLL;

/// Follows `loads` pointers from `start` and returns the last: each load's address is the value of
/// the load before. `loads` is rounded down to a multiple of [`CHASE_UNROLL`].
///
/// # Safety
///
/// `start` points to a pointer that points to a pointer and so on, `loads` times, each aligned and
/// valid to read.
#[inline(never)]
pub unsafe fn chase(start: *const u8, loads: u64) -> *const u8 {
    let mut here = start;
    for _ in 0..loads - loads % CHASE_UNROLL {
        // SAFETY: the caller vouches for the chain.
        here = unsafe { here.cast::<*const u8>().read() };
    }
    here
}
