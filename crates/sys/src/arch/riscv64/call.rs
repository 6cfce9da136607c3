//! Calls of a function that only returns: see [`crate::arch::call`].
//!
//! # Safety
//!
//! Each block is a whole loop that declares every register that the ABI lets a callee change.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::call::define_calls;
use core::arch::{asm, naked_asm};

/// The function that is called.
#[unsafe(naked)]
extern "C" fn leaf() {
    naked_asm!("ret")
}

macro_rules! turns {
    ($turns:ident, $calls:ident, [$($set_up:literal),*]) => {
        // SAFETY: calls a function that only returns; every register that the ABI lets a callee
        // change is declared; the stack is left as it was found.
        unsafe {
            asm!(
                ".p2align 6",
                "2:",
                ".rept {calls}",
                $($set_up,)*
                "call {leaf}",
                ".endr",
                "addi s2, s2, -1",
                "bnez s2, 2b",
                calls = const $calls,
                leaf = sym leaf,
                inout("s2") $turns => _,
                clobber_abi("C"),
            )
        }
    };
}

define_calls! {
    turns;
    calls0: [];
    calls1: ["li a0, 1"];
    calls2: ["li a0, 1", "li a1, 2"];
    calls3: ["li a0, 1", "li a1, 2", "li a2, 3"];
    calls4: ["li a0, 1", "li a1, 2", "li a2, 3", "li a3, 4"];
    calls5: ["li a0, 1", "li a1, 2", "li a2, 3", "li a3, 4", "li a4, 5"];
    calls6: ["li a0, 1", "li a1, 2", "li a2, 3", "li a3, 4", "li a4, 5", "li a5, 6"];
    calls7: ["li a0, 1", "li a1, 2", "li a2, 3", "li a3, 4", "li a4, 5", "li a5, 6", "li a6, 7"];
}
