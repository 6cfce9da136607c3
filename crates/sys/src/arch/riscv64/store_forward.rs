//! Chains of a store and a load of what it stored: see [`crate::arch::store_forward`].
//!
//! # Safety
//!
//! Each block is a whole loop that declares its registers and accesses its caller's addresses.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::CHAIN_OPERAND;
use crate::arch::store_forward::{Chain, FORWARDS, Forward, define_store_forwards};
use core::arch::asm;

macro_rules! turns {
    ($store:ident, $load:ident, $turns:ident, $x:ident, [$($instruction:literal),*]) => {
        asm!(
            ".p2align 6",
            "2:",
            ".rept {forwards}",
            $($instruction,)*
            ".endr",
            "addi a2, a2, -1",
            "bnez a2, 2b",
            forwards = const FORWARDS,
            inout("a0") $x,
            in("a1") CHAIN_OPERAND,
            inout("a2") $turns => _,
            in("a3") $store,
            in("a4") $load,
            out("t0") _,
            options(nostack),
        )
    };
}

define_store_forwards! {
    turns;
    same: "sd a0, 0(a3)", "ld a0, 0(a4)", "add a0, a0, a1";
    renamed: "sd a0, 0(a3)", "ld a0, 0(a3)", "add a0, a0, a1";
    narrower: "sd a0, 0(a3)", "lwu a0, 4(a4)", "add a0, a0, a1";
    wider: "sw a0, 0(a3)", "ld a0, 0(a4)", "add a0, a0, a1";
    two_stores: "sw a0, 0(a3)", "sw a1, 4(a3)", "ld a0, 0(a4)", "add a0, a0, a1";
    // The addition to the address takes one more cycle.
    other: "sd a0, 0(a3)", "add t0, a4, a0", "ld a0, 0(t0)", "add a0, a0, a1";
}
