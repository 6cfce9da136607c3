//! Random updates of memory: stores to, and atomic additions on, pseudo-random places in a buffer
//! of 4 KiB pages (`docs/methods/memory.md#random-stores`).
//!
//! *Generator.* A counter advances by [`STEP`]. It is multiplied by itself with the bits of
//! [`FLIP`] inverted, and the two halves of the product are folded into one word of 64 random bits
//! (Wang Yi's wyrand, which passes the usual test suites). One word depends on the one before
//! through a single addition, so the generator runs ahead of the stores. A linear congruential
//! generator takes four cycles a step and xorshift six; none may cost as much as a tenth of a
//! store. A half of a word times the number of pages is a page above bit 32 and a place in the page
//! below it.
//!
//! *Stores.* One turn makes two places from a word, the low half first, and stores the word at
//! both. A place is the start of eight bytes; the mask [`FIRST_LINE`] or [`ANY_WORD`] says which of
//! a page.
//!
//! *Ownership.* One turn makes one place from the high half of a word and does one atomic addition
//! there. Its result goes into the next product: the next place is unknown before the core owns the
//! line.

pub use super::native::hammer::{hammer_bare, hammer_own, hammer_own_bare, hammer_store, own_instruction};
// Not the native kernels, where the CPU lacks what they need.
pub use super::portable::hammer as portable;

/// Bytes of a page of these kernels, regardless of the system's pages: as in the Silly Little
/// Benchmark.
pub const HAMMER_PAGE: usize = 4096;

/// The step of the counter: odd, so that it reaches every word (wyrand's constant).
pub const STEP: u64 = 0xa076_1d64_78bd_642f;

/// The bits in which the second factor differs (wyrand's constant).
pub const FLIP: u64 = 0xe703_7ed1_a0b4_28db;

/// Mask for places among the first eight words of a page.
pub const FIRST_LINE: u64 = !0xfff | 0x038;

/// Mask for places among all 512 words of a page.
pub const ANY_WORD: u64 = !0xfff | 0xff8;

/// The most pages. With more, the page would decide the place in it: of 32 random bits, 26 for the
/// page leave 64 places.
pub const MAX_PAGES: u64 = 1 << 26;

/// 64 random bits from a counter.
#[inline(always)]
pub const fn word(counter: u64) -> u64 {
    let product = counter as u128 * (counter ^ FLIP) as u128;
    (product >> 64) as u64 ^ product as u64
}

/// The place that 32 random bits select, in bytes from the start of the buffer.
#[inline(always)]
pub const fn place(half: u32, pages: u64, mask: u64) -> u64 {
    (half as u64).wrapping_mul(pages) >> 20 & mask
}

/// Defines the kernels. The loops of an architecture are
/// `$pairs!(counter, pairs, pages, mask[, base])` and
/// `$chain!(counter, answer, ops, pages, mask[, base])`, without memory where `base` is missing.
macro_rules! define_hammers {
    ($pairs:ident, $chain:ident) => {
        /// Stores `2 * pairs` words and returns the counter afterwards.
        ///
        /// # Safety
        ///
        /// As [`portable::hammer_store`](crate::arch::portable::hammer::hammer_store).
        #[inline(never)]
        pub unsafe fn hammer_store(base: *mut u8, pages: u64, mask: u64, mut counter: u64, pairs: u64) -> u64 {
            if pairs > 0 {
                // SAFETY: the caller vouches for the places; the loop declares its registers.
                unsafe { $pairs!(counter, pairs, pages, mask, base) };
            }
            counter
        }

        /// [`hammer_store`] without the stores: computes the places and does not access them.
        #[inline(never)]
        pub fn hammer_bare(pages: u64, mask: u64, mut counter: u64, pairs: u64) -> u64 {
            if pairs > 0 {
                // SAFETY: arithmetic on registers that the loop declares.
                unsafe { $pairs!(counter, pairs, pages, mask) };
            }
            counter
        }

        /// Adds 1 to `ops` words, each place known only when the addition before it has returned.
        /// Returns the counter and the last result.
        ///
        /// # Safety
        ///
        /// As [`portable::hammer_store`](crate::arch::portable::hammer::hammer_store).
        #[inline(never)]
        pub unsafe fn hammer_own(
            base: *mut u8,
            pages: u64,
            mask: u64,
            mut counter: u64,
            mut answer: u64,
            ops: u64,
        ) -> (u64, u64) {
            if ops > 0 {
                // SAFETY: the caller vouches for the places; the loop declares its registers.
                unsafe { $chain!(counter, answer, ops, pages, mask, base) };
            }
            (counter, answer)
        }

        /// [`hammer_own`] without memory: the place itself stands for the result.
        #[inline(never)]
        pub fn hammer_own_bare(pages: u64, mask: u64, mut counter: u64, mut answer: u64, ops: u64) -> (u64, u64) {
            if ops > 0 {
                // SAFETY: arithmetic on registers that the loop declares.
                unsafe { $chain!(counter, answer, ops, pages, mask) };
            }
            (counter, answer)
        }
    };
}
pub(in crate::arch) use define_hammers;
