//! Calls of a function that does nothing with its arguments: see [`crate::arch::call`].
//!
//! # Safety
//!
//! Each block is a whole loop that declares every register that the ABI lets a callee change.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::call::define_calls;
use core::arch::{asm, naked_asm};

/// The optimised callee.
#[unsafe(naked)]
extern "C" fn leaf() {
    naked_asm!("ret")
}

macro_rules! turns {
    ($turns:ident, $calls:ident, [$($set_up:literal),*], $callee:ident) => {
        // SAFETY: calls a function that leaves the stack as it was; every register that the ABI
        // lets a callee change is declared; the stack is left as it was found.
        unsafe {
            asm!(
                ".p2align 6",
                "2:",
                ".rept {calls}",
                $($set_up,)*
                "bl {callee}",
                ".endr",
                "subs x20, x20, #1",
                "b.ne 2b",
                calls = const $calls,
                callee = sym $callee,
                inout("x20") $turns => _,
                clobber_abi("C"),
            )
        }
    };
}

/// The callee of GCC without optimisation, with room for seven arguments.
macro_rules! frame {
    ([$($store:literal),*]) => {
        #[unsafe(naked)]
        extern "C" fn frame() {
            naked_asm!("sub sp, sp, #32", $($store,)* "nop", "add sp, sp, #32", "ret")
        }
    };
}

define_calls! {
    turns, frame;
    calls0: [] [];
    calls1: ["mov w0, #1"] ["str w0, [sp, #28]"];
    calls2: ["mov w0, #1", "mov w1, #2"] ["str w0, [sp, #28]", "str w1, [sp, #24]"];
    calls3: ["mov w0, #1", "mov w1, #2", "mov w2, #3"] ["str w0, [sp, #28]", "str w1, [sp, #24]", "str w2, [sp, #20]"];
    calls4:
        ["mov w0, #1", "mov w1, #2", "mov w2, #3", "mov w3, #4"]
        ["str w0, [sp, #28]", "str w1, [sp, #24]", "str w2, [sp, #20]", "str w3, [sp, #16]"];
    calls5:
        ["mov w0, #1", "mov w1, #2", "mov w2, #3", "mov w3, #4", "mov w4, #5"]
        ["str w0, [sp, #28]", "str w1, [sp, #24]", "str w2, [sp, #20]", "str w3, [sp, #16]", "str w4, [sp, #12]"];
    calls6:
        ["mov w0, #1", "mov w1, #2", "mov w2, #3", "mov w3, #4", "mov w4, #5", "mov w5, #6"]
        [
            "str w0, [sp, #28]", "str w1, [sp, #24]", "str w2, [sp, #20]", "str w3, [sp, #16]",
            "str w4, [sp, #12]", "str w5, [sp, #8]"
        ];
    calls7:
        ["mov w0, #1", "mov w1, #2", "mov w2, #3", "mov w3, #4", "mov w4, #5", "mov w5, #6", "mov w6, #7"]
        [
            "str w0, [sp, #28]", "str w1, [sp, #24]", "str w2, [sp, #20]", "str w3, [sp, #16]",
            "str w4, [sp, #12]", "str w5, [sp, #8]", "str w6, [sp, #4]"
        ];
}
