//! Cache-line management for x86-64. The fence is `mfence` after each of them, which waits until the lines have left;
//! `sfence` orders the weaker ones too, but lets the core go on.
//!
//! # Safety
//!
//! Each `asm!` block is a whole loop that names every register it changes and goes where its caller's pointers lead; the
//! list holds only what CPUID says the CPU has.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::flush::{Effect, FlushKernel};
use core::arch::{asm, x86_64::__cpuid, x86_64::__cpuid_count};

macro_rules! kernels {
    ($($module:ident $effect:ident;)*) => {
        $(mod $module {
            use super::*;

            pub(super) static KERNEL: FlushKernel =
                FlushKernel { name: stringify!($module), effect: Effect::$effect, run, pair };

            /// # Safety
            ///
            /// As [`FlushKernel::run`].
            #[inline(never)]
            unsafe fn run(start: *const u8, stride: usize, batch: u64, batches: u64) {
                if batch == 0 || batches == 0 {
                    return;
                }
                // SAFETY: the caller vouches for the lines; registers as declared.
                unsafe {
                    asm!(
                        "2:",
                        "mov r8, rdx",
                        ".p2align 6",
                        "3:",
                        concat!(stringify!($module), " [rdi]"),
                        "add rdi, rsi",
                        "sub r8, 1",
                        "jnz 3b",
                        "mfence",
                        "sub rcx, 1",
                        "jnz 2b",
                        inout("rdi") start => _,
                        in("rsi") stride,
                        in("rdx") batch,
                        inout("rcx") batches => _,
                        out("r8") _,
                        options(nostack),
                    );
                }
            }

            /// # Safety
            ///
            /// As [`FlushKernel::pair`].
            #[inline(never)]
            unsafe fn pair(a: *const u8, b: *const u8, rounds: u64) {
                if rounds == 0 {
                    return;
                }
                // SAFETY: the caller vouches for both; registers as declared.
                unsafe {
                    asm!(
                        ".p2align 6",
                        "2:",
                        "mov rax, [rdi]",
                        "mov rdx, [rsi]",
                        concat!(stringify!($module), " [rdi]"),
                        concat!(stringify!($module), " [rsi]"),
                        "mfence",
                        "sub rcx, 1",
                        "jnz 2b",
                        in("rdi") a,
                        in("rsi") b,
                        inout("rcx") rounds => _,
                        out("rax") _,
                        out("rdx") _,
                        options(nostack),
                    );
                }
            }
        })*
    };
}

kernels! {
    clflush Evict;
    clflushopt Evict;
    clwb Clean;
    cldemote Demote;
}

/// Whether CPUID names the instruction (Intel SDM vol. 2, CPUID: leaf 1 EDX bit 19; leaf 7 EBX bits 23 and 24, ECX bit 25).
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

/// Every kernel that this CPU can run; of one effect the best first.
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
