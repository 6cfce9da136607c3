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
            "addi t0, t0, -1",
            "bnez t0, 2b",
            inout("t0") $turns => _,
            in("t1") &raw const $word,
            inout("a0") $registers[0],
            inout("a1") $registers[1],
            inout("a2") $registers[2],
            inout("a3") $registers[3],
            inout("a4") $registers[4],
            inout("a5") $registers[5],
            inout("a6") $registers[6],
            inout("a7") $registers[7],
            options(nostack),
        )
    };
}

define_blocks! {
    turns;
    /// Additions of 1 to eight registers.
    issue_additions: [
        "addi a0, a0, 1", "addi a1, a1, 1", "addi a2, a2, 1", "addi a3, a3, 1",
        "addi a4, a4, 1", "addi a5, a5, 1", "addi a6, a6, 1", "addi a7, a7, 1"
    ];
    /// Moves of a constant to eight registers.
    issue_moves: [
        "li a0, 7", "li a1, 7", "li a2, 7", "li a3, 7",
        "li a4, 7", "li a5, 7", "li a6, 7", "li a7, 7"
    ];
    /// Loads of one word into eight registers.
    issue_loads: [
        "ld a0, 0(t1)", "ld a1, 0(t1)", "ld a2, 0(t1)", "ld a3, 0(t1)",
        "ld a4, 0(t1)", "ld a5, 0(t1)", "ld a6, 0(t1)", "ld a7, 0(t1)"
    ];
    /// Four additions, two loads and two moves, by turns.
    issue_mixed: [
        "addi a0, a0, 1", "ld a1, 0(t1)", "addi a2, a2, 1", "li a3, 7",
        "addi a4, a4, 1", "ld a5, 0(t1)", "addi a6, a6, 1", "li a7, 7"
    ];
}
