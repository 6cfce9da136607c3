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
                    "sub x2, x2, #1",
                    "cbnz x2, 2b",
                    forwards = const FORWARDS,
                    inout("x0") x,
                    in("x1") CHAIN_OPERAND,
                    inout("x2") turns => _,
                    in("x3") store,
                    in("x4") load,
                    options(nostack),
                );
            }
            x
        }
    )*};
}

chains! {
    same: "str x0, [x3]", "ldr x0, [x4]", "add x0, x0, x1";
    renamed: "str x0, [x3]", "ldr x0, [x3]", "add x0, x0, x1";
    narrower: "str x0, [x3]", "ldr w0, [x4, #4]", "add x0, x0, x1";
    wider: "str w0, [x3]", "ldr x0, [x4]", "add x0, x0, x1";
    two_stores: "str w0, [x3]", "str w1, [x3, #4]", "ldr x0, [x4]", "add x0, x0, x1";
    other: "str x0, [x3]", "ldr x0, [x4, x0]", "add x0, x0, x1";
}
