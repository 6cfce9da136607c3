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
                "bl {leaf}",
                ".endr",
                "subs x20, x20, #1",
                "b.ne 2b",
                calls = const $calls,
                leaf = sym leaf,
                inout("x20") $turns => _,
                clobber_abi("C"),
            )
        }
    };
}

define_calls! {
    turns;
    calls0: [];
    calls1: ["mov w0, #1"];
    calls2: ["mov w0, #1", "mov w1, #2"];
    calls3: ["mov w0, #1", "mov w1, #2", "mov w2, #3"];
    calls4: ["mov w0, #1", "mov w1, #2", "mov w2, #3", "mov w3, #4"];
    calls5: ["mov w0, #1", "mov w1, #2", "mov w2, #3", "mov w3, #4", "mov w4, #5"];
    calls6: ["mov w0, #1", "mov w1, #2", "mov w2, #3", "mov w3, #4", "mov w4, #5", "mov w5, #6"];
    calls7: ["mov w0, #1", "mov w1, #2", "mov w2, #3", "mov w3, #4", "mov w4, #5", "mov w5, #6", "mov w6, #7"];
}
