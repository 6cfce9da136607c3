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
    ($turns:ident, $word:ident, $registers:ident, [$($instruction:literal),*]) => {
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
            inout("x0") $registers[0],
            inout("x1") $registers[1],
            inout("x2") $registers[2],
            inout("x3") $registers[3],
            inout("x4") $registers[4],
            inout("x5") $registers[5],
            inout("x6") $registers[6],
            inout("x7") $registers[7],
            options(nostack),
        )
    };
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
