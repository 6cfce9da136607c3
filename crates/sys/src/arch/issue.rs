//! Blocks of independent operations that take a cycle each: how many a core begins in a cycle is
//! bound by its front end and its width, which the hardware threads of a core share.
//!
//! A thread that has the core to itself runs a block at the core's best rate, regardless of what it
//! did before; beside a busy sibling thread it reaches only a part of that. A chain of dependent
//! additions ([`crate::arch::add_chain`]) takes the same time in both cases
//! (`docs/methods/neighbour.md#probe`).

pub use super::native::issue::{issue_additions, issue_loads, issue_mixed, issue_moves};

/// Operations in one turn of a block's loop, beside its counter and branch.
pub const ISSUE_UNROLL: u64 = 32;

/// What every move writes and every load finds.
pub const ISSUE_VALUE: u64 = 7;

/// Defines the blocks: `$turns!(turns, word, registers, [eight operations])` is the loop of an
/// architecture, with each operation four times, on the eight registers.
macro_rules! define_blocks {
    ($turns:ident; $($(#[$doc:meta])* $name:ident: [$($instruction:literal),*];)*) => {$(
        $(#[$doc])*
        ///
        /// Returns the sum of the eight registers, which start at 0.
        #[inline(never)]
        pub fn $name(turns: u64) -> u64 {
            let word = $crate::arch::ISSUE_VALUE;
            if turns == 0 {
                return 0;
            }
            let mut registers = [0_u64; 8];
            // SAFETY: arithmetic on registers that the loop declares, and loads of a local word.
            unsafe { $turns!(turns, word, registers, [$($instruction),*]) };
            registers.into_iter().fold(0, u64::wrapping_add)
        }
    )*};
}
pub(in crate::arch) use define_blocks;
