//! Random updates of memory in plain Rust: see [`crate::arch::hammer`].
//!
//! # Safety
//!
//! Each accesses `pages` pages from `base`, for which its caller vouches.
#![expect(unsafe_code, reason = "writes through raw pointers")]

use crate::arch::hammer::{FLIP, STEP, place, word};
use core::hint::black_box;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The instruction of [`hammer_own`].
pub fn own_instruction() -> &'static str {
    "what the compiler makes of an atomic addition"
}

/// Stores `2 * pairs` words and returns the counter afterwards.
///
/// # Safety
///
/// `base` is valid for reads and writes of `pages` pages of 4 KiB and aligned to 8; `pages` is not
/// above `MAX_PAGES`, and `mask` is one of the two.
#[inline(never)]
pub unsafe fn hammer_store(base: *mut u8, pages: u64, mask: u64, mut counter: u64, pairs: u64) -> u64 {
    for _ in 0..pairs {
        counter = counter.wrapping_add(STEP);
        let w = word(counter);
        for half in [w as u32, (w >> 32) as u32] {
            // SAFETY: a place is below `pages` pages, and its last three bits are 0. Volatile:
            // every store is made.
            unsafe { base.add(place(half, pages, mask) as usize).cast::<u64>().write_volatile(w) };
        }
    }
    counter
}

/// [`hammer_store`] without the stores: computes the places and does not access them.
#[inline(never)]
pub fn hammer_bare(pages: u64, mask: u64, mut counter: u64, pairs: u64) -> u64 {
    for _ in 0..pairs {
        counter = counter.wrapping_add(STEP);
        let w = word(counter);
        black_box((place(w as u32, pages, mask), place((w >> 32) as u32, pages, mask)));
    }
    counter
}

/// Adds 1 to `ops` words, each place known only when the addition before it has returned. Returns
/// the counter and the last result.
///
/// # Safety
///
/// As [`hammer_store`].
#[inline(never)]
pub unsafe fn hammer_own(
    base: *mut u8,
    pages: u64,
    mask: u64,
    mut counter: u64,
    mut answer: u64,
    ops: u64,
) -> (u64, u64) {
    for _ in 0..ops {
        counter = counter.wrapping_add(STEP);
        let w = turned(counter, answer);
        // SAFETY: as for the stores; nothing else uses the word.
        let cell = unsafe { AtomicU64::from_ptr(base.add(place((w >> 32) as u32, pages, mask) as usize).cast()) };
        answer = cell.fetch_add(1, Relaxed);
    }
    (counter, answer)
}

/// [`hammer_own`] without memory: the place itself stands for the result.
#[inline(never)]
pub fn hammer_own_bare(pages: u64, mask: u64, mut counter: u64, mut answer: u64, ops: u64) -> (u64, u64) {
    for _ in 0..ops {
        counter = counter.wrapping_add(STEP);
        answer = place((turned(counter, answer) >> 32) as u32, pages, mask);
    }
    (counter, answer)
}

/// The word of a counter, with the last result in one of its factors.
#[inline(always)]
pub fn turned(counter: u64, answer: u64) -> u64 {
    let with = counter.wrapping_add(answer);
    let product = with as u128 * (counter ^ FLIP) as u128;
    (product >> 64) as u64 ^ product as u64
}
