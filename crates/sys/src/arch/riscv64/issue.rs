//! Independent operations: see [`crate::arch::issue`].
//!
//! # Safety
//!
//! The block is a whole loop on registers that it declares, and loads one word that is passed to
//! it.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::ISSUE_VALUE;
use core::arch::asm;

/// Four additions, two loads and two moves, by turns, on eight registers.
///
/// Returns the sum of the registers, which start at 0.
#[inline(never)]
pub fn issue_mixed(turns: u64) -> u64 {
    if turns == 0 {
        return 0;
    }
    let word = ISSUE_VALUE;
    let mut registers = [0_u64; 8];
    // SAFETY: arithmetic on registers that the loop declares, and loads of a local word.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            ".rept 4",
            "addi a0, a0, 1",
            "ld a1, 0(t1)",
            "addi a2, a2, 1",
            "li a3, 7",
            "addi a4, a4, 1",
            "ld a5, 0(t1)",
            "addi a6, a6, 1",
            "li a7, 7",
            ".endr",
            "addi t0, t0, -1",
            "bnez t0, 2b",
            inout("t0") turns => _,
            in("t1") &raw const word,
            inout("a0") registers[0],
            inout("a1") registers[1],
            inout("a2") registers[2],
            inout("a3") registers[3],
            inout("a4") registers[4],
            inout("a5") registers[5],
            inout("a6") registers[6],
            inout("a7") registers[7],
            options(nostack),
        );
    }
    registers.into_iter().fold(0, u64::wrapping_add)
}
