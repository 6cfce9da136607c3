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
            "addi a2, a2, -1",
            "bnez a2, 2b",
            unroll = const CHAIN_UNROLL,
            inout("a0") $x,
            in("a1") CHAIN_OPERAND,
            inout("a2") $turns => _,
            out("t0") _,
            options(nostack),
        )
    };
}

define_chains! {
    turns;
    /// `n` dependent additions of a register to a register: one cycle each.
    add_chain: "add a0, a0, a1";
    /// `n` dependent multiplications: a whole number of cycles, 2 to 5 depending on the core.
    mul_chain: "mul a0, a0, a1";
    /// `n` dependent rotations. The base instruction set has no rotation: two shifts and an `or`,
    /// two cycles where both shifts run in parallel, otherwise three.
    rotate_chain: "slli t0, a0, 57", "srli a0, a0, 7", "or a0, a0, t0";
}
