//! Atomic operations, fences and hints: see [`crate::arch::atomic`]. The A extension, which every
//! system of the RV64GC profile has.
//!
//! # Safety
//!
//! Each block is a whole loop that accesses only its caller's word and declares its registers.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::atomic::{ATOMIC_UNROLL, AtomicKernel, define_atomics};
use core::arch::asm;

/// Whether the CPU has an extension: only the base is used.
pub fn atomic_isa_here(isa: &str) -> bool {
    isa == "base"
}

/// The word's address is in a0, the register in a2 and 1 in a5; a3 and a4 are free.
macro_rules! turns {
    ($word:ident, $turns:ident, $register:ident, $ops:expr, [$($line:literal),*]) => {
        asm!(
            "li a5, 1",
            ".p2align 6",
            "2:",
            ".rept {ops}",
            $($line,)*
            ".endr",
            "addi a1, a1, -1",
            "bnez a1, 2b",
            ops = const $ops,
            in("a0") $word,
            inout("a1") $turns => _,
            inout("a2") $register,
            out("a3") _, out("a4") _, out("a5") _,
            options(nostack),
        )
    };
}

define_atomics! {
    turns;
    // A failure loses its count.
    "cas" "base" "sc.d.aqrl" ATOMIC_UNROLL, [
        "addi a3, a2, -1", "3:", "lr.d.aqrl a4, (a0)", "bne a4, a3, 4f", "sc.d.aqrl a4, a2, (a0)", "bnez a4, 3b", "4:",
        "addi a2, a2, 1"
    ];
    "add" "base" "amoadd.d.aqrl" ATOMIC_UNROLL, ["amoadd.d.aqrl a3, a5, (a0)"];
    "swap" "base" "amoswap.d.aqrl" ATOMIC_UNROLL, ["amoswap.d.aqrl a2, a2, (a0)"];
    "fence" "base" "fence" ATOMIC_UNROLL, ["fence rw, rw", "addi a2, a2, 1"];
    "fence_load" "base" "fence" ATOMIC_UNROLL, ["fence r, rw", "addi a2, a2, 1"];
    "fence_store" "base" "fence" ATOMIC_UNROLL, ["fence w, w", "addi a2, a2, 1"];
    "store_fence" "base" "fence" ATOMIC_UNROLL, ["sd a2, 0(a0)", "fence rw, rw", "addi a2, a2, 1"];
    // Zihintpause: a hint; on older cores a fence that orders nothing. Encoded for assemblers
    // without it.
    "pause" "base" "fence" ATOMIC_UNROLL, [".insn i 0x0f, 0, x0, x0, 0x010", "addi a2, a2, 1"];
    "counter" "base" "csrrs" ATOMIC_UNROLL, ["rdtime a2"];
}
