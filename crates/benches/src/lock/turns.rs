//! What members do with a lock and between two turns, and which turns hold it alone.

use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::arch::add_chain;
use std::hint::black_box;

/// How long a member keeps the lock.
pub(super) const SECTION: Param =
    Param::time("section", "how long a member works while it has the lock").quick(&["0ns"]).full(&["100ns", "1us"]);
/// How long a member does without it.
pub(super) const THINK: Param =
    Param::time("think", "how long a member works between two turns").quick(&["0ns"]).full(&["1us"]);

/// What members do in a turn.
#[derive(Clone, Copy)]
pub(super) struct Turns {
    /// Additions of the work with the lock, and without it.
    pub(super) section: u64,
    pub(super) think: u64,
    /// How many of 100 turns hold the lock alone; the others share it.
    pub(super) writes: u64,
}

/// Work that nobody else sees.
#[inline(always)]
pub(super) fn spend(additions: u64) {
    // Without work, not even a call.
    if additions > 0 {
        black_box(add_chain(additions));
    }
}

impl Turns {
    /// What the parameters ask for; the work is measured while no member is at it.
    pub(super) fn new(ctx: &Ctx, writes: u64) -> Turns {
        let [section, think] = [SECTION, THINK].map(|param| ctx.int(param.name));
        let addition_ns = if section > 0 || think > 0 { work::addition_ns() } else { 1.0 };
        let [section, think] = [section, think].map(|ns| work::additions_for(ns, addition_ns));
        Turns { section, think, writes }
    }

    /// Whether this turn of a member holds the lock alone. Members are at different points of the
    /// same order, in which such turns are evenly spread.
    #[inline(always)]
    pub(super) fn writes(self, member: u32, turn: u64) -> bool {
        self.writes == 100 || (turn * 37 + u64::from(member) * 17) % 100 < self.writes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_of_a_hundred_turns_hold_the_lock_alone() {
        for writes in [0, 1, 10, 50, 100] {
            let turns = Turns { section: 0, think: 0, writes };
            for member in [0, 1, 7] {
                assert_eq!((900..1000).filter(|turn| turns.writes(member, *turn)).count() as u64, writes);
            }
        }
    }
}
