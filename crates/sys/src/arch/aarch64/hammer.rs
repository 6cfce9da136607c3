//! Random updates of memory: see [`crate::arch::hammer`].
//!
//! The atomic addition is `ldadd` where the CPU has the Large System Extensions, otherwise an
//! exclusive pair, which first requests the line for reading. A system may execute `ldadd` in the
//! shared cache instead of fetching the line; the kernel still waits for its result.
//!
//! # Safety
//!
//! Each block is a whole loop that declares its registers; those that access memory do so where
//! their callers vouch.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::hammer::{FLIP, STEP, define_hammers};
use core::arch::asm;

fn has_lse() -> bool {
    std::arch::is_aarch64_feature_detected!("lse")
}

/// The instruction of [`hammer_own`].
pub fn own_instruction() -> &'static str {
    if has_lse() { "ldadd" } else { "ldxr and stxr" }
}

/// The stores of a turn: two places from one word, and the operation at each.
macro_rules! pairs {
    (@turns $counter:ident, $pairs:ident, $pages:ident, $mask:ident, $there:literal, $($base:tt)*) => {
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
    ($counter:ident, $pairs:ident, $pages:ident, $mask:ident, $base:ident) => {
        pairs!(@turns $counter, $pairs, $pages, $mask, "str {w}, [{base}, {t}]", base = in(reg) $base,)
    };
    ($counter:ident, $pairs:ident, $pages:ident, $mask:ident) => {
        pairs!(@turns $counter, $pairs, $pages, $mask, "",)
    };
}

/// A turn of the ownership chain: the place is left in `a`, and the result taken from there.
macro_rules! chain {
    (@turns $counter:ident, $answer:ident, $ops:ident, $pages:ident, $mask:ident, [$($there:literal),*],
     $($base:tt)*) => {
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
    ($counter:ident, $answer:ident, $ops:ident, $pages:ident, $mask:ident, $base:ident) => {
        if has_lse() {
            chain!(@turns $counter, $answer, $ops, $pages, $mask,
                ["add {w}, {base}, {a}", "ldadd {one}, {a}, [{w}]"], base = in(reg) $base, one = in(reg) 1u64,)
        } else {
            chain!(@turns $counter, $answer, $ops, $pages, $mask,
                ["add {w}, {base}, {a}", "3:", "ldxr {a}, [{w}]", "add {t}, {a}, #1", "stxr {s:w}, {t}, [{w}]",
                 "cbnz {s:w}, 3b"], base = in(reg) $base, s = out(reg) _,)
        }
    };
    ($counter:ident, $answer:ident, $ops:ident, $pages:ident, $mask:ident) => {
        chain!(@turns $counter, $answer, $ops, $pages, $mask, [],)
    };
}

define_hammers!(pairs, chain);
