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
            "sub rcx, 1",
            "jnz 2b",
            unroll = const CHAIN_UNROLL,
            inout("rax") $x,
            inout("rcx") $turns => _,
            in("rdx") CHAIN_OPERAND,
            options(nostack),
        )
    };
}

define_chains! {
    turns;
    /// `n` dependent additions of a register to a register: one cycle each.
    add_chain: "add rax, rdx";
    /// `n` dependent multiplications of registers: three cycles each since Nehalem and Zen.
    mul_chain: "imul rax, rdx";
    /// `n` dependent rotations: one cycle each.
    rotate_chain: "ror rax, 7";
}
