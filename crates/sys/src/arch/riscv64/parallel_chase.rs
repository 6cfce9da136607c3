//! Several pointer chases at once: see [`crate::arch::parallel_chase`].
//!
//! Up to twenty-four addresses are in registers: s0 and s1 are reserved by the compiler, and one
//! counts the loop.
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
            ".p2align 4",
            "2:",
            ".rept {unroll}",
            $(concat!("ld ", $register, ", 0(", $register, ")"),)*
            ".endr",
            "addi s11, s11, -1",
            "bnez s11, 2b",
            unroll = const PARALLEL_CHASE_UNROLL,
            $(inout($register) $c[$index],)*
            inout("s11") $turns => _,
            options(nostack, readonly),
        )
    };
}

macro_rules! memory {
    ($cursors:ident, $rows:ident, $n:ident) => {
        asm!(
            ".p2align 4",
            "2:",
            "mv a3, a0",
            ".rept {pairs}",
            "ld a2, 0(a3)",
            "ld a2, 0(a2)",
            "sd a2, 0(a3)",
            "ld a2, 8(a3)",
            "ld a2, 0(a2)",
            "sd a2, 8(a3)",
            "addi a3, a3, 16",
            ".endr",
            "addi a1, a1, -1",
            "bnez a1, 2b",
            pairs = const $n / 2,
            in("a0") $cursors.as_mut_ptr(),
            inout("a1") $rows => _,
            out("a2") _,
            out("a3") _,
            options(nostack),
        )
    };
}

define_parallel_chases! {
    registers, memory;
    1 chases1: 0 "a0";
    2 chases2: 0 "a0", 1 "a1";
    4 chases4: 0 "a0", 1 "a1", 2 "a2", 3 "a3";
    6 chases6: 0 "a0", 1 "a1", 2 "a2", 3 "a3", 4 "a4", 5 "a5";
    8 chases8: 0 "a0", 1 "a1", 2 "a2", 3 "a3", 4 "a4", 5 "a5", 6 "a6", 7 "a7";
    10 chases10: 0 "a0", 1 "a1", 2 "a2", 3 "a3", 4 "a4", 5 "a5", 6 "a6", 7 "a7", 8 "t0", 9 "t1";
    12 chases12: 0 "a0", 1 "a1", 2 "a2", 3 "a3", 4 "a4", 5 "a5", 6 "a6", 7 "a7", 8 "t0", 9 "t1", 10 "t2", 11 "t3";
    14 chases14: 0 "a0", 1 "a1", 2 "a2", 3 "a3", 4 "a4", 5 "a5", 6 "a6", 7 "a7", 8 "t0", 9 "t1", 10 "t2", 11 "t3",
        12 "t4", 13 "t5";
    16 chases16: 0 "a0", 1 "a1", 2 "a2", 3 "a3", 4 "a4", 5 "a5", 6 "a6", 7 "a7", 8 "t0", 9 "t1", 10 "t2", 11 "t3",
        12 "t4", 13 "t5", 14 "t6", 15 "s2";
    20 chases20: 0 "a0", 1 "a1", 2 "a2", 3 "a3", 4 "a4", 5 "a5", 6 "a6", 7 "a7", 8 "t0", 9 "t1", 10 "t2", 11 "t3",
        12 "t4", 13 "t5", 14 "t6", 15 "s2", 16 "s3", 17 "s4", 18 "s5", 19 "s6";
    24 chases24: 0 "a0", 1 "a1", 2 "a2", 3 "a3", 4 "a4", 5 "a5", 6 "a6", 7 "a7", 8 "t0", 9 "t1", 10 "t2", 11 "t3",
        12 "t4", 13 "t5", 14 "t6", 15 "s2", 16 "s3", 17 "s4", 18 "s5", 19 "s6", 20 "s7", 21 "s8", 22 "s9", 23 "s10";
    in memory: 28, 32, 40, 48, 64;
}
