//! Atomic operations and the like on x86-64.
//!
//! # Safety
//!
//! Each block is a whole loop that touches nothing but the word it is given and the registers named.
#![expect(unsafe_code, reason = "this is the assembly")]

use super::super::atomic::{ATOMIC_UNROLL, AtomicKernel};
use core::arch::asm;

/// Whether the CPU has an extension.
pub fn atomic_isa_here(isa: &str) -> bool {
    match isa {
        "base" => true,
        "rdrand" => std::arch::is_x86_feature_detected!("rdrand"),
        _ => false,
    }
}

/// A loop: the word's address in rdi, the register in rax (1 at first), and rdx and r8 free.
macro_rules! kernel {
    ($name:literal, $isa:literal, $instruction:literal, $ops:expr, $($line:literal),*) => {{
        unsafe fn run(word: *mut u64, turns: u64) -> u64 {
            let mut register = 1u64;
            // SAFETY: the caller vouches for the word; rbx, which cpuid changes, is kept in r9.
            unsafe {
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
                    in("rdi") word,
                    inout("rsi") turns => _,
                    inout("rax") register,
                    out("rcx") _, out("rdx") _, out("r8") _, out("r9") _,
                    options(nostack),
                );
            }
            register
        }
        AtomicKernel { name: $name, isa: $isa, instruction: $instruction, ops: $ops, run }
    }};
}

/// All of them.
pub static ATOMIC_KERNELS: &[AtomicKernel] = &[
    // rax is what the word must be; r8 what it becomes, and is to be next. One that fails loses its count.
    kernel!(
        "cas",
        "base",
        "cmpxchg",
        ATOMIC_UNROLL,
        "lea r8, [rax]",
        "sub rax, 1",
        "lock cmpxchg [rdi], r8",
        "lea rax, [r8 + 1]"
    ),
    kernel!("add", "base", "xadd", ATOMIC_UNROLL, "mov edx, 1", "lock xadd [rdi], rdx"),
    kernel!("swap", "base", "xchg", ATOMIC_UNROLL, "xchg [rdi], rax"),
    kernel!("fence", "base", "mfence", ATOMIC_UNROLL, "mfence", "add rax, 1"),
    kernel!("fence_load", "base", "lfence", ATOMIC_UNROLL, "lfence", "add rax, 1"),
    kernel!("fence_store", "base", "sfence", ATOMIC_UNROLL, "sfence", "add rax, 1"),
    kernel!("store_fence", "base", "mfence", ATOMIC_UNROLL, "mov [rdi], rax", "mfence", "add rax, 1"),
    kernel!("pause", "base", "pause", ATOMIC_UNROLL, "pause", "add rax, 1"),
    kernel!("counter", "base", "rdtsc", ATOMIC_UNROLL, "rdtsc"),
    kernel!("random", "rdrand", "rdrand", ATOMIC_UNROLL, "rdrand rax"),
    // Each may be an exit to a hypervisor: one a turn.
    kernel!("cpuid", "base", "cpuid", 1, "xor eax, eax", "cpuid"),
];
