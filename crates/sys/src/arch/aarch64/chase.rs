//! The pointer chase: see [`crate::arch::chase`].
//!
//! # Safety
//!
//! The block is a whole loop that declares its registers and follows its caller's pointers.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::CHASE_UNROLL;
use crate::arch::chase::define_chase;
use core::arch::asm;

macro_rules! turns {
    ($here:ident, $turns:ident) => {
        asm!(
            ".p2align 6",
            "2:",
            ".rept {unroll}",
            "ldr x0, [x0]",
            ".endr",
            "subs x1, x1, #1",
            "b.ne 2b",
            unroll = const CHASE_UNROLL,
            inout("x0") $here,
            inout("x1") $turns => _,
            options(nostack, readonly),
        )
    };
}

define_chase!(turns);
