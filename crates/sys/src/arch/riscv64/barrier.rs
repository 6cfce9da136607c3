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
        "addi sp, sp, -16",
        "sd ra, 8(sp)",
        "mv t0, a0",
        "mv a0, a1",
        "mv a1, a2",
        "mv a2, a3",
        "jalr t0",
        "ld ra, 8(sp)",
        "addi sp, sp, 16",
        "ret"
    )
}
