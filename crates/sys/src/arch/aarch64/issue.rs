//! Independent operations: see [`crate::arch::issue`].
//!
//! # Safety
//!
//! Each block is a whole loop on registers that it declares, and loads one word that is passed to
//! it.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::issue::define_blocks;
use core::arch::asm;

macro_rules! turns {
    ($turns:ident, $word:ident, [$($instruction:literal),*]) => {{
        let (a0, a1, a2, a3, a4, a5, a6, a7): (u64, u64, u64, u64, u64, u64, u64, u64);
        asm!(
            ".p2align 6",
            "2:",
            ".rept 4",
            $($instruction,)*
            ".endr",
            "subs x10, x10, #1",
            "b.ne 2b",
            inout("x10") $turns => _,
            in("x9") &raw const $word,
            inout("x0") 0_u64 => a0,
            inout("x1") 0_u64 => a1,
            inout("x2") 0_u64 => a2,
            inout("x3") 0_u64 => a3,
            inout("x4") 0_u64 => a4,
            inout("x5") 0_u64 => a5,
            inout("x6") 0_u64 => a6,
            inout("x7") 0_u64 => a7,
            options(nostack),
        );
        [a0, a1, a2, a3, a4, a5, a6, a7].into_iter().fold(0, u64::wrapping_add)
    }};
}

define_blocks! {
    turns;
    /// Additions of 1 to eight registers.
    issue_additions: [
        "add x0, x0, #1", "add x1, x1, #1", "add x2, x2, #1", "add x3, x3, #1",
        "add x4, x4, #1", "add x5, x5, #1", "add x6, x6, #1", "add x7, x7, #1"
    ];
    /// Moves of a constant to eight registers.
    issue_moves: [
        "mov x0, #7", "mov x1, #7", "mov x2, #7", "mov x3, #7",
        "mov x4, #7", "mov x5, #7", "mov x6, #7", "mov x7, #7"
    ];
    /// Loads of one word into eight registers.
    issue_loads: [
        "ldr x0, [x9]", "ldr x1, [x9]", "ldr x2, [x9]", "ldr x3, [x9]",
        "ldr x4, [x9]", "ldr x5, [x9]", "ldr x6, [x9]", "ldr x7, [x9]"
    ];
    /// Four additions, two loads and two moves, by turns.
    issue_mixed: [
        "add x0, x0, #1", "ldr x1, [x9]", "add x2, x2, #1", "mov x3, #7",
        "add x4, x4, #1", "ldr x5, [x9]", "add x6, x6, #1", "mov x7, #7"
    ];
}
