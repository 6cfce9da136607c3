//! The pointer chase: see [`crate::arch::chase`].
//!
//! # Safety
//!
//! The block is a whole loop that declares its registers and follows its caller's pointers.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::CHASE_UNROLL;
use crate::arch::chase::define_chase;
use core::arch::asm;

// `mov rax, [rax]` is the cheapest load there is: an index would add a cycle on Intel.
macro_rules! turns {
    ($here:ident, $turns:ident) => {
        asm!(
            ".p2align 6",
            "2:",
            ".rept {unroll}",
            "mov rax, [rax]",
            ".endr",
            "sub rcx, 1",
            "jnz 2b",
            unroll = const CHASE_UNROLL,
            inout("rax") $here,
            inout("rcx") $turns => _,
            options(nostack, readonly),
        )
    };
}

define_chase!(turns);
