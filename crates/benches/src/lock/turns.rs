//! What members do with a lock and between two turns, and which turns hold it alone.

use crate::work;
use groma_harness::prelude::*;
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
    /// Steps of work with the lock, and without it.
    pub(super) section: u64,
    pub(super) think: u64,
    /// How many of 100 turns hold the lock alone; the others share it.
    pub(super) writes: u64,
}

/// Steps of work whose time is measured once.
const STEPS: u64 = 1000;

/// Work that nobody else sees.
#[inline(always)]
pub(super) fn spend(steps: u64) {
    let mut value = 1u64;
    for _ in 0..steps {
        value = black_box(value.wrapping_mul(3));
    }
}

impl Turns {
    /// What the parameters ask for; the work is measured while no member is at it.
    pub(super) fn new(ctx: &mut Ctx, writes: u64) -> Result<Turns, BenchError> {
        let cost = work::probe(ctx, 5, STEPS, |iters| {
            (0..iters).for_each(|_| spend(STEPS));
            Ok(iters * STEPS)
        })?;
        let step_ns = cost.seconds * 1e9 / STEPS as f64;
        let steps = |ctx: &Ctx, name: &str| (ctx.int(name) as f64 / step_ns).round() as u64;
        Ok(Turns { section: steps(ctx, SECTION.name), think: steps(ctx, THINK.name), writes })
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
