//! Several pointer chases at once: see [`crate::arch::parallel_chase`].
//!
//! Up to twelve addresses are in registers: of the sixteen, one is the stack pointer, two are
//! reserved by the compiler, and one counts the loop.
//!
//! # Safety
//!
//! Each block is a whole loop that declares its registers and follows its caller's pointers.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::parallel_chase::{
    MAX_PARALLEL_CHASES, PARALLEL_CHASE_UNROLL, ParallelChaseKernel, define_parallel_chases,
};
use core::arch::asm;

macro_rules! registers {
    ($c:ident, $turns:ident, $($index:tt $register:tt),*) => {
        asm!(
            ".p2align 6",
            "2:",
            ".rept {unroll}",
            $(concat!("mov ", $register, ", [", $register, "]"),)*
            ".endr",
            "sub r15, 1",
            "jnz 2b",
            unroll = const PARALLEL_CHASE_UNROLL,
            $(inout($register) $c[$index],)*
            inout("r15") $turns => _,
            options(nostack, readonly),
        )
    };
}

macro_rules! memory {
    ($cursors:ident, $rows:ident, $n:ident) => {
        asm!(
            ".p2align 6",
            "2:",
            "mov r8, rdi",
            ".rept {pairs}",
            "mov rax, [r8]",
            "mov rax, [rax]",
            "mov [r8], rax",
            "mov rax, [r8 + 8]",
            "mov rax, [rax]",
            "mov [r8 + 8], rax",
            "add r8, 16",
            ".endr",
            "sub rcx, 1",
            "jnz 2b",
            pairs = const $n / 2,
            in("rdi") $cursors.as_mut_ptr(),
            inout("rcx") $rows => _,
            out("rax") _,
            out("r8") _,
            options(nostack),
        )
    };
}

define_parallel_chases! {
    registers, memory;
    1 chases1: 0 "rax";
    2 chases2: 0 "rax", 1 "rcx";
    4 chases4: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi";
    6 chases6: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi", 4 "rdi", 5 "r8";
    8 chases8: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi", 4 "rdi", 5 "r8", 6 "r9", 7 "r10";
    10 chases10: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi", 4 "rdi", 5 "r8", 6 "r9", 7 "r10", 8 "r11", 9 "r12";
    12 chases12: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi", 4 "rdi", 5 "r8", 6 "r9", 7 "r10", 8 "r11", 9 "r12", 10 "r13", 11 "r14";
    in memory: 14, 16, 20, 24, 28, 32, 40, 48, 64;
}
