//! See [`crate::arch::call_through_barrier`].
//!
//! # Safety
//! The function leaves the stack as the ABI says; a naked function has no unwind information.
#![expect(unsafe_code, reason = "this is the assembly")]

use core::arch::naked_asm;

/// # Safety
/// As [`crate::arch::call_through_barrier`].
#[unsafe(naked)]
pub(crate) unsafe extern "sysv64" fn call(function: *const (), a: usize, b: usize, c: usize) -> i32 {
    naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "call rax",
        "pop rbp",
        "ret"
    )
}
