//! Random updates of memory: see [`crate::arch::hammer`].
//!
//! Uses A and M, which every system with Linux has.
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
    "amoadd.d"
}

/// The stores of a turn: two places from one word, and the operation at each.
macro_rules! pairs {
    (@turns $counter:ident, $pairs:ident, $pages:ident, $mask:ident, [$($there:literal),*], $($base:tt)*) => {
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
    ($counter:ident, $pairs:ident, $pages:ident, $mask:ident, $base:ident) => {
        pairs!(@turns $counter, $pairs, $pages, $mask, ["add {t}, {t}, {base}", "sd {w}, 0({t})"], base = in(reg) $base,)
    };
    ($counter:ident, $pairs:ident, $pages:ident, $mask:ident) => {
        pairs!(@turns $counter, $pairs, $pages, $mask, [],)
    };
}

/// A turn of the ownership chain: the place is left in `a`, and the result taken from there.
macro_rules! chain {
    (@turns $counter:ident, $answer:ident, $ops:ident, $pages:ident, $mask:ident, [$($there:literal),*],
     $($base:tt)*) => {
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
    ($counter:ident, $answer:ident, $ops:ident, $pages:ident, $mask:ident, $base:ident) => {
        chain!(@turns $counter, $answer, $ops, $pages, $mask,
            ["add {w}, {base}, {a}", "amoadd.d {a}, {one}, ({w})"], base = in(reg) $base, one = in(reg) 1u64,)
    };
    ($counter:ident, $answer:ident, $ops:ident, $pages:ident, $mask:ident) => {
        chain!(@turns $counter, $answer, $ops, $pages, $mask, [],)
    };
}

define_hammers!(pairs, chain);
