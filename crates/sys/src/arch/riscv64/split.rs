//! Loads and stores at any address: see [`crate::arch::split`].
//!
//! # Safety
//!
//! Each block is a whole loop that declares its registers and accesses its caller's addresses.
#![expect(unsafe_code, reason = "this is the assembly")]

use super::hwprobe::{CPUPERF_0, hwprobe};
use crate::arch::split::{SPLITS, define_splits};
use core::arch::asm;

/// Whether loads and stores may be misaligned without the kernel's help, as the kernel reports
/// (hwprobe). Where they trap, each costs a microsecond, and the kernel's emulation would be
/// measured.
pub fn unaligned_usable() -> Result<(), String> {
    // Documentation/arch/riscv/hwprobe.rst: the lowest three bits say how misaligned scalar
    // accesses are done.
    match hwprobe(CPUPERF_0).map(|performance| performance & 7) {
        // Slow and fast.
        Some(2 | 3) => Ok(()),
        Some(1) => Err("misaligned loads trap, and the system emulates them".into()),
        Some(4) => Err("this CPU has no misaligned loads".into()),
        Some(_) => Err("the kernel does not know whether misaligned loads trap".into()),
        None => Err("the kernel does not say whether misaligned loads trap (hwprobe)".into()),
    }
}

macro_rules! loads {
    ($from:ident, $turns:ident, $a:ident, $b:ident, $c:ident, $d:ident) => {
        asm!(
            ".p2align 6",
            "2:",
            ".rept {splits} / 4",
            "ld t1, 0(a5)",
            "ld t2, 0(a6)",
            "ld t3, 0(a7)",
            "ld t4, 0(t0)",
            "add a1, a1, t1",
            "add a2, a2, t2",
            "add a3, a3, t3",
            "add a4, a4, t4",
            ".endr",
            "addi a0, a0, -1",
            "bnez a0, 2b",
            splits = const SPLITS,
            inout("a0") $turns => _,
            inout("a1") $a,
            inout("a2") $b,
            inout("a3") $c,
            inout("a4") $d,
            in("a5") $from[0],
            in("a6") $from[1],
            in("a7") $from[2],
            in("t0") $from[3],
            out("t1") _,
            out("t2") _,
            out("t3") _,
            out("t4") _,
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
            "sd a1, 0(a5)",
            "sd a1, 0(a6)",
            "sd a1, 0(a7)",
            "sd a1, 0(t0)",
            ".endr",
            "addi a0, a0, -1",
            "bnez a0, 2b",
            splits = const SPLITS,
            inout("a0") $turns => _,
            in("a1") $value,
            in("a5") $to[0],
            in("a6") $to[1],
            in("a7") $to[2],
            in("t0") $to[3],
            options(nostack),
        )
    };
}

define_splits!(loads, stores);
