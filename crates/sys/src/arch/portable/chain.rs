//! Dependent chains of arithmetic. Each step goes through memory.

use crate::arch::{CHAIN_OPERAND, CHAIN_ROTATE, CHAIN_SEED, chain_ops};
use core::hint::black_box;

/// Whether a step of [`add_chain`] takes one cycle. Not here: each step goes through memory.
pub const ADD_TAKES_ONE_CYCLE: bool = false;

macro_rules! chains {
    ($($(#[$doc:meta])* $name:ident: $step:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// Returns the last value. `n` is rounded up ([`chain_ops`]).
        #[inline(never)]
        pub fn $name(n: u64) -> u64 {
            let step: fn(u64) -> u64 = $step;
            // Hidden at every step: otherwise the compiler replaces the chain by its result.
            (0..chain_ops(n)).fold(CHAIN_SEED, |x, _| black_box(step(x)))
        }
    )*};
}

chains! {
    /// `n` dependent additions.
    add_chain: |x| x.wrapping_add(CHAIN_OPERAND);
    /// `n` dependent multiplications.
    mul_chain: |x| x.wrapping_mul(CHAIN_OPERAND);
    /// `n` dependent rotations.
    rotate_chain: |x| x.rotate_right(CHAIN_ROTATE);
}
