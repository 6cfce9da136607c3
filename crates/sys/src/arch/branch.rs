//! Branches: conditional ones in two layouts, indirect jumps, and both with random outcomes.
//!
//! A turn is a fixed number of branches. Results are counts and states, so each kernel can be
//! compared with [`portable`](super::portable::branch) (`docs/methods/processor.md#branches`).

pub use super::native::branch::{branches, random_branches, random_jumps};

/// Branches in one turn of a long loop of [`branches`].
pub const BRANCHES_LONG: u64 = 64;

/// Branches in one turn of a short loop. The difference of the two, divided by
/// `BRANCHES_LONG - BRANCHES_SHORT`, is one branch: the cost of the loop cancels.
pub const BRANCHES_SHORT: u64 = 16;

/// Branches in one turn of [`random_branches`].
pub const BRANCHES_RANDOM: u64 = 16;

/// Indirect jumps in one turn of [`random_jumps`].
pub const JUMPS_RANDOM: u64 = 4;

/// The most targets that a jump of [`random_jumps`] has.
pub const JUMPS_TARGETS: u64 = 16;

/// The lowest bit of the generator's state that decides: a middle one, because the generator's
/// lowest bits are its weakest.
pub const BRANCH_BIT: u32 = 40;

/// The layout of the branches of [`branches`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Conditional branches, each in 16 bytes of its own, over the rest of them.
    Apart,
    /// Conditional branches, one in every four bytes: two of the branch and two of an increment
    /// (eight bytes where every instruction has four).
    Dense,
    /// Jumps to an address in a register, each with a target of its own.
    Indirect,
}

/// The state of the generator of [`random_branches`] and [`random_jumps`], and what it decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// The state of the generator, to continue from. Never 0.
    pub state: u64,
    /// Branches taken; for jumps, the sum of the numbers of their targets.
    pub taken: u64,
}

/// One step of Marsaglia's xorshift64 ("Xorshift RNGs", 2003, the triple 13, 7, 17), in registers,
/// with a period of 2^64 - 1. A stored pattern would be learned: the tables of current predictors
/// hold tens of thousands of outcomes.
#[inline(always)]
pub const fn xorshift(mut state: u64) -> u64 {
    state ^= state << 13;
    state ^= state >> 7;
    state ^ state << 17
}

/// Defines the kernels. The loops of an architecture are
/// `$turns!(turns, BRANCHES, a, b, c, d, operand, body)` for [`branches`],
/// `$random!(turns, state, fell, mask)` and `$jumps!(turns, state, taken, mask)`.
macro_rules! define_branches {
    ($turns:ident, $random:ident, $jumps:ident; $($name:ident: $taken:ident => $operand:expr, $body:tt;)*) => {
        /// The loop of branches in this layout, [`BRANCHES_LONG`] or [`BRANCHES_SHORT`] in a turn:
        /// `run(turns, taken)` takes all of them or none, and returns how many were not taken.
        pub fn branches(layout: Layout, short: bool) -> fn(u64, bool) -> u64 {
            match (layout, short) {
                (Layout::Apart, false) => apart::<BRANCHES_LONG>,
                (Layout::Apart, true) => apart::<BRANCHES_SHORT>,
                (Layout::Dense, false) => dense::<BRANCHES_LONG>,
                (Layout::Dense, true) => dense::<BRANCHES_SHORT>,
                (Layout::Indirect, false) => indirect::<BRANCHES_LONG>,
                (Layout::Indirect, true) => indirect::<BRANCHES_SHORT>,
            }
        }

        $(
            fn $name<const BRANCHES: u64>(turns: u64, $taken: bool) -> u64 {
                if turns == 0 {
                    return 0;
                }
                // Four counters in turn: with one, each increment would wait for the one before and
                // hide how fast branches are.
                let (mut a, mut b, mut c, mut d) = (0_u64, 0_u64, 0_u64, 0_u64);
                // SAFETY: jumps within the loop; arithmetic on registers that it declares.
                unsafe { $turns!(turns, BRANCHES, a, b, c, d, $operand, $body) };
                a + b + c + d
            }
        )*

        /// Steps the generator and branches on its bit [`BRANCH_BIT`], [`BRANCHES_RANDOM`] times a
        /// turn. Without `random` the bit is masked out: the same instructions run, and no branch
        /// is taken.
        #[inline(never)]
        pub fn random_branches(turns: u64, mut state: u64, random: bool) -> Drawn {
            let mut fell = 0_u64;
            if turns == 0 {
                return Drawn { state, taken: 0 };
            }
            let mask = u64::from(random) << BRANCH_BIT;
            // SAFETY: jumps within the loop; arithmetic on registers that it declares.
            unsafe { $random!(turns, state, fell, mask) };
            Drawn { state, taken: turns * BRANCHES_RANDOM - fell }
        }

        /// Steps the generator and jumps to the target that its masked bits from [`BRANCH_BIT`] up
        /// name, [`JUMPS_RANDOM`] times a turn. `mask` is the number of targets less one: a power
        /// of two less one, at most [`JUMPS_TARGETS`] less one.
        ///
        /// # Panics
        ///
        /// If `mask` is larger.
        #[inline(never)]
        pub fn random_jumps(turns: u64, mut state: u64, mask: u64) -> Drawn {
            assert!(mask < JUMPS_TARGETS, "there are {JUMPS_TARGETS} targets");
            let mut taken = 0;
            if turns == 0 {
                return Drawn { state, taken };
            }
            // SAFETY: jumps to one of sixteen targets of 16 bytes each, within the loop; arithmetic
            // on registers that it declares.
            unsafe { $jumps!(turns, state, taken, mask) };
            Drawn { state, taken }
        }
    };
}
pub(in crate::arch) use define_branches;
