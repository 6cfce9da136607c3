//! Cache-line management: see [`crate::arch::flush`].
//!
//! The fence is `mfence` after each of them, which waits until the lines have left. `sfence` orders
//! the weaker instructions too, but lets the core continue.
//!
//! # Safety
//!
//! Each block is a whole loop that declares its registers and accesses its caller's lines. Only
//! kernels that the CPU supports are listed.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::flush::{Effect, FlushKernel, define_flushes};
use core::arch::{asm, x86_64::__cpuid, x86_64::__cpuid_count};

macro_rules! batches {
    ($instruction:literal, $start:ident, $stride:ident, $batch:ident, $batches:ident) => {
        asm!(
            "2:",
            "mov r8, rdx",
            ".p2align 6",
            "3:",
            concat!($instruction, " [rdi]"),
            "add rdi, rsi",
            "sub r8, 1",
            "jnz 3b",
            "mfence",
            "sub rcx, 1",
            "jnz 2b",
            inout("rdi") $start => _,
            in("rsi") $stride,
            in("rdx") $batch,
            inout("rcx") $batches => _,
            out("r8") _,
            options(nostack),
        )
    };
}

macro_rules! pairs {
    ($instruction:literal, $a:ident, $b:ident, $rounds:ident) => {
        asm!(
            ".p2align 6",
            "2:",
            "mov rax, [rdi]",
            "mov rdx, [rsi]",
            concat!($instruction, " [rdi]"),
            concat!($instruction, " [rsi]"),
            "mfence",
            "sub rcx, 1",
            "jnz 2b",
            in("rdi") $a,
            in("rsi") $b,
            inout("rcx") $rounds => _,
            out("rax") _,
            out("rdx") _,
            options(nostack),
        )
    };
}

define_flushes! {
    batches, pairs;
    clflush Evict "clflush" "clflush";
    clflushopt Evict "clflushopt" "clflushopt";
    clwb Clean "clwb" "clwb";
    cldemote Demote "cldemote" "cldemote";
}

/// Whether CPUID names the instruction (Intel SDM vol. 2, CPUID: leaf 1 EDX bit 19; leaf 7 EBX bits
/// 23 and 24, ECX bit 25).
fn has(name: &str) -> bool {
    let leaf7 = || (__cpuid(0).eax >= 7).then(|| __cpuid_count(7, 0));
    match name {
        "clflush" => __cpuid(1).edx & 1 << 19 != 0,
        "clflushopt" => leaf7().is_some_and(|leaf| leaf.ebx & 1 << 23 != 0),
        "clwb" => leaf7().is_some_and(|leaf| leaf.ebx & 1 << 24 != 0),
        "cldemote" => leaf7().is_some_and(|leaf| leaf.ecx & 1 << 25 != 0),
        _ => false,
    }
}

/// Every kernel that this CPU can run, the best of each effect first.
pub fn flush_kernels() -> Vec<&'static FlushKernel> {
    let all = [&clflushopt::KERNEL, &clflush::KERNEL, &clwb::KERNEL, &cldemote::KERNEL];
    all.into_iter().filter(|kernel| has(kernel.name)).collect()
}

/// Why there is no kernel of that name.
pub fn flush_missing(name: &str) -> String {
    match name {
        "clflush" | "clflushopt" | "clwb" | "cldemote" => format!("CPUID does not name {name}"),
        _ => format!("{name} is not an instruction of x86-64"),
    }
}
