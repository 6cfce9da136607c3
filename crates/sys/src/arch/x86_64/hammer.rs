//! Hammer kernels for x86-64: see [`crate::arch::hammer`].
//!
//! # Safety
//!
//! Each block is a whole loop that names every register it changes; those that go to memory go where their callers vouch.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::hammer::{FLIP, STEP};
use core::arch::asm;

/// The instruction of [`hammer_own`].
pub fn own_instruction() -> &'static str {
    "lock xadd"
}

/// A turn of the stores: two places out of one word, with what is done there.
macro_rules! pairs {
    ($counter:ident, $pairs:ident, $pages:ident, $mask:ident, $first:literal, $second:literal, $($base:tt)*) => {
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
}

/// Stores `2 * pairs` words and returns the counter afterwards.
///
/// # Safety
///
/// As the portable one.
#[inline(never)]
pub unsafe fn hammer_store(base: *mut u8, pages: u64, mask: u64, mut counter: u64, pairs: u64) -> u64 {
    if pairs > 0 {
        // SAFETY: the caller vouches for the places; registers as declared.
        unsafe {
            pairs!(counter, pairs, pages, mask, "mov [rdi + rdx], rax", "mov [rdi + rdx], rax", in("rdi") base,);
        }
    }
    counter
}

/// [`hammer_store`] without the stores: the places are worked out and not gone to.
#[inline(never)]
pub fn hammer_bare(pages: u64, mask: u64, mut counter: u64, pairs: u64) -> u64 {
    if pairs > 0 {
        // SAFETY: arithmetic on declared registers.
        unsafe { pairs!(counter, pairs, pages, mask, "", "",) };
    }
    counter
}

/// A turn of the ownership chain.
macro_rules! chain {
    ($counter:ident, $answer:ident, $ops:ident, $pages:ident, $mask:ident, [$($there:literal),*], $($base:tt)*) => {
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
}

/// Adds 1 to `ops` words, each place known only when the one before has answered; returns the counter and the last answer.
///
/// # Safety
///
/// As the portable one.
#[inline(never)]
pub unsafe fn hammer_own(
    base: *mut u8,
    pages: u64,
    mask: u64,
    mut counter: u64,
    mut answer: u64,
    ops: u64,
) -> (u64, u64) {
    if ops > 0 {
        // SAFETY: the caller vouches for the places; registers as declared.
        unsafe {
            chain!(counter, answer, ops, pages, mask,
                ["mov edx, 1", "lock xadd [rdi + rax], rdx", "mov rax, rdx"], in("rdi") base,);
        }
    }
    (counter, answer)
}

/// [`hammer_own`] without the memory: the place itself takes the part of the answer.
#[inline(never)]
pub fn hammer_own_bare(pages: u64, mask: u64, mut counter: u64, mut answer: u64, ops: u64) -> (u64, u64) {
    if ops > 0 {
        // SAFETY: arithmetic on declared registers.
        unsafe { chain!(counter, answer, ops, pages, mask, ["mov rdx, rax", "mov rax, rdx"],) };
    }
    (counter, answer)
}
