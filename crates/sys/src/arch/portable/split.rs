//! Loads and stores at any address: the same values. The compiler chooses instructions that its
//! target allows.
//!
//! # Safety
//!
//! Accesses its caller's addresses.
#![expect(unsafe_code, reason = "stores and loads through raw pointers")]

use crate::arch::split::SPLITS;
use core::hint::black_box;

/// Whether loads and stores may be misaligned without the kernel's help: unknown for a CPU that has
/// no folder.
pub fn unaligned_usable() -> Result<(), String> {
    Err("nothing is known about misaligned loads on this CPU".into())
}

/// Loads eight bytes from each of four addresses in turn, [`SPLITS`] times a turn; returns the sum
/// of all.
///
/// # Safety
///
/// Eight bytes may be read at each.
pub unsafe fn split_loads(from: [*const u8; 4], turns: u64) -> u64 {
    let mut sum = 0_u64;
    for i in 0..turns * SPLITS {
        // SAFETY: the caller vouches for the address.
        sum = sum.wrapping_add(unsafe { black_box(from[i as usize % 4]).cast::<u64>().read_unaligned() });
    }
    sum
}

/// Stores `value` to each of four addresses in turn, [`SPLITS`] times a turn.
///
/// # Safety
///
/// Eight bytes may be written at each.
pub unsafe fn split_stores(to: [*mut u8; 4], turns: u64, value: u64) {
    for i in 0..turns * SPLITS {
        // SAFETY: the caller vouches for the address.
        unsafe { black_box(to[i as usize % 4]).cast::<u64>().write_unaligned(value) };
    }
}
