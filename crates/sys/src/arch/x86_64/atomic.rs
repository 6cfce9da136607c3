//! Atomic operations, fences and hints: see [`crate::arch::atomic`].
//!
//! # Safety
//!
//! Each block is a whole loop that accesses only its caller's word and declares its registers.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::atomic::{ATOMIC_UNROLL, AtomicKernel, define_atomics};
use core::arch::asm;

/// Whether the CPU has an extension.
pub fn atomic_isa_here(isa: &str) -> bool {
    match isa {
        "base" => true,
        "rdrand" => std::arch::is_x86_feature_detected!("rdrand"),
        _ => false,
    }
}

/// The word's address is in rdi and the register in rax; rdx and r8 are free. cpuid changes rbx,
/// which r9 keeps.
macro_rules! turns {
    ($word:ident, $turns:ident, $register:ident, $ops:expr, [$($line:literal),*]) => {
        asm!(
            "mov r9, rbx",
            ".p2align 6",
            "2:",
            ".rept {ops}",
            $($line,)*
            ".endr",
            "sub rsi, 1",
            "jnz 2b",
            "mov rbx, r9",
            ops = const $ops,
            in("rdi") $word,
            inout("rsi") $turns => _,
            inout("rax") $register,
            out("rcx") _, out("rdx") _, out("r8") _, out("r9") _,
            options(nostack),
        )
    };
}

define_atomics! {
    turns;
    // rax is what the word must be; r8 what it becomes, and the next expected value. A failure
    // loses its count.
    "cas" "base" "cmpxchg" ATOMIC_UNROLL, ["lea r8, [rax]", "sub rax, 1", "lock cmpxchg [rdi], r8", "lea rax, [r8 + 1]"];
    "add" "base" "xadd" ATOMIC_UNROLL, ["mov edx, 1", "lock xadd [rdi], rdx"];
    "swap" "base" "xchg" ATOMIC_UNROLL, ["xchg [rdi], rax"];
    "fence" "base" "mfence" ATOMIC_UNROLL, ["mfence", "add rax, 1"];
    "fence_load" "base" "lfence" ATOMIC_UNROLL, ["lfence", "add rax, 1"];
    "fence_store" "base" "sfence" ATOMIC_UNROLL, ["sfence", "add rax, 1"];
    "store_fence" "base" "mfence" ATOMIC_UNROLL, ["mov [rdi], rax", "mfence", "add rax, 1"];
    "pause" "base" "pause" ATOMIC_UNROLL, ["pause", "add rax, 1"];
    "counter" "base" "rdtsc" ATOMIC_UNROLL, ["rdtsc"];
    "random" "rdrand" "rdrand" ATOMIC_UNROLL, ["rdrand rax"];
    // May exit to a hypervisor: one a turn.
    "cpuid" "base" "cpuid" 1, ["xor eax, eax", "cpuid"];
}
