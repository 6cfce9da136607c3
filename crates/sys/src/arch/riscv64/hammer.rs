//! Hammer kernels for RV64 (with A and M, which every Linux system has): see [`crate::arch::hammer`].
//!
//! # Safety
//!
//! Each block is a whole loop that names every register it changes; those that go to memory go where their callers vouch.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::hammer::{FLIP, STEP};
use core::arch::asm;

/// The instruction of [`hammer_own`].
pub fn own_instruction() -> &'static str {
    "amoadd.d"
}

/// A turn of the stores: two places out of one word, with what is done there.
macro_rules! pairs {
    ($counter:ident, $pairs:ident, $pages:ident, $mask:ident, [$($there:literal),*], $($base:tt)*) => {
        asm!(
            ".balign 64",
            "2:",
            "add {c}, {c}, {step}",
            "xor {w}, {c}, {flip}",
            "mulhu {t}, {c}, {w}",
            "mul {w}, {c}, {w}",
            "xor {w}, {w}, {t}",
            "slli {t}, {w}, 32",
            "srli {t}, {t}, 32",
            "mul {t}, {t}, {pages}",
            "srli {t}, {t}, 20",
            "and {t}, {t}, {mask}",
            $($there,)*
            "srli {t}, {w}, 32",
            "mul {t}, {t}, {pages}",
            "srli {t}, {t}, 20",
            "and {t}, {t}, {mask}",
            $($there,)*
            "addi {n}, {n}, -1",
            "bnez {n}, 2b",
            c = inout(reg) $counter,
            n = inout(reg) $pairs => _,
            step = in(reg) STEP,
            flip = in(reg) FLIP,
            pages = in(reg) $pages,
            mask = in(reg) $mask,
            w = out(reg) _,
            t = out(reg) _,
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
            pairs!(counter, pairs, pages, mask, ["add {t}, {t}, {base}", "sd {w}, 0({t})"], base = in(reg) base,);
        }
    }
    counter
}

/// [`hammer_store`] without the stores: the places are worked out and not gone to.
#[inline(never)]
pub fn hammer_bare(pages: u64, mask: u64, mut counter: u64, pairs: u64) -> u64 {
    if pairs > 0 {
        // SAFETY: arithmetic on declared registers.
        unsafe { pairs!(counter, pairs, pages, mask, [],) };
    }
    counter
}

/// A turn of the ownership chain; the place is left in `a`, and the answer taken from there.
macro_rules! chain {
    ($counter:ident, $answer:ident, $ops:ident, $pages:ident, $mask:ident, [$($there:literal),*], $($base:tt)*) => {
        asm!(
            ".balign 64",
            "2:",
            "add {c}, {c}, {step}",
            "add {a}, {a}, {c}",
            "xor {w}, {c}, {flip}",
            "mulhu {t}, {a}, {w}",
            "mul {w}, {a}, {w}",
            "xor {w}, {w}, {t}",
            "srli {w}, {w}, 32",
            "mul {w}, {w}, {pages}",
            "srli {w}, {w}, 20",
            "and {a}, {w}, {mask}",
            $($there,)*
            "addi {n}, {n}, -1",
            "bnez {n}, 2b",
            c = inout(reg) $counter,
            a = inout(reg) $answer,
            n = inout(reg) $ops => _,
            step = in(reg) STEP,
            flip = in(reg) FLIP,
            pages = in(reg) $pages,
            mask = in(reg) $mask,
            w = out(reg) _,
            t = out(reg) _,
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
                ["add {w}, {base}, {a}", "amoadd.d {a}, {one}, ({w})"], base = in(reg) base, one = in(reg) 1u64,);
        }
    }
    (counter, answer)
}

/// [`hammer_own`] without the memory: the place itself takes the part of the answer.
#[inline(never)]
pub fn hammer_own_bare(pages: u64, mask: u64, mut counter: u64, mut answer: u64, ops: u64) -> (u64, u64) {
    if ops > 0 {
        // SAFETY: arithmetic on declared registers.
        unsafe { chain!(counter, answer, ops, pages, mask, [],) };
    }
    (counter, answer)
}
