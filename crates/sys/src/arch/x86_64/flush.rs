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

#[cfg(test)]
mod tests {
    use super::*;

    /// Without the fence the lines are still on their way when the clock is read; without the
    /// second line of a pair nothing shows at all.
    #[test]
    fn loops_wait_for_their_lines_and_pairs_have_two() {
        fn holds(function: *const u8, bytes: &[u8]) -> bool {
            // SAFETY: no function of this program is within half a kilobyte of the end of its text.
            let code = unsafe { std::slice::from_raw_parts(function, 512) };
            code.windows(bytes.len()).any(|seen| seen == bytes)
        }
        const MFENCE: [u8; 3] = [0x0f, 0xae, 0xf0];
        for kernel in [&clflush::KERNEL, &clflushopt::KERNEL, &clwb::KERNEL, &cldemote::KERNEL] {
            // On [rdi] and on [rsi].
            let (first, second): (&[u8], &[u8]) = match kernel.name {
                "clflush" => (&[0x0f, 0xae, 0x3f], &[0x0f, 0xae, 0x3e]),
                "clflushopt" => (&[0x66, 0x0f, 0xae, 0x3f], &[0x66, 0x0f, 0xae, 0x3e]),
                "clwb" => (&[0x66, 0x0f, 0xae, 0x37], &[0x66, 0x0f, 0xae, 0x36]),
                _ => (&[0x0f, 0x1c, 0x07], &[0x0f, 0x1c, 0x06]),
            };
            // add rdi, rsi; sub r8, 1; jnz to the instruction
            let step = [first, &[0x48, 0x01, 0xf7, 0x49, 0x83, 0xe8, 0x01, 0x75]].concat();
            let back = 0_u8.wrapping_sub(step.len() as u8 + 1);
            let batch = [&step[..], &[back], &MFENCE].concat();
            assert!(holds(kernel.run as *const u8, &batch), "{}", kernel.name);
            // mov rax, [rdi]; mov rdx, [rsi]
            let loads: &[u8] = &[0x48, 0x8b, 0x07, 0x48, 0x8b, 0x16];
            let pair = [loads, first, second, &MFENCE].concat();
            assert!(holds(kernel.pair as *const u8, &pair), "{}", kernel.name);
        }
    }
}
