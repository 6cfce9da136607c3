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
            "lea rax, [rax + 1]",
            "mov rdx, [r12]",
            "lea rsi, [rsi + 1]",
            "mov edi, 7",
            "lea r8, [r8 + 1]",
            "mov r9, [r12]",
            "lea r10, [r10 + 1]",
            "mov r11d, 7",
            ".endr",
            "sub rcx, 1",
            "jnz 2b",
            inout("rcx") turns => _,
            in("r12") &raw const word,
            inout("rax") registers[0],
            inout("rdx") registers[1],
            inout("rsi") registers[2],
            inout("rdi") registers[3],
            inout("r8") registers[4],
            inout("r9") registers[5],
            inout("r10") registers[6],
            inout("r11") registers[7],
            options(nostack),
        );
    }
    registers.into_iter().fold(0, u64::wrapping_add)
}
