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
                "call {callee}",
                ".endr",
                "addi s2, s2, -1",
                "bnez s2, 2b",
                calls = const $calls,
                callee = sym $callee,
                inout("s2") $turns => _,
                clobber_abi("C"),
            )
        }
    };
}

/// The callee of Clang without optimisation, with room for seven arguments.
macro_rules! frame {
    ([$($store:literal),*]) => {
        #[unsafe(naked)]
        extern "C" fn frame() {
            naked_asm!(
                "addi sp, sp, -48",
                "sd ra, 40(sp)",
                "sd s0, 32(sp)",
                "addi s0, sp, 48",
                $($store,)*
                "ld ra, 40(sp)",
                "ld s0, 32(sp)",
                "addi sp, sp, 48",
                "ret",
            )
        }
    };
}

define_calls! {
    turns, frame;
    calls0: [] [];
    calls1: ["li a0, 1"] ["sw a0, -20(s0)"];
    calls2: ["li a0, 1", "li a1, 2"] ["sw a0, -20(s0)", "sw a1, -24(s0)"];
    calls3: ["li a0, 1", "li a1, 2", "li a2, 3"] ["sw a0, -20(s0)", "sw a1, -24(s0)", "sw a2, -28(s0)"];
    calls4:
        ["li a0, 1", "li a1, 2", "li a2, 3", "li a3, 4"]
        ["sw a0, -20(s0)", "sw a1, -24(s0)", "sw a2, -28(s0)", "sw a3, -32(s0)"];
    calls5:
        ["li a0, 1", "li a1, 2", "li a2, 3", "li a3, 4", "li a4, 5"]
        ["sw a0, -20(s0)", "sw a1, -24(s0)", "sw a2, -28(s0)", "sw a3, -32(s0)", "sw a4, -36(s0)"];
    calls6:
        ["li a0, 1", "li a1, 2", "li a2, 3", "li a3, 4", "li a4, 5", "li a5, 6"]
        ["sw a0, -20(s0)", "sw a1, -24(s0)", "sw a2, -28(s0)", "sw a3, -32(s0)", "sw a4, -36(s0)", "sw a5, -40(s0)"];
    calls7:
        ["li a0, 1", "li a1, 2", "li a2, 3", "li a3, 4", "li a4, 5", "li a5, 6", "li a6, 7"]
        [
            "sw a0, -20(s0)", "sw a1, -24(s0)", "sw a2, -28(s0)", "sw a3, -32(s0)",
            "sw a4, -36(s0)", "sw a5, -40(s0)", "sw a6, -44(s0)"
        ];
}
