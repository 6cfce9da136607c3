//! What the hammer kernels are: pseudo-random places in a buffer of 4 KiB pages, and what is done there.
//!
//! *The places.* A counter goes up by [`STEP`]; it, and it with the bits of [`FLIP`] turned over, are multiplied, and the two
//! halves of the product folded into one word of 64 random bits (Wang Yi's wyrand: it passes the usual test suites, and
//! what one word waits for of the one before is a single addition, so the generator runs ahead of the stores. A linear
//! congruential generator is four cycles a step, xorshift six, and none of them may cost as much as a tenth of a store.)
//! A half of a word, times the number of pages, is a page above bit 32 and, below it, a place in the page.
//!
//! *The stores.* A word makes two places, the low half first, and is stored at both. Every place is the start of eight
//! bytes; which bytes of a page may be one says the mask: [`FIRST_LINE`] or [`ANY_WORD`].
//!
//! *Ownership.* One place a word, from the high half, and one atomic addition there, whose answer goes into the next
//! product: the next place is not known before the line is owned.

pub use super::native::hammer::{hammer_bare, hammer_own, hammer_own_bare, hammer_store, own_instruction};
// A kernel of its own for what the CPU may lack; elsewhere the same one.
pub use super::portable::hammer as portable;

/// Bytes of a page of the hammer, whatever the system's are: those of the Silly Little Benchmark.
pub const HAMMER_PAGE: usize = 4096;

/// What the counter goes up by: odd, so that it comes to every word (wyrand's constant).
pub const STEP: u64 = 0xa076_1d64_78bd_642f;

/// What the other factor differs by (wyrand's constant).
pub const FLIP: u64 = 0xe703_7ed1_a0b4_28db;

/// A place is one of the first eight words of a page.
pub const FIRST_LINE: u64 = !0xfff | 0x038;

/// A place is any of the 512 words of a page.
pub const ANY_WORD: u64 = !0xfff | 0xff8;

/// The most pages: beyond, a place in the page would be decided by the page (32 random bits, 26 of them for the page, leave
/// 64 places).
pub const MOST_PAGES: u64 = 1 << 26;

/// 64 random bits out of a counter.
#[inline(always)]
pub const fn word(counter: u64) -> u64 {
    let product = counter as u128 * (counter ^ FLIP) as u128;
    (product >> 64) as u64 ^ product as u64
}

/// The place that 32 random bits make, in bytes from the start of the buffer.
#[inline(always)]
pub const fn place(half: u32, pages: u64, mask: u64) -> u64 {
    (half as u64).wrapping_mul(pages) >> 20 & mask
}
