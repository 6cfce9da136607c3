//! Branches as the compiler makes them: the same counts and states. Times mean nothing, because the
//! compiler may remove the branch.

use crate::arch::branch::{
    BRANCH_BIT, BRANCHES_LONG, BRANCHES_RANDOM, BRANCHES_SHORT, Drawn, JUMPS_RANDOM, JUMPS_TARGETS, Layout, xorshift,
};
use core::hint::black_box;

/// The loop of branches, [`BRANCHES_LONG`] or [`BRANCHES_SHORT`] in a turn: `run(turns, taken)`
/// takes all of them or none, and returns how many were not taken. All layouts are the same here.
pub fn branches(_: Layout, short: bool) -> fn(u64, bool) -> u64 {
    fn run<const BRANCHES: u64>(turns: u64, taken: bool) -> u64 {
        (0..turns * BRANCHES).filter(|_| !black_box(taken)).count() as u64
    }
    if short { run::<BRANCHES_SHORT> } else { run::<BRANCHES_LONG> }
}

/// Steps the generator and branches on its bit [`BRANCH_BIT`], [`BRANCHES_RANDOM`] times a turn;
/// without `random` the bit is masked out.
pub fn random_branches(turns: u64, state: u64, random: bool) -> Drawn {
    drawn(turns * BRANCHES_RANDOM, state, u64::from(random))
}

/// Steps the generator and adds up the targets that its masked bits from [`BRANCH_BIT`] up name,
/// [`JUMPS_RANDOM`] times a turn.
///
/// # Panics
///
/// If `mask` is [`JUMPS_TARGETS`] or more.
pub fn random_jumps(turns: u64, state: u64, mask: u64) -> Drawn {
    assert!(mask < JUMPS_TARGETS, "there are {JUMPS_TARGETS} targets");
    drawn(turns * JUMPS_RANDOM, state, mask)
}

fn drawn(steps: u64, state: u64, mask: u64) -> Drawn {
    let step = |drawn: Drawn, _| {
        let state = xorshift(drawn.state);
        Drawn { state, taken: black_box(drawn.taken + (state >> BRANCH_BIT & mask)) }
    };
    (0..steps).fold(Drawn { state, taken: 0 }, step)
}
