//! Branches: see [`crate::arch::branch`].
//!
//! Conditional branches test the carry flag, which the increments between them and the loop counter
//! leave alone.
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
     [$before:literal, $at_once:literal, $($body:literal),*]) => {
        asm!(
            $before,
            ".p2align 6",
            "2:",
            concat!(".rept {branches} / ", $at_once),
            $($body,)*
            ".endr",
            "dec rcx",
            "jnz 2b",
            branches = const $branches,
            inout("rax") $a,
            inout("rdx") $b,
            inout("rsi") $c,
            inout("rdi") $d,
            inout("rcx") $turns => _,
            in("r8") $operand,
            out("r9") _,
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
            "mov rdx, rax",
            "shl rdx, 13",
            "xor rax, rdx",
            "mov rdx, rax",
            "shr rdx, 7",
            "xor rax, rdx",
            "mov rdx, rax",
            "shl rdx, 17",
            "xor rax, rdx",
            "test rax, rsi",
            "jnz 3f",
            "inc r8",
            "3:",
            ".endr",
            "sub rcx, 1",
            "jnz 2b",
            branches = const BRANCHES_RANDOM,
            inout("rax") $state,
            inout("r8") $fell,
            inout("rcx") $turns => _,
            in("rsi") $mask,
            out("rdx") _,
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
            "mov rdx, rax",
            "shl rdx, 13",
            "xor rax, rdx",
            "mov rdx, rax",
            "shr rdx, 7",
            "xor rax, rdx",
            "mov rdx, rax",
            "shl rdx, 17",
            "xor rax, rdx",
            "mov rdx, rax",
            "shr rdx, {bit}",
            "and rdx, rsi",
            "shl rdx, 4",
            "lea r9, [rip + 3f]",
            "add rdx, r9",
            "jmp rdx",
            ".p2align 6",
            "3:",
            ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
            ".p2align 4",
            "add r8, \\i",
            "jmp 4f",
            ".endr",
            ".p2align 4",
            "4:",
            ".endr",
            "sub rcx, 1",
            "jnz 2b",
            jumps = const JUMPS_RANDOM,
            bit = const BRANCH_BIT,
            inout("rax") $state,
            inout("r8") $taken,
            inout("rcx") $turns => _,
            in("rsi") $mask,
            out("rdx") _,
            out("r9") _,
            options(nostack),
        )
    };
}

// Two-byte increments of 32 bits: enough for 2^32 turns of 16, which no interval has.
define_branches! {
    turns, random, jumps;
    apart: taken => u64::from(taken), ["bt r8, 0", "1", "jc 3f", "inc eax", ".p2align 4", "3:"];
    dense: taken => u64::from(taken), [
        "bt r8, 0", "4",
        "jc 3f", "inc eax", "3:", "jc 4f", "inc edx", "4:", "jc 5f", "inc esi", "5:", "jc 6f", "inc edi", "6:"
    ];
    // 7, 3, 3 and 2 bytes, padded to 16: the increment is the three bytes before the next.
    indirect: taken => if taken { 0_u64 } else { 3 }, [
        "", "1", "lea r9, [rip + 3f]", "sub r9, r8", "jmp r9", "inc eax", ".p2align 4", "3:"
    ];
}
