//! Calls of a function that does nothing with its arguments: see [`crate::arch::call`].
//!
//! # Safety
//!
//! Each block is a whole loop that declares every register that the ABI lets a callee change.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::call::define_calls;
use core::arch::{asm, naked_asm};

/// The optimised callee.
#[unsafe(naked)]
extern "sysv64" fn leaf() {
    naked_asm!("ret")
}

macro_rules! turns {
    ($turns:ident, $calls:ident, [$($set_up:literal),*; $($clean_up:literal),*], $callee:ident) => {
        // SAFETY: calls a function that leaves the stack as it was; every register that the ABI
        // lets a callee change is declared; the stack is left as it was found.
        unsafe {
            asm!(
                ".p2align 6",
                "2:",
                ".rept {calls}",
                $($set_up,)*
                "call {callee}",
                $($clean_up,)*
                ".endr",
                "sub r12, 1",
                "jnz 2b",
                calls = const $calls,
                callee = sym $callee,
                inout("r12") $turns => _,
                clobber_abi("sysv64"),
            )
        }
    };
}

/// The callee of GCC and Clang without optimisation: its stores are in the red zone.
macro_rules! frame {
    ([$($store:literal),*]) => {
        #[unsafe(naked)]
        extern "sysv64" fn frame() {
            naked_asm!("push rbp", "mov rbp, rsp", $($store,)* "nop", "pop rbp", "ret")
        }
    };
}

// The seventh argument is pushed below padding, so that the stack stays aligned to 16; the callee
// leaves it there.
define_calls! {
    turns, frame;
    calls0: [;] [];
    calls1: ["mov edi, 1";] ["mov [rbp - 4], edi"];
    calls2: ["mov edi, 1", "mov esi, 2";] ["mov [rbp - 4], edi", "mov [rbp - 8], esi"];
    calls3:
        ["mov edi, 1", "mov esi, 2", "mov edx, 3";]
        ["mov [rbp - 4], edi", "mov [rbp - 8], esi", "mov [rbp - 12], edx"];
    calls4:
        ["mov edi, 1", "mov esi, 2", "mov edx, 3", "mov ecx, 4";]
        ["mov [rbp - 4], edi", "mov [rbp - 8], esi", "mov [rbp - 12], edx", "mov [rbp - 16], ecx"];
    calls5:
        ["mov edi, 1", "mov esi, 2", "mov edx, 3", "mov ecx, 4", "mov r8d, 5";]
        [
            "mov [rbp - 4], edi", "mov [rbp - 8], esi", "mov [rbp - 12], edx", "mov [rbp - 16], ecx",
            "mov [rbp - 20], r8d"
        ];
    calls6:
        ["mov edi, 1", "mov esi, 2", "mov edx, 3", "mov ecx, 4", "mov r8d, 5", "mov r9d, 6";]
        [
            "mov [rbp - 4], edi", "mov [rbp - 8], esi", "mov [rbp - 12], edx", "mov [rbp - 16], ecx",
            "mov [rbp - 20], r8d", "mov [rbp - 24], r9d"
        ];
    calls7:
        [
            "sub rsp, 8", "mov edi, 1", "mov esi, 2", "mov edx, 3",
            "mov ecx, 4", "mov r8d, 5", "mov r9d, 6", "push 7";
            "add rsp, 16"
        ]
        [
            "mov [rbp - 4], edi", "mov [rbp - 8], esi", "mov [rbp - 12], edx", "mov [rbp - 16], ecx",
            "mov [rbp - 20], r8d", "mov [rbp - 24], r9d"
        ];
}
