//! Dependent chains of one arithmetic instruction on registers: a ruler for the core's clock.
//!
//! Each operation waits for the result of the one before, so a chain of `n` takes `n` times the
//! instruction's latency (`docs/methods/processor.md#core-clock`).

pub use super::native::chain::{ADD_TAKES_ONE_CYCLE, add_chain, mul_chain, rotate_chain};

/// Operations in one turn of a chain's loop. The loop's counter and branch run in parallel with the
/// chain and cost nothing as long as the chain is slower, which 64 dependent operations always are.
pub const CHAIN_UNROLL: u64 = 64;

/// The start value of a chain: odd, so multiplying never loses a bit.
pub const CHAIN_SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// The second operand of the add and multiply chains: odd, neither 0 nor 1, and in a register,
/// never an immediate. Golden Cove executes additions of small immediates when it renames
/// registers, and such a chain reads up to five times the clock
/// (`docs/methods/processor.md#kernels-per-architecture`).
pub const CHAIN_OPERAND: u64 = 0x0000_0001_0000_01b3;

/// Bits by which one step of the rotate chain rotates to the right. Not 1: x86 has an older
/// encoding for that.
pub const CHAIN_ROTATE: u32 = 7;
const _: () = assert!(CHAIN_ROTATE == 7, "spelled out in the instructions");

/// The operations that a chain of `n` performs: `n` rounded up to a multiple of [`CHAIN_UNROLL`].
pub const fn chain_ops(n: u64) -> u64 {
    n.next_multiple_of(CHAIN_UNROLL)
}

/// The number of additions that [`add_chain`] performed, from its result. Each adds
/// [`CHAIN_OPERAND`], which is odd, so different numbers of additions have different results.
pub const fn chain_added(value: u64) -> u64 {
    // Newton's iteration: the correct bits of the inverse double each time. An odd number is its
    // own inverse in the lowest 3.
    let mut inverse = CHAIN_OPERAND;
    let mut bits = 3;
    while bits < u64::BITS {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(CHAIN_OPERAND.wrapping_mul(inverse)));
        bits *= 2;
    }
    value.wrapping_sub(CHAIN_SEED).wrapping_mul(inverse)
}

/// Defines the chains: `$turns!(x, turns, [step])` is the loop of an architecture.
macro_rules! define_chains {
    ($turns:ident; $($(#[$doc:meta])* $name:ident: $($instruction:literal),*;)*) => {$(
        $(#[$doc])*
        ///
        /// Returns the last value. `n` is rounded up ([`chain_ops`](crate::arch::chain_ops)).
        #[inline(never)]
        pub fn $name(n: u64) -> u64 {
            let mut x = $crate::arch::CHAIN_SEED;
            if n == 0 {
                return x;
            }
            let turns = $crate::arch::chain_ops(n) / $crate::arch::CHAIN_UNROLL;
            // SAFETY: arithmetic on registers that the loop declares.
            unsafe { $turns!(x, turns, [$($instruction),*]) };
            x
        }
    )*};
}
pub(in crate::arch) use define_chains;
