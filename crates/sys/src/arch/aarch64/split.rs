//! Loads and stores at any address, four in turn.
//!
//! # Safety
//!
//! Each block is a whole loop on declared registers; where it stores and loads is for its caller to vouch for.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::split::SPLITS;
use core::arch::asm;

/// Whether loads and stores may cross a line without the system's help: on ordinary memory always.
pub fn unaligned_usable() -> Result<(), String> {
    Ok(())
}

/// Loads eight bytes from each of four addresses in turn, [`SPLITS`] times a turn; returns the sum of all.
///
/// # Safety
///
/// Eight bytes may be read at each.
#[inline(never)]
pub unsafe fn split_loads(from: [*const u8; 4], turns: u64) -> u64 {
    let (mut a, mut b, mut c, mut d) = (0_u64, 0_u64, 0_u64, 0_u64);
    if turns == 0 {
        return 0;
    }
    // SAFETY: the caller vouches for the addresses; registers as declared.
    unsafe {
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
            inout("x0") turns => _,
            inout("x1") a,
            inout("x2") b,
            inout("x3") c,
            inout("x4") d,
            in("x5") from[0],
            in("x6") from[1],
            in("x7") from[2],
            in("x8") from[3],
            out("x9") _,
            out("x10") _,
            out("x11") _,
            out("x12") _,
            options(nostack, readonly),
        );
    }
    a.wrapping_add(b).wrapping_add(c).wrapping_add(d)
}

/// Stores `value` to each of four addresses in turn, [`SPLITS`] times a turn.
///
/// # Safety
///
/// Eight bytes may be written at each.
#[inline(never)]
pub unsafe fn split_stores(to: [*mut u8; 4], turns: u64, value: u64) {
    if turns == 0 {
        return;
    }
    // SAFETY: the caller vouches for the addresses; registers as declared.
    unsafe {
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
            inout("x0") turns => _,
            in("x1") value,
            in("x5") to[0],
            in("x6") to[1],
            in("x7") to[2],
            in("x8") to[3],
            options(nostack),
        );
    }
}
