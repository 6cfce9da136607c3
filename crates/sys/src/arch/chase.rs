//! A pointer chase: each load's address is the value of the load before, and nothing else accesses
//! memory.
//!
//! One turn is [`CHASE_UNROLL`] dependent loads (`docs/methods/memory.md#chain-construction`).

pub use super::native::chase::chase;

/// Loads in one turn of the chase.
pub const CHASE_UNROLL: u64 = 64;

/// The loads that a chase of `n` performs: `n` rounded up to a multiple of [`CHASE_UNROLL`].
pub const fn chase_loads(n: u64) -> u64 {
    n.next_multiple_of(CHASE_UNROLL)
}

/// Defines [`chase`]: `$turns!(here, turns)` is the loop of an architecture.
macro_rules! define_chase {
    ($turns:ident) => {
        /// Follows `loads` pointers from `start` and returns the last. `loads` is rounded down to a
        /// multiple of [`CHASE_UNROLL`](crate::arch::CHASE_UNROLL).
        ///
        /// # Safety
        ///
        /// `start` points to a pointer that points to a pointer and so on, `loads` times, each
        /// aligned and valid for reads.
        #[inline(never)]
        pub unsafe fn chase(start: *const u8, loads: u64) -> *const u8 {
            let mut here = start;
            let turns = loads / $crate::arch::CHASE_UNROLL;
            if turns == 0 {
                return here;
            }
            // SAFETY: the caller vouches for the chain; the loop declares its registers.
            unsafe { $turns!(here, turns) };
            here
        }
    };
}
pub(in crate::arch) use define_chase;
