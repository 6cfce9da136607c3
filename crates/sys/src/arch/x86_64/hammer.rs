//! Random updates of memory: see [`crate::arch::hammer`].
//!
//! # Safety
//!
//! Each block is a whole loop that declares its registers; those that access memory do so where
//! their callers vouch.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::hammer::{FLIP, STEP, define_hammers};
use core::arch::asm;

/// The instruction of [`hammer_own`].
pub fn own_instruction() -> &'static str {
    "lock xadd"
}

/// The stores of a turn: two places from one word, and the operation at each.
macro_rules! pairs {
    (@turns $counter:ident, $pairs:ident, $pages:ident, $mask:ident, $first:literal, $second:literal, $($base:tt)*) => {
        asm!(
            ".p2align 6",
            "2:",
            "add rsi, r8",
            "mov rax, rsi",
            "xor rax, r9",
            "mul rsi",
            "xor rax, rdx",
            "mov edx, eax",
            "imul rdx, r10",
            "shr rdx, 20",
            "and rdx, r11",
            $first,
            "mov rdx, rax",
            "shr rdx, 32",
            "imul rdx, r10",
            "shr rdx, 20",
            "and rdx, r11",
            $second,
            "sub rcx, 1",
            "jnz 2b",
            inout("rsi") $counter,
            inout("rcx") $pairs => _,
            in("r8") STEP,
            in("r9") FLIP,
            in("r10") $pages,
            in("r11") $mask,
            out("rax") _,
            out("rdx") _,
            $($base)*
            options(nostack),
        )
    };
    ($counter:ident, $pairs:ident, $pages:ident, $mask:ident, $base:ident) => {
        pairs!(@turns $counter, $pairs, $pages, $mask, "mov [rdi + rdx], rax", "mov [rdi + rdx], rax", in("rdi") $base,)
    };
    ($counter:ident, $pairs:ident, $pages:ident, $mask:ident) => {
        pairs!(@turns $counter, $pairs, $pages, $mask, "", "",)
    };
}

/// A turn of the ownership chain.
macro_rules! chain {
    (@turns $counter:ident, $answer:ident, $ops:ident, $pages:ident, $mask:ident, [$($there:literal),*],
     $($base:tt)*) => {
        asm!(
            ".p2align 6",
            "2:",
            "add rsi, r8",
            "add rax, rsi",
            "mov rdx, rsi",
            "xor rdx, r9",
            "mul rdx",
            "xor rax, rdx",
            "shr rax, 32",
            "imul rax, r10",
            "shr rax, 20",
            "and rax, r11",
            $($there,)*
            "sub rcx, 1",
            "jnz 2b",
            inout("rsi") $counter,
            inout("rax") $answer,
            inout("rcx") $ops => _,
            in("r8") STEP,
            in("r9") FLIP,
            in("r10") $pages,
            in("r11") $mask,
            out("rdx") _,
            $($base)*
            options(nostack),
        )
    };
    ($counter:ident, $answer:ident, $ops:ident, $pages:ident, $mask:ident, $base:ident) => {
        chain!(@turns $counter, $answer, $ops, $pages, $mask,
            ["mov edx, 1", "lock xadd [rdi + rax], rdx", "mov rax, rdx"], in("rdi") $base,)
    };
    ($counter:ident, $answer:ident, $ops:ident, $pages:ident, $mask:ident) => {
        chain!(@turns $counter, $answer, $ops, $pages, $mask, ["mov rdx, rax", "mov rax, rdx"],)
    };
}

define_hammers!(pairs, chain);
