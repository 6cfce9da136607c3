//! Dependent chains of arithmetic: see [`crate::arch::chain`].
//!
//! # Safety
//!
//! Each block is a whole loop of arithmetic on registers that it declares. It does not say `nomem`:
//! the compiler must not move other work across a measured loop.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::chain::define_chains;
use crate::arch::{CHAIN_OPERAND, CHAIN_UNROLL};
use core::arch::asm;

/// Whether a step of [`add_chain`] takes one cycle, so that the core's clock follows from it.
pub const ADD_TAKES_ONE_CYCLE: bool = true;

macro_rules! turns {
    ($x:ident, $turns:ident, [$($instruction:literal),*]) => {
        asm!(
            ".p2align 6",
            "2:",
            ".rept {unroll}",
            $($instruction,)*
            ".endr",
            "subs x2, x2, #1",
            "b.ne 2b",
            unroll = const CHAIN_UNROLL,
            inout("x0") $x,
            in("x1") CHAIN_OPERAND,
            inout("x2") $turns => _,
            options(nostack),
        )
    };
}

define_chains! {
    turns;
    /// `n` dependent additions of a register to a register, unshifted: one cycle each.
    add_chain: "add x0, x0, x1";
    /// `n` dependent multiplications: a whole number of cycles, 2 to 5 depending on the core.
    mul_chain: "mul x0, x0, x1";
    /// `n` dependent rotations: one cycle each on most cores, a whole number on all.
    rotate_chain: "ror x0, x0, #7";
}
