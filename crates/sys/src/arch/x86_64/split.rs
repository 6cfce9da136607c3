//! Loads and stores at any address: see [`crate::arch::split`].
//!
//! # Safety
//!
//! Each block is a whole loop that declares its registers and accesses its caller's addresses.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::split::{SPLITS, define_splits};
use core::arch::asm;

/// Whether loads and stores may be misaligned without the kernel's help: on x86-64 always.
pub fn unaligned_usable() -> Result<(), String> {
    Ok(())
}

macro_rules! loads {
    ($from:ident, $turns:ident, $a:ident, $b:ident, $c:ident, $d:ident) => {
        asm!(
            ".p2align 6",
            "2:",
            ".rept {splits} / 4",
            "add rax, [r8]",
            "add rdx, [r9]",
            "add rsi, [r10]",
            "add rdi, [r11]",
            ".endr",
            "sub rcx, 1",
            "jnz 2b",
            splits = const SPLITS,
            inout("rcx") $turns => _,
            inout("rax") $a,
            inout("rdx") $b,
            inout("rsi") $c,
            inout("rdi") $d,
            in("r8") $from[0],
            in("r9") $from[1],
            in("r10") $from[2],
            in("r11") $from[3],
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
            "mov [r8], rax",
            "mov [r9], rax",
            "mov [r10], rax",
            "mov [r11], rax",
            ".endr",
            "sub rcx, 1",
            "jnz 2b",
            splits = const SPLITS,
            inout("rcx") $turns => _,
            in("rax") $value,
            in("r8") $to[0],
            in("r9") $to[1],
            in("r10") $to[2],
            in("r11") $to[3],
            options(nostack),
        )
    };
}

define_splits!(loads, stores);
