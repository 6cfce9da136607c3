//! Atomic operations and the like on AArch64: those of Armv8.1 (LSE) where the CPU has them, exclusive pairs elsewhere.
//!
//! # Safety
//!
//! Each block is a whole loop that touches nothing but the word it is given and the registers named.
#![expect(unsafe_code, reason = "this is the assembly")]

use super::super::atomic::{ATOMIC_UNROLL, AtomicKernel};
use core::arch::asm;

/// Whether the CPU has an extension: the standard library asks for the system's HWCAP.
pub fn atomic_isa_here(isa: &str) -> bool {
    match isa {
        "base" => true,
        "lse" => std::arch::is_aarch64_feature_detected!("lse"),
        _ => false,
    }
}

/// A loop: the word's address in x0, the register in x2 (1 at first), and x3 and x4 free.
macro_rules! kernel {
    ($name:literal, $isa:literal, $instruction:literal, $($line:literal),*) => {{
        unsafe fn run(word: *mut u64, turns: u64) -> u64 {
            let mut register = 1u64;
            // SAFETY: the caller vouches for the word.
            unsafe {
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
                    ops = const ATOMIC_UNROLL,
                    in("x0") word,
                    inout("x1") turns => _,
                    inout("x2") register,
                    out("x3") _, out("x4") _, out("x5") _,
                    options(nostack),
                );
            }
            register
        }
        AtomicKernel { name: $name, isa: $isa, instruction: $instruction, ops: ATOMIC_UNROLL, run }
    }};
}

/// All of them, the better ones first.
pub static ATOMIC_KERNELS: &[AtomicKernel] = &[
    // x3 is what the word must be; x2 what it becomes, and is to be next. One that fails loses its count.
    kernel!("cas", "lse", "casal", "sub x3, x2, #1", "casal x3, x2, [x0]", "add x2, x2, #1"),
    kernel!("add", "lse", "ldaddal", "ldaddal x5, x3, [x0]"),
    kernel!("swap", "lse", "swpal", "swpal x2, x2, [x0]"),
    kernel!(
        "cas",
        "base",
        "stlxr",
        "sub x3, x2, #1",
        "3:",
        "ldaxr x4, [x0]",
        "cmp x4, x3",
        "b.ne 4f",
        "stlxr w4, x2, [x0]",
        "cbnz w4, 3b",
        "4:",
        "add x2, x2, #1"
    ),
    kernel!("add", "base", "stlxr", "3:", "ldaxr x3, [x0]", "add x3, x3, #1", "stlxr w4, x3, [x0]", "cbnz w4, 3b"),
    kernel!("swap", "base", "stlxr", "3:", "ldaxr x3, [x0]", "stlxr w4, x2, [x0]", "cbnz w4, 3b", "mov x2, x3"),
    kernel!("fence", "base", "dmb", "dmb ish", "add x2, x2, #1"),
    kernel!("fence_load", "base", "dmb", "dmb ishld", "add x2, x2, #1"),
    kernel!("fence_store", "base", "dmb", "dmb ishst", "add x2, x2, #1"),
    kernel!("store_fence", "base", "dmb", "str x2, [x0]", "dmb ish", "add x2, x2, #1"),
    kernel!("pause", "base", "yield", "yield", "add x2, x2, #1"),
    kernel!("counter", "base", "mrs", "mrs x2, cntvct_el0"),
];
