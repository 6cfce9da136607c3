//! Branches: see [`crate::arch::branch`].
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
            ".p2align 6",
            "2:",
            concat!(".rept {branches} / ", $at_once),
            $($body,)*
            ".endr",
            "sub x2, x2, #1",
            "cbnz x2, 2b",
            branches = const $branches,
            inout("x0") $a,
            inout("x4") $b,
            inout("x5") $c,
            inout("x6") $d,
            in("x1") $operand,
            inout("x2") $turns => _,
            out("x3") _,
            options(nostack),
        )
    };
}

macro_rules! random {
    ($turns:ident, $state:ident, $fell:ident, $mask:ident) => {
        asm!(
            ".p2align 6",
            "2:",
            ".rept {branches}",
            "eor x0, x0, x0, lsl #13",
            "eor x0, x0, x0, lsr #7",
            "eor x0, x0, x0, lsl #17",
            "tst x0, x1",
            "b.ne 3f",
            "add x4, x4, #1",
            "3:",
            ".endr",
            "sub x2, x2, #1",
            "cbnz x2, 2b",
            branches = const BRANCHES_RANDOM,
            inout("x0") $state,
            in("x1") $mask,
            inout("x2") $turns => _,
            inout("x4") $fell,
            options(nostack),
        )
    };
}

macro_rules! jumps {
    ($turns:ident, $state:ident, $taken:ident, $mask:ident) => {
        asm!(
            ".p2align 6",
            "2:",
            ".rept {jumps}",
            "eor x0, x0, x0, lsl #13",
            "eor x0, x0, x0, lsr #7",
            "eor x0, x0, x0, lsl #17",
            "and x3, x1, x0, lsr #{bit}",
            "adr x5, 3f",
            "add x3, x5, x3, lsl #4",
            "br x3",
            ".p2align 6",
            "3:",
            ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
            ".p2align 4",
            "add x4, x4, #\\i",
            "b 4f",
            ".endr",
            ".p2align 4",
            "4:",
            ".endr",
            "sub x2, x2, #1",
            "cbnz x2, 2b",
            jumps = const JUMPS_RANDOM,
            bit = const BRANCH_BIT,
            inout("x0") $state,
            in("x1") $mask,
            inout("x2") $turns => _,
            out("x3") _,
            inout("x4") $taken,
            out("x5") _,
            options(nostack),
        )
    };
}

define_branches! {
    turns, random, jumps;
    apart: taken => u64::from(taken), ["1", "cbnz x1, 3f", "add x0, x0, #1", ".p2align 4", "3:"];
    dense: taken => u64::from(taken), [
        "4",
        "cbnz x1, 3f", "add x0, x0, #1", "3:", "cbnz x1, 4f", "add x4, x4, #1", "4:",
        "cbnz x1, 5f", "add x5, x5, #1", "5:", "cbnz x1, 6f", "add x6, x6, #1", "6:"
    ];
    // The increment is the four bytes before the next.
    indirect: taken => if taken { 0_u64 } else { 4 }, [
        "1", "adr x3, 3f", "sub x3, x3, x1", "br x3", "add x0, x0, #1", "3:"
    ];
}
