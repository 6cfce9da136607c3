//! Branches: see [`crate::arch::branch`]. Without compressed instructions, so that the layout is
//! the same on all cores.
//!
//! # Safety
//!
//! Each block is a whole loop on declared registers that accesses no memory and jumps only within
//! itself.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::branch::{
    BRANCH_BIT, BRANCHES_LONG, BRANCHES_RANDOM, BRANCHES_SHORT, Drawn, JUMPS_RANDOM, JUMPS_TARGETS, Layout,
    define_branches,
};
use core::arch::asm;

macro_rules! turns {
    ($turns:ident, $branches:ident, $a:ident, $b:ident, $c:ident, $d:ident, $operand:expr,
     [$at_once:literal, $($body:literal),*]) => {
        asm!(
            ".option push",
            ".option norvc",
            ".p2align 6",
            "2:",
            concat!(".rept {branches} / ", $at_once),
            $($body,)*
            ".endr",
            "addi a2, a2, -1",
            "bnez a2, 2b",
            ".option pop",
            branches = const $branches,
            inout("a0") $a,
            inout("a4") $b,
            inout("a5") $c,
            inout("a6") $d,
            in("a1") $operand,
            inout("a2") $turns => _,
            out("t0") _,
            options(nostack),
        )
    };
}

macro_rules! random {
    ($turns:ident, $state:ident, $fell:ident, $mask:ident) => {
        asm!(
            ".option push",
            ".option norvc",
            ".p2align 6",
            "2:",
            ".rept {branches}",
            "slli t0, a0, 13",
            "xor a0, a0, t0",
            "srli t0, a0, 7",
            "xor a0, a0, t0",
            "slli t0, a0, 17",
            "xor a0, a0, t0",
            "and t0, a0, a1",
            "bnez t0, 3f",
            "addi a4, a4, 1",
            "3:",
            ".endr",
            "addi a2, a2, -1",
            "bnez a2, 2b",
            ".option pop",
            branches = const BRANCHES_RANDOM,
            inout("a0") $state,
            in("a1") $mask,
            inout("a2") $turns => _,
            inout("a4") $fell,
            out("t0") _,
            options(nostack),
        )
    };
}

macro_rules! jumps {
    ($turns:ident, $state:ident, $taken:ident, $mask:ident) => {
        asm!(
            ".option push",
            ".option norvc",
            ".p2align 6",
            "2:",
            ".rept {jumps}",
            "slli t0, a0, 13",
            "xor a0, a0, t0",
            "srli t0, a0, 7",
            "xor a0, a0, t0",
            "slli t0, a0, 17",
            "xor a0, a0, t0",
            "srli t0, a0, {bit}",
            "and t0, t0, a1",
            "slli t0, t0, 4",
            "lla t1, 3f",
            "add t0, t0, t1",
            "jr t0",
            ".p2align 6",
            "3:",
            ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
            ".p2align 4",
            "addi a4, a4, \\i",
            "j 4f",
            ".endr",
            ".p2align 4",
            "4:",
            ".endr",
            "addi a2, a2, -1",
            "bnez a2, 2b",
            ".option pop",
            jumps = const JUMPS_RANDOM,
            bit = const BRANCH_BIT,
            inout("a0") $state,
            in("a1") $mask,
            inout("a2") $turns => _,
            inout("a4") $taken,
            out("t0") _,
            out("t1") _,
            options(nostack),
        )
    };
}

define_branches! {
    turns, random, jumps;
    apart: taken => u64::from(taken), ["1", "bnez a1, 3f", "addi a0, a0, 1", ".p2align 4", "3:"];
    dense: taken => u64::from(taken), [
        "4",
        "bnez a1, 3f", "addi a0, a0, 1", "3:", "bnez a1, 4f", "addi a4, a4, 1", "4:",
        "bnez a1, 5f", "addi a5, a5, 1", "5:", "bnez a1, 6f", "addi a6, a6, 1", "6:"
    ];
    // The increment is the four bytes before the next.
    indirect: taken => if taken { 0_u64 } else { 4 }, [
        "1", "lla t0, 3f", "sub t0, t0, a1", "jr t0", "addi a0, a0, 1", "3:"
    ];
}
