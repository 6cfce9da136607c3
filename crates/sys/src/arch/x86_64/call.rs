//! Calls of a function that only returns: see [`crate::arch::call`].
//!
//! # Safety
//!
//! Each block is a whole loop that declares every register that the ABI lets a callee change.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::call::define_calls;
use core::arch::{asm, naked_asm};

/// The function that is called.
#[unsafe(naked)]
extern "sysv64" fn leaf() {
    naked_asm!("ret")
}

macro_rules! turns {
    ($turns:ident, $calls:ident, [$($set_up:literal),*; $($clean_up:literal),*]) => {
        // SAFETY: calls a function that only returns; every register that the ABI lets a callee
        // change is declared; the stack is left as it was found.
        unsafe {
            asm!(
                ".p2align 6",
                "2:",
                ".rept {calls}",
                $($set_up,)*
                "call {leaf}",
                $($clean_up,)*
                ".endr",
                "sub r12, 1",
                "jnz 2b",
                calls = const $calls,
                leaf = sym leaf,
                inout("r12") $turns => _,
                clobber_abi("sysv64"),
            )
        }
    };
}

// The seventh argument is pushed below padding, so that the stack stays aligned to 16.
define_calls! {
    turns;
    calls0: [;];
    calls1: ["mov edi, 1";];
    calls2: ["mov edi, 1", "mov esi, 2";];
    calls3: ["mov edi, 1", "mov esi, 2", "mov edx, 3";];
    calls4: ["mov edi, 1", "mov esi, 2", "mov edx, 3", "mov ecx, 4";];
    calls5: ["mov edi, 1", "mov esi, 2", "mov edx, 3", "mov ecx, 4", "mov r8d, 5";];
    calls6: ["mov edi, 1", "mov esi, 2", "mov edx, 3", "mov ecx, 4", "mov r8d, 5", "mov r9d, 6";];
    calls7: [
        "sub rsp, 8", "mov edi, 1", "mov esi, 2", "mov edx, 3", "mov ecx, 4", "mov r8d, 5", "mov r9d, 6", "push 7";
        "add rsp, 16"
    ];
}
