//! See [`crate::arch::call_through_barrier`].
//!
//! # Safety
//! The function leaves the stack as the ABI says; a naked function has no unwind information.
#![expect(unsafe_code, reason = "this is the assembly")]

use core::arch::naked_asm;

/// # Safety
/// As [`crate::arch::call_through_barrier`].
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn call(function: *const (), a: usize, b: usize, c: usize) -> i32 {
    naked_asm!(
        "stp x29, x30, [sp, #-16]!",
        "mov x29, sp",
        "mov x9, x0",
        "mov x0, x1",
        "mov x1, x2",
        "mov x2, x3",
        "blr x9",
        "ldp x29, x30, [sp], #16",
        "ret"
    )
}
