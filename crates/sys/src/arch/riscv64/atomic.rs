//! Atomic operations and the like on RISC-V, 64 bits: the A extension, which every system of the RV64GC profile has.
//!
//! # Safety
//!
//! Each block is a whole loop that touches nothing but the word it is given and the registers named.
#![expect(unsafe_code, reason = "this is the assembly")]

use super::super::atomic::{ATOMIC_UNROLL, AtomicKernel};
use core::arch::asm;

/// Whether the CPU has an extension: none but the base is used.
pub fn atomic_isa_here(isa: &str) -> bool {
    isa == "base"
}

/// A loop: the word's address in a0, the register in a2 (1 at first), 1 in a5, and a3 and a4 free.
macro_rules! kernel {
    ($name:literal, $instruction:literal, $($line:literal),*) => {{
        unsafe fn run(word: *mut u64, turns: u64) -> u64 {
            let mut register = 1u64;
            // SAFETY: the caller vouches for the word.
            unsafe {
                asm!(
                    "li a5, 1",
                    ".p2align 6",
                    "2:",
                    ".rept {ops}",
                    $($line,)*
                    ".endr",
                    "addi a1, a1, -1",
                    "bnez a1, 2b",
                    ops = const ATOMIC_UNROLL,
                    in("a0") word,
                    inout("a1") turns => _,
                    inout("a2") register,
                    out("a3") _, out("a4") _, out("a5") _,
                    options(nostack),
                );
            }
            register
        }
        AtomicKernel { name: $name, isa: "base", instruction: $instruction, ops: ATOMIC_UNROLL, run }
    }};
}

/// All of them.
pub static ATOMIC_KERNELS: &[AtomicKernel] = &[
    // One that fails loses its count.
    kernel!(
        "cas",
        "sc.d.aqrl",
        "addi a3, a2, -1",
        "3:",
        "lr.d.aqrl a4, (a0)",
        "bne a4, a3, 4f",
        "sc.d.aqrl a4, a2, (a0)",
        "bnez a4, 3b",
        "4:",
        "addi a2, a2, 1"
    ),
    kernel!("add", "amoadd.d.aqrl", "amoadd.d.aqrl a3, a5, (a0)"),
    kernel!("swap", "amoswap.d.aqrl", "amoswap.d.aqrl a2, a2, (a0)"),
    kernel!("fence", "fence", "fence rw, rw", "addi a2, a2, 1"),
    kernel!("fence_load", "fence", "fence r, rw", "addi a2, a2, 1"),
    kernel!("fence_store", "fence", "fence w, w", "addi a2, a2, 1"),
    kernel!("store_fence", "fence", "sd a2, 0(a0)", "fence rw, rw", "addi a2, a2, 1"),
    // Zihintpause: a hint, which older cores take for a fence that orders nothing (spelled out for assemblers without it).
    kernel!("pause", "fence", ".insn i 0x0f, 0, x0, x0, 0x010", "addi a2, a2, 1"),
    kernel!("counter", "csrrs", "rdtime a2"),
];
