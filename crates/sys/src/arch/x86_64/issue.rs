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
            "sub rcx, 1",
            "jnz 2b",
            inout("rcx") $turns => _,
            in("r12") &raw const $word,
            inout("rax") $registers[0],
            inout("rdx") $registers[1],
            inout("rsi") $registers[2],
            inout("rdi") $registers[3],
            inout("r8") $registers[4],
            inout("r9") $registers[5],
            inout("r10") $registers[6],
            inout("r11") $registers[7],
            options(nostack),
        )
    };
}

define_blocks! {
    turns;
    /// Additions of 1 to eight registers.
    issue_additions: [
        "lea rax, [rax + 1]", "lea rdx, [rdx + 1]", "lea rsi, [rsi + 1]", "lea rdi, [rdi + 1]",
        "lea r8, [r8 + 1]", "lea r9, [r9 + 1]", "lea r10, [r10 + 1]", "lea r11, [r11 + 1]"
    ];
    /// Moves of a constant to eight registers.
    issue_moves: [
        "mov eax, 7", "mov edx, 7", "mov esi, 7", "mov edi, 7",
        "mov r8d, 7", "mov r9d, 7", "mov r10d, 7", "mov r11d, 7"
    ];
    /// Loads of one word into eight registers.
    issue_loads: [
        "mov rax, [r12]", "mov rdx, [r12]", "mov rsi, [r12]", "mov rdi, [r12]",
        "mov r8, [r12]", "mov r9, [r12]", "mov r10, [r12]", "mov r11, [r12]"
    ];
    /// Four additions, two loads and two moves, by turns.
    issue_mixed: [
        "lea rax, [rax + 1]", "mov rdx, [r12]", "lea rsi, [rsi + 1]", "mov edi, 7",
        "lea r8, [r8 + 1]", "mov r9, [r12]", "lea r10, [r10 + 1]", "mov r11d, 7"
    ];
}
