//! Atomic operations, fences and hints: see [`crate::arch::atomic`]. Those of Armv8.1 (LSE) where
//! the CPU has them, otherwise exclusive pairs.
//!
//! # Safety
//!
//! Each block is a whole loop that accesses only its caller's word and declares its registers.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::atomic::{ATOMIC_UNROLL, AtomicKernel, define_atomics};
use core::arch::asm;

/// Whether the CPU has an extension, from the system's HWCAP.
pub fn atomic_isa_here(isa: &str) -> bool {
    match isa {
        "base" => true,
        "lse" => std::arch::is_aarch64_feature_detected!("lse"),
        _ => false,
    }
}

/// The word's address is in x0, the register in x2 and 1 in x5; x3 and x4 are free.
macro_rules! turns {
    ($word:ident, $turns:ident, $register:ident, $ops:expr, [$($line:literal),*]) => {
        asm!(
            ".arch_extension lse",
            "mov x5, #1",
            ".p2align 6",
            "2:",
            ".rept {ops}",
            $($line,)*
            ".endr",
            "subs x1, x1, #1",
            "b.ne 2b",
            ops = const $ops,
            in("x0") $word,
            inout("x1") $turns => _,
            inout("x2") $register,
            out("x3") _, out("x4") _, out("x5") _,
            options(nostack),
        )
    };
}

define_atomics! {
    turns;
    // x3 is what the word must be; x2 what it becomes, and the next expected value. A failure loses
    // its count.
    "cas" "lse" "casal" ATOMIC_UNROLL, ["sub x3, x2, #1", "casal x3, x2, [x0]", "add x2, x2, #1"];
    "add" "lse" "ldaddal" ATOMIC_UNROLL, ["ldaddal x5, x3, [x0]"];
    "swap" "lse" "swpal" ATOMIC_UNROLL, ["swpal x2, x2, [x0]"];
    "cas" "base" "stlxr" ATOMIC_UNROLL, [
        "sub x3, x2, #1", "3:", "ldaxr x4, [x0]", "cmp x4, x3", "b.ne 4f", "stlxr w4, x2, [x0]", "cbnz w4, 3b", "4:",
        "add x2, x2, #1"
    ];
    "add" "base" "stlxr" ATOMIC_UNROLL, ["3:", "ldaxr x3, [x0]", "add x3, x3, #1", "stlxr w4, x3, [x0]", "cbnz w4, 3b"];
    "swap" "base" "stlxr" ATOMIC_UNROLL, ["3:", "ldaxr x3, [x0]", "stlxr w4, x2, [x0]", "cbnz w4, 3b", "mov x2, x3"];
    "fence" "base" "dmb" ATOMIC_UNROLL, ["dmb ish", "add x2, x2, #1"];
    "fence_load" "base" "dmb" ATOMIC_UNROLL, ["dmb ishld", "add x2, x2, #1"];
    "fence_store" "base" "dmb" ATOMIC_UNROLL, ["dmb ishst", "add x2, x2, #1"];
    "store_fence" "base" "dmb" ATOMIC_UNROLL, ["str x2, [x0]", "dmb ish", "add x2, x2, #1"];
    "pause" "base" "yield" ATOMIC_UNROLL, ["yield", "add x2, x2, #1"];
    "counter" "base" "mrs" ATOMIC_UNROLL, ["mrs x2, cntvct_el0"];
}
