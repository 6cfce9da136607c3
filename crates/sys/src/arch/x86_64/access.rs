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
    let here =
        |kernel: &&AccessKernel| kernel.kind != Access::NonTemporal || std::arch::is_x86_feature_detected!("sse4.1");
    ACCESSES.iter().filter(here).chain(&PORTABLE).collect()
}

macro_rules! turns {
    ($here:ident, $turns:ident, [$($line:literal),*]) => {
        asm!(
            ".p2align 6",
            "2:",
            ".rept {unroll}",
            $($line,)*
            ".endr",
            "sub rcx, 1",
            "jnz 2b",
            unroll = const ACCESS_UNROLL,
            inout("rax") $here,
            inout("rcx") $turns => _,
            out("rdx") _,
            out("xmm0") _,
            options(nostack),
        )
    };
}

define_accesses! {
    turns;
    /// The plain chase, with turns of the same length as the others.
    Read "mov" read: "mov rax, [rax]";
    /// The increment first: its address is known, and the load of the next address overtakes it.
    Dirty "add" dirty: "add qword ptr [rax + 16], 1", "mov rax, [rax]";
    /// A locked instruction, with its full barrier, as in every program that uses one.
    Own "lock xadd" own: "xor edx, edx", "lock xadd [rax], rdx", "mov rax, rdx";
    Prefetched "prefetcht0" prefetched: "mov rdx, [rax + 8]", "prefetcht0 [rdx]", "mov rax, [rax]";
    /// Includes the move from a vector register to the address, 2 to 3 cycles.
    NonTemporal "movntdqa" nt_load: "movntdqa xmm0, [rax]", "movq rax, xmm0";
}
