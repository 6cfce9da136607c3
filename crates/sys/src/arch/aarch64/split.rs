//! Loads and stores at any address: see [`crate::arch::split`].
//!
//! # Safety
//!
//! Each block is a whole loop that declares its registers and accesses its caller's addresses.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::split::{SPLITS, define_splits};
use core::arch::asm;

/// Whether loads and stores may be misaligned without the kernel's help: on ordinary memory always.
pub fn unaligned_usable() -> Result<(), String> {
    Ok(())
}

macro_rules! loads {
    ($from:ident, $turns:ident, $a:ident, $b:ident, $c:ident, $d:ident) => {
        asm!(
            ".p2align 6",
            "2:",
            ".rept {splits} / 4",
            "ldr x9, [x5]",
            "ldr x10, [x6]",
            "ldr x11, [x7]",
            "ldr x12, [x8]",
            "add x1, x1, x9",
            "add x2, x2, x10",
            "add x3, x3, x11",
            "add x4, x4, x12",
            ".endr",
            "sub x0, x0, #1",
            "cbnz x0, 2b",
            splits = const SPLITS,
            inout("x0") $turns => _,
            inout("x1") $a,
            inout("x2") $b,
            inout("x3") $c,
            inout("x4") $d,
            in("x5") $from[0],
            in("x6") $from[1],
            in("x7") $from[2],
            in("x8") $from[3],
            out("x9") _,
            out("x10") _,
            out("x11") _,
            out("x12") _,
            options(nostack, readonly),
        )
    };
}

macro_rules! stores {
    ($to:ident, $turns:ident, $value:ident) => {
        asm!(
            ".p2align 6",
            "2:",
            ".rept {splits} / 4",
            "str x1, [x5]",
            "str x1, [x6]",
            "str x1, [x7]",
            "str x1, [x8]",
            ".endr",
            "sub x0, x0, #1",
            "cbnz x0, 2b",
            splits = const SPLITS,
            inout("x0") $turns => _,
            in("x1") $value,
            in("x5") $to[0],
            in("x6") $to[1],
            in("x7") $to[2],
            in("x8") $to[3],
            options(nostack),
        )
    };
}

define_splits!(loads, stores);
