//! Cache-line management, to the point of coherency: see [`crate::arch::flush`].
//!
//! Linux allows programs these instructions on every CPU (`SCTLR_EL1.UCI`). Where an erratum
//! forbids it, the kernel emulates them, and that time is measured.
//!
//! # Safety
//!
//! Each block is a whole loop that declares its registers and accesses its caller's lines. Only
//! kernels that the CPU supports are listed.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::flush::{Effect, FlushKernel, define_flushes};
use core::arch::asm;

macro_rules! batches {
    ($instruction:literal, $start:ident, $stride:ident, $batch:ident, $batches:ident) => {
        asm!(
            "2:",
            "mov x4, x2",
            ".p2align 6",
            "3:",
            concat!($instruction, ", x0"),
            "add x0, x0, x1",
            "subs x4, x4, #1",
            "b.ne 3b",
            "dsb ish",
            "subs x3, x3, #1",
            "b.ne 2b",
            inout("x0") $start => _,
            in("x1") $stride,
            in("x2") $batch,
            inout("x3") $batches => _,
            out("x4") _,
            options(nostack),
        )
    };
}

macro_rules! pairs {
    ($instruction:literal, $a:ident, $b:ident, $rounds:ident) => {
        asm!(
            ".p2align 6",
            "2:",
            "ldr x3, [x0]",
            "ldr x4, [x1]",
            concat!($instruction, ", x0"),
            concat!($instruction, ", x1"),
            "dsb ish",
            "subs x2, x2, #1",
            "b.ne 2b",
            in("x0") $a,
            in("x1") $b,
            inout("x2") $rounds => _,
            out("x3") _,
            out("x4") _,
            options(nostack),
        )
    };
}

define_flushes! {
    batches, pairs;
    civac Evict "dc_civac" "dc civac";
    cvac Clean "dc_cvac" "dc cvac";
}

/// Every kernel that this CPU can run, the best of each effect first.
pub fn flush_kernels() -> Vec<&'static FlushKernel> {
    vec![&civac::KERNEL, &cvac::KERNEL]
}

/// Why there is no kernel of that name.
pub fn flush_missing(name: &str) -> String {
    format!("{name} is not an instruction of AArch64")
}
