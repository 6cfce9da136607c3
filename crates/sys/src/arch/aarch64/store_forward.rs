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
            "sub x2, x2, #1",
            "cbnz x2, 2b",
            forwards = const FORWARDS,
            inout("x0") $x,
            in("x1") CHAIN_OPERAND,
            inout("x2") $turns => _,
            in("x3") $store,
            in("x4") $load,
            options(nostack),
        )
    };
}

define_store_forwards! {
    turns;
    same: "str x0, [x3]", "ldr x0, [x4]", "add x0, x0, x1";
    renamed: "str x0, [x3]", "ldr x0, [x3]", "add x0, x0, x1";
    narrower: "str x0, [x3]", "ldr w0, [x4, #4]", "add x0, x0, x1";
    wider: "str w0, [x3]", "ldr x0, [x4]", "add x0, x0, x1";
    two_stores: "str w0, [x3]", "str w1, [x3, #4]", "ldr x0, [x4]", "add x0, x0, x1";
    other: "str x0, [x3]", "ldr x0, [x4, x0]", "add x0, x0, x1";
}
