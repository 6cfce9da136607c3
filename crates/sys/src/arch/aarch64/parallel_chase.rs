//! Several pointer chases at once: see [`crate::arch::parallel_chase`].
//!
//! Up to twenty-four addresses are in registers: x18 is reserved by the platform, x19 by the
//! compiler, and one counts the loop.
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
            $(concat!("ldr ", $register, ", [", $register, "]"),)*
            ".endr",
            "subs x28, x28, #1",
            "b.ne 2b",
            unroll = const PARALLEL_CHASE_UNROLL,
            $(inout($register) $c[$index],)*
            inout("x28") $turns => _,
            options(nostack, readonly),
        )
    };
}

macro_rules! memory {
    ($cursors:ident, $rows:ident, $n:ident) => {
        asm!(
            ".p2align 6",
            "2:",
            "mov x3, x0",
            ".rept {pairs}",
            "ldr x2, [x3]",
            "ldr x2, [x2]",
            "str x2, [x3]",
            "ldr x2, [x3, #8]",
            "ldr x2, [x2]",
            "str x2, [x3, #8]",
            "add x3, x3, #16",
            ".endr",
            "subs x1, x1, #1",
            "b.ne 2b",
            pairs = const $n / 2,
            in("x0") $cursors.as_mut_ptr(),
            inout("x1") $rows => _,
            out("x2") _,
            out("x3") _,
            options(nostack),
        )
    };
}

define_parallel_chases! {
    registers, memory;
    1 chases1: 0 "x0";
    2 chases2: 0 "x0", 1 "x1";
    4 chases4: 0 "x0", 1 "x1", 2 "x2", 3 "x3";
    6 chases6: 0 "x0", 1 "x1", 2 "x2", 3 "x3", 4 "x4", 5 "x5";
    8 chases8: 0 "x0", 1 "x1", 2 "x2", 3 "x3", 4 "x4", 5 "x5", 6 "x6", 7 "x7";
    10 chases10: 0 "x0", 1 "x1", 2 "x2", 3 "x3", 4 "x4", 5 "x5", 6 "x6", 7 "x7", 8 "x8", 9 "x9";
    12 chases12: 0 "x0", 1 "x1", 2 "x2", 3 "x3", 4 "x4", 5 "x5", 6 "x6", 7 "x7", 8 "x8", 9 "x9", 10 "x10", 11 "x11";
    14 chases14: 0 "x0", 1 "x1", 2 "x2", 3 "x3", 4 "x4", 5 "x5", 6 "x6", 7 "x7", 8 "x8", 9 "x9", 10 "x10", 11 "x11",
        12 "x12", 13 "x13";
    16 chases16: 0 "x0", 1 "x1", 2 "x2", 3 "x3", 4 "x4", 5 "x5", 6 "x6", 7 "x7", 8 "x8", 9 "x9", 10 "x10", 11 "x11",
        12 "x12", 13 "x13", 14 "x14", 15 "x15";
    20 chases20: 0 "x0", 1 "x1", 2 "x2", 3 "x3", 4 "x4", 5 "x5", 6 "x6", 7 "x7", 8 "x8", 9 "x9", 10 "x10", 11 "x11",
        12 "x12", 13 "x13", 14 "x14", 15 "x15", 16 "x16", 17 "x17", 18 "x20", 19 "x21";
    24 chases24: 0 "x0", 1 "x1", 2 "x2", 3 "x3", 4 "x4", 5 "x5", 6 "x6", 7 "x7", 8 "x8", 9 "x9", 10 "x10", 11 "x11",
        12 "x12", 13 "x13", 14 "x14", 15 "x15", 16 "x16", 17 "x17", 18 "x20", 19 "x21", 20 "x22", 21 "x23", 22 "x24",
        23 "x25";
    in memory: 28, 32, 40, 48, 64;
}
