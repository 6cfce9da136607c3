//! Independent loads and stores at any address, to cross the boundaries of lines and pages.
//!
//! One turn is [`SPLITS`] loads or stores of eight bytes, at four addresses in turn
//! (`docs/methods/processor.md#split-accesses`).

pub use super::native::split::{split_loads, split_stores, unaligned_usable};

/// Loads or stores in one turn.
pub const SPLITS: u64 = 64;

/// Defines the kernels: `$loads!(from, turns, a, b, c, d)` and `$stores!(to, turns, value)` are the
/// loops of an architecture.
macro_rules! define_splits {
    ($loads:ident, $stores:ident) => {
        /// Loads eight bytes from each of four addresses in turn, [`SPLITS`] times a turn; returns
        /// the sum of all.
        ///
        /// # Safety
        ///
        /// Eight bytes at each address are valid for reads.
        #[inline(never)]
        pub unsafe fn split_loads(from: [*const u8; 4], turns: u64) -> u64 {
            let (mut a, mut b, mut c, mut d) = (0_u64, 0_u64, 0_u64, 0_u64);
            if turns == 0 {
                return 0;
            }
            // SAFETY: the caller vouches for the addresses; the loop declares its registers.
            unsafe { $loads!(from, turns, a, b, c, d) };
            a.wrapping_add(b).wrapping_add(c).wrapping_add(d)
        }

        /// Stores `value` to each of four addresses in turn, [`SPLITS`] times a turn.
        ///
        /// # Safety
        ///
        /// Eight bytes at each address are valid for writes.
        #[inline(never)]
        pub unsafe fn split_stores(to: [*mut u8; 4], turns: u64, value: u64) {
            if turns == 0 {
                return;
            }
            // SAFETY: the caller vouches for the addresses; the loop declares its registers.
            unsafe { $stores!(to, turns, value) };
        }
    };
}
pub(in crate::arch) use define_splits;
