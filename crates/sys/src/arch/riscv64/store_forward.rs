//! Chains of a store and a load of what it stored.
//!
//! # Safety
//!
//! Each block is a whole loop on declared registers; where it stores and loads is for its caller to vouch for.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::CHAIN_OPERAND;
use crate::arch::store_forward::{Chain, FORWARDS, Forward};
use core::arch::asm;

/// The chain whose loads lie so to their stores.
pub fn forward(kind: Forward) -> Chain {
    match kind {
        Forward::Same => same,
        Forward::Renamed => renamed,
        Forward::Narrower => narrower,
        Forward::Wider => wider,
        Forward::TwoStores => two_stores,
        Forward::Other => other,
    }
}

macro_rules! chains {
    ($($name:ident: $($instruction:literal),*;)*) => {$(
        /// # Safety
        ///
        /// As [`Chain`].
        unsafe fn $name(store: *mut u8, load: *const u8, turns: u64, mut x: u64) -> u64 {
            if turns == 0 {
                return x;
            }
            // SAFETY: the caller vouches for the addresses; registers as declared.
            unsafe {
                asm!(
                    ".p2align 6",
                    "2:",
                    ".rept {forwards}",
                    $($instruction,)*
                    ".endr",
                    "addi a2, a2, -1",
                    "bnez a2, 2b",
                    forwards = const FORWARDS,
                    inout("a0") x,
                    in("a1") CHAIN_OPERAND,
                    inout("a2") turns => _,
                    in("a3") store,
                    in("a4") load,
                    out("t0") _,
                    options(nostack),
                );
            }
            x
        }
    )*};
}

chains! {
    same: "sd a0, 0(a3)", "ld a0, 0(a4)", "add a0, a0, a1";
    renamed: "sd a0, 0(a3)", "ld a0, 0(a3)", "add a0, a0, a1";
    narrower: "sd a0, 0(a3)", "lwu a0, 4(a4)", "add a0, a0, a1";
    wider: "sw a0, 0(a3)", "ld a0, 0(a4)", "add a0, a0, a1";
    two_stores: "sw a0, 0(a3)", "sw a1, 4(a3)", "ld a0, 0(a4)", "add a0, a0, a1";
    // The addition to the address is a cycle more.
    other: "sd a0, 0(a3)", "add t0, a4, a0", "ld a0, 0(t0)", "add a0, a0, a1";
}
