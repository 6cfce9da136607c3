//! Cache-line management: see [`crate::arch::flush`]. The extension Zicbom, where the kernel says
//! that programs may use it (Linux 6.15).
//!
//! # Safety
//!
//! Each block is a whole loop that declares its registers and accesses its caller's lines. Only
//! kernels that the CPU supports are listed.
#![expect(unsafe_code, reason = "this is the assembly")]

use super::hwprobe::{ZICBOM, has};
use crate::arch::flush::{Effect, FlushKernel, define_flushes};
use core::arch::asm;

macro_rules! batches {
    ($instruction:literal, $start:ident, $stride:ident, $batch:ident, $batches:ident) => {
        asm!(
            ".option push",
            ".option arch, +zicbom",
            "2:",
            "mv a4, a2",
            "3:",
            concat!($instruction, " 0(a0)"),
            "add a0, a0, a1",
            "addi a4, a4, -1",
            "bnez a4, 3b",
            "fence rw, rw",
            "addi a3, a3, -1",
            "bnez a3, 2b",
            ".option pop",
            inout("a0") $start => _,
            in("a1") $stride,
            in("a2") $batch,
            inout("a3") $batches => _,
            out("a4") _,
            options(nostack),
        )
    };
}

macro_rules! pairs {
    ($instruction:literal, $a:ident, $b:ident, $rounds:ident) => {
        asm!(
            ".option push",
            ".option arch, +zicbom",
            "2:",
            "ld a3, 0(a0)",
            "ld a4, 0(a1)",
            concat!($instruction, " 0(a0)"),
            concat!($instruction, " 0(a1)"),
            "fence rw, rw",
            "addi a2, a2, -1",
            "bnez a2, 2b",
            ".option pop",
            in("a0") $a,
            in("a1") $b,
            inout("a2") $rounds => _,
            out("a3") _,
            out("a4") _,
            options(nostack),
        )
    };
}

define_flushes! {
    batches, pairs;
    flush Evict "cbo_flush" "cbo.flush";
    clean Clean "cbo_clean" "cbo.clean";
}

/// Every kernel that this CPU can run, the best of each effect first.
pub fn flush_kernels() -> Vec<&'static FlushKernel> {
    if has(ZICBOM) { vec![&flush::KERNEL, &clean::KERNEL] } else { Vec::new() }
}

/// Why there is no kernel of that name.
pub fn flush_missing(name: &str) -> String {
    match name {
        "cbo_flush" | "cbo_clean" => "the kernel does not say that programs may use Zicbom".to_owned(),
        _ => format!("{name} is not an instruction of RISC-V"),
    }
}
