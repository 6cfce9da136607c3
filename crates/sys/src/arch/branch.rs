//! Branches: what the kernels of this subject do. Results are counts and states, so that each can be held against
//! [`portable`](super::portable::branch).

pub use super::native::branch::{branches, random_branches, random_jumps};

/// Branches in one turn of a long loop of [`branches`].
pub const BRANCHES_LONG: u64 = 64;

/// Branches in one turn of a short loop: the difference of the two, divided by `BRANCHES_LONG - BRANCHES_SHORT`, is one
/// branch, and the loop itself falls out.
pub const BRANCHES_SHORT: u64 = 16;

/// Branches in one turn of [`random_branches`].
pub const BRANCHES_RANDOM: u64 = 16;

/// Indirect jumps in one turn of [`random_jumps`].
pub const JUMPS_RANDOM: u64 = 4;

/// The most targets that a jump of [`random_jumps`] has.
pub const JUMPS_TARGETS: u64 = 16;

/// The lowest bit of the generator's state that chooses: a middle one, because in the lowest the generator is weakest.
pub const BRANCH_BIT: u32 = 40;

/// How the branches of [`branches`] lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Conditional branches, each in 16 bytes of its own, over what is left of them.
    Apart,
    /// Conditional branches, each in four bytes: two of its own and the two of an increment (eight bytes where all
    /// instructions have four).
    Dense,
    /// Jumps to an address in a register, each with a target of its own.
    Indirect,
}

/// Where the generator of [`random_branches`] and [`random_jumps`] is, and what it has chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// The state of the generator, to go on with. Never 0.
    pub state: u64,
    /// Branches that were taken; of jumps the sum of the numbers of their targets.
    pub taken: u64,
}

/// One step of Marsaglia's xorshift64 ("Xorshift RNGs", 2003, the triple 13, 7, 17): a period of 2^64 - 1, in registers.
/// A pattern that is stored would be learned: tens of thousands of outcomes fit in the tables of current predictors.
#[inline(always)]
pub const fn xorshift(mut state: u64) -> u64 {
    state ^= state << 13;
    state ^= state >> 7;
    state ^ state << 17
}
