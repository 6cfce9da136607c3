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
            "add x0, x0, #1",
            "ldr x1, [x9]",
            "add x2, x2, #1",
            "mov x3, #7",
            "add x4, x4, #1",
            "ldr x5, [x9]",
            "add x6, x6, #1",
            "mov x7, #7",
            ".endr",
            "subs x10, x10, #1",
            "b.ne 2b",
            inout("x10") turns => _,
            in("x9") &raw const word,
            inout("x0") registers[0],
            inout("x1") registers[1],
            inout("x2") registers[2],
            inout("x3") registers[3],
            inout("x4") registers[4],
            inout("x5") registers[5],
            inout("x6") registers[6],
            inout("x7") registers[7],
            options(nostack),
        );
    }
    registers.into_iter().fold(0, u64::wrapping_add)
}
