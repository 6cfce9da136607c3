//! Dependent accesses: see [`crate::arch::access`].
//!
//! The base instruction set and the atomics (A), which every system with Linux has.
//!
//! # Safety
//!
//! Each block is a whole loop that declares its registers and follows its caller's pointers.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::access::{ACCESS_UNROLL, Access, AccessKernel, define_accesses};
use crate::arch::portable::access::ACCESSES as PORTABLE;
use core::arch::asm;

/// Every kernel that this CPU can run, the portable ones last. The base instruction set has no
/// non-temporal load.
pub fn access_kernels() -> Vec<&'static AccessKernel> {
    ACCESSES.iter().chain(&PORTABLE).collect()
}

macro_rules! turns {
    ($here:ident, $turns:ident, [$($line:literal),*]) => {
        asm!(
            ".p2align 4",
            "2:",
            ".rept {unroll}",
            $($line,)*
            ".endr",
            "addi a1, a1, -1",
            "bnez a1, 2b",
            unroll = const ACCESS_UNROLL,
            inout("a0") $here,
            inout("a1") $turns => _,
            out("a2") _,
            options(nostack),
        )
    };
}

define_accesses! {
    turns;
    /// The plain chase, with turns of the same length as the others.
    Read "c.ld" read: "ld a0, 0(a0)";
    /// The increment first: its address is known, and the load of the next address overtakes it.
    Dirty "c.sd" dirty: "ld a2, 16(a0)", "addi a2, a2, 1", "sd a2, 16(a0)", "ld a0, 0(a0)";
    Own "amoadd.d" own: "amoadd.d a0, zero, (a0)";
    /// `prefetch.r 0(a2)` of Zicbop, which is `ori zero, a2, 1`: on other cores an instruction
    /// without effect.
    Prefetched "ori" prefetched: "ld a2, 8(a0)", "ori zero, a2, 1", "ld a0, 0(a0)";
}
