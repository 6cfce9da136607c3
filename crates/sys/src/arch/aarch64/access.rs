//! Dependent accesses: see [`crate::arch::access`].
//!
//! # Safety
//!
//! Each block is a whole loop that declares its registers and follows its caller's pointers.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::access::{ACCESS_UNROLL, Access, AccessKernel, define_accesses};
use crate::arch::portable::access::ACCESSES as PORTABLE;
use core::arch::asm;

/// Every kernel that this CPU can run, the portable ones last.
pub fn access_kernels() -> Vec<&'static AccessKernel> {
    let here = |kernel: &&AccessKernel| kernel.instruction != "ldadd" || std::arch::is_aarch64_feature_detected!("lse");
    ACCESSES.iter().filter(here).chain(&PORTABLE).collect()
}

macro_rules! turns {
    ($here:ident, $turns:ident, [$($line:literal),*]) => {
        asm!(
            ".arch_extension lse",
            ".p2align 6",
            "2:",
            ".rept {unroll}",
            $($line,)*
            ".endr",
            "subs x1, x1, #1",
            "b.ne 2b",
            unroll = const ACCESS_UNROLL,
            inout("x0") $here,
            inout("x1") $turns => _,
            out("x2") _,
            out("x3") _,
            options(nostack),
        )
    };
}

define_accesses! {
    turns;
    /// The plain chase, with turns of the same length as the others.
    Read "ldr" read: "ldr x0, [x0]";
    /// The increment first: its address is known, and the load of the next address overtakes it.
    Dirty "str" dirty: "ldr x2, [x0, #16]", "add x2, x2, #1", "str x2, [x0, #16]", "ldr x0, [x0]";
    /// A core may execute such an atomic where the line is instead of fetching it (a "far" atomic);
    /// then that is what is timed.
    Own "ldadd" own: "ldadd xzr, x0, [x0]";
    /// The exclusive pair of Armv8.0. The address waits for the store to succeed, not only for its
    /// line.
    Own "stxr" own_exclusive: "3:", "ldxr x2, [x0]", "stxr w3, x2, [x0]", "cbnz w3, 3b", "mov x0, x2";
    Prefetched "prfm" prefetched: "ldr x2, [x0, #8]", "prfm pldl1keep, [x2]", "ldr x0, [x0]";
    /// A hint, which a core may ignore.
    NonTemporal "ldnp" nt_load: "ldnp x0, x2, [x0]";
}
