//! Loads and stores at any address, four in turn.
//!
//! # Safety
//!
//! Each block is a whole loop on declared registers; where it stores and loads is for its caller to vouch for.
#![expect(unsafe_code, reason = "this is the assembly")]

use crate::arch::split::SPLITS;
use core::arch::asm;

/// Whether loads and stores may cross a line without the system's help: on x86-64 always.
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
            "add rax, [r8]",
            "add rdx, [r9]",
            "add rsi, [r10]",
            "add rdi, [r11]",
            ".endr",
            "sub rcx, 1",
            "jnz 2b",
            splits = const SPLITS,
            inout("rcx") turns => _,
            inout("rax") a,
            inout("rdx") b,
            inout("rsi") c,
            inout("rdi") d,
            in("r8") from[0],
            in("r9") from[1],
            in("r10") from[2],
            in("r11") from[3],
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
            "mov [r8], rax",
            "mov [r9], rax",
            "mov [r10], rax",
            "mov [r11], rax",
            ".endr",
            "sub rcx, 1",
            "jnz 2b",
            splits = const SPLITS,
            inout("rcx") turns => _,
            in("rax") value,
            in("r8") to[0],
            in("r9") to[1],
            in("r10") to[2],
            in("r11") to[3],
            options(nostack),
        );
    }
}
