//! Hammer kernels for AArch64: see [`crate::arch::hammer`].
//!
//! The atomic addition is `ldadd` where the CPU has the Large System Extensions, else a pair of exclusives, which first asks
//! for the line to read it. A system may do `ldadd` in the cache that is shared instead of bringing the line: its answer
//! is waited for all the same.
//!
//! # Safety
//!
//! Each block is a whole loop that names every register it changes; those that go to memory go where their callers vouch.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::hammer::{FLIP, STEP};
use core::arch::asm;

fn has_lse() -> bool {
    std::arch::is_aarch64_feature_detected!("lse")
}

/// The instruction of [`hammer_own`].
pub fn own_instruction() -> &'static str {
    if has_lse() { "ldadd" } else { "ldxr and stxr" }
}

/// A turn of the stores: two places out of one word, with what is done there.
macro_rules! pairs {
    ($counter:ident, $pairs:ident, $pages:ident, $mask:ident, $there:literal, $($base:tt)*) => {
        asm!(
            ".p2align 6",
            "2:",
            "add {c}, {c}, {step}",
            "eor {w}, {c}, {flip}",
            "umulh {t}, {c}, {w}",
            "mul {w}, {c}, {w}",
            "eor {w}, {w}, {t}",
            "umull {t}, {w:w}, {pages:w}",
            "and {t}, {mask}, {t}, lsr #20",
            $there,
            "lsr {t}, {w}, #32",
            "umull {t}, {t:w}, {pages:w}",
            "and {t}, {mask}, {t}, lsr #20",
            $there,
            "subs {n}, {n}, #1",
            "b.ne 2b",
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
        unsafe { pairs!(counter, pairs, pages, mask, "str {w}, [{base}, {t}]", base = in(reg) base,) };
    }
    counter
}

/// [`hammer_store`] without the stores: the places are worked out and not gone to.
#[inline(never)]
pub fn hammer_bare(pages: u64, mask: u64, mut counter: u64, pairs: u64) -> u64 {
    if pairs > 0 {
        // SAFETY: arithmetic on declared registers.
        unsafe { pairs!(counter, pairs, pages, mask, "",) };
    }
    counter
}

/// A turn of the ownership chain; the place is left in `a`, and the answer taken from there.
macro_rules! chain {
    ($counter:ident, $answer:ident, $ops:ident, $pages:ident, $mask:ident, [$($there:literal),*], $($base:tt)*) => {
        asm!(
            ".arch_extension lse",
            ".p2align 6",
            "2:",
            "add {c}, {c}, {step}",
            "add {a}, {a}, {c}",
            "eor {w}, {c}, {flip}",
            "umulh {t}, {a}, {w}",
            "mul {w}, {a}, {w}",
            "eor {w}, {w}, {t}",
            "lsr {w}, {w}, #32",
            "umull {t}, {w:w}, {pages:w}",
            "and {a}, {mask}, {t}, lsr #20",
            $($there,)*
            "subs {n}, {n}, #1",
            "b.ne 2b",
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
    let lse = has_lse();
    if ops > 0 && lse {
        // SAFETY: the caller vouches for the places, and the CPU has the instruction; registers as declared.
        unsafe {
            chain!(counter, answer, ops, pages, mask,
                ["add {w}, {base}, {a}", "ldadd {one}, {a}, [{w}]"], base = in(reg) base, one = in(reg) 1u64,);
        }
    } else if ops > 0 {
        // SAFETY: as above.
        unsafe {
            chain!(counter, answer, ops, pages, mask,
                ["add {w}, {base}, {a}", "3:", "ldxr {a}, [{w}]", "add {t}, {a}, #1", "stxr {s:w}, {t}, [{w}]",
                 "cbnz {s:w}, 3b"], base = in(reg) base, s = out(reg) _,);
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
