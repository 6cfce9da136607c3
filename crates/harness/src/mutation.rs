//! Makes a loop do other work than it is credited with, for tests of proofs
//! (`testing::try_mutilated`).

use crate::error::Outcome;
use crate::sys::clock::{Clock, Monotonic};
use crate::variant::{Body, Variant};
use std::cell::Cell;

/// How `try_mutilated` makes a loop do other work than it is credited with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutilation {
    /// Half of the iterations; every second one where operations are timed one by one.
    Halved,
    /// No iteration: the same time passes idle.
    Idle,
    /// Twice as many.
    Doubled,
}

/// What an idle iteration takes, in nanoseconds: long enough for a loop that does something.
const IDLE_NS: u64 = 200;

thread_local! {
    /// What `try_mutilated` does on this thread, and the index of the loop; `None` for all.
    pub(crate) static MUTILATED: Cell<Option<(Mutilation, Option<usize>)>> = const { Cell::new(None) };
}

/// Replaces the bodies that `try_mutilated` selected; does nothing outside of it.
pub(crate) fn mutilate(variants: &mut [Variant<'_>]) {
    let Some((mutilation, only)) = MUTILATED.get() else { return };
    for (_, variant) in variants.iter_mut().enumerate().filter(|(i, _)| only.is_none_or(|n| n == *i)) {
        let mut body: Body<'_> = std::mem::replace(&mut variant.body, Box::new(|_, _| Ok(())));
        let mut owed = 0;
        variant.body = Box::new(move |iters, watch| match share(mutilation, iters, &mut owed) {
            0 => {
                watch.start();
                idle(iters);
                watch.stop();
                Ok(())
            }
            n => body(n, watch),
        });
    }
}

/// The same for the body of a probe.
pub(crate) fn mutilated(mut body: impl FnMut(u64) -> Outcome) -> impl FnMut(u64) -> Outcome {
    let mutilation = MUTILATED.get();
    let mut owed = 0;
    move |iters| match mutilation.map_or(iters, |(mutilation, _)| share(mutilation, iters, &mut owed)) {
        0 => {
            idle(iters);
            Ok(())
        }
        n => body(n),
    }
}

/// How many of `iters` iterations are done; `owed` keeps the halves.
fn share(mutilation: Mutilation, iters: u64, owed: &mut u64) -> u64 {
    match mutilation {
        Mutilation::Idle => 0,
        Mutilation::Doubled => 2 * iters,
        Mutilation::Halved => {
            let halves = *owed + iters;
            *owed = halves % 2;
            halves / 2
        }
    }
}

/// Spins for the time of `iters` idle iterations.
fn idle(iters: u64) {
    let until = Monotonic.now_ns() + IDLE_NS * iters;
    while Monotonic.now_ns() < until {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If a loop that should be mutilated were not, every test of its proofs would be void.
    #[test]
    fn a_loop_does_half_none_or_twice_of_what_it_is_credited_with() {
        let shares = |mutilation, asked: &[u64]| {
            let mut owed = 0;
            asked.iter().map(|&n| share(mutilation, n, &mut owed)).collect::<Vec<_>>()
        };
        assert_eq!(shares(Mutilation::Halved, &[1, 1, 1, 1]), [0, 1, 0, 1]);
        assert_eq!(shares(Mutilation::Halved, &[7, 3, 10]), [3, 2, 5]);
        assert_eq!(shares(Mutilation::Doubled, &[1, 7]), [2, 14]);
        assert_eq!(shares(Mutilation::Idle, &[1, 7]), [0, 0]);
    }

    #[test]
    fn only_the_selected_loop_of_this_thread_is_mutilated() {
        let done = |only| {
            let counts = [Cell::new(0), Cell::new(0)];
            let mut loops: Vec<Variant<'_>> = (counts.iter())
                .map(|count| {
                    Variant::new("it", |n| {
                        count.set(count.get() + n);
                        Ok(())
                    })
                })
                .collect();
            MUTILATED.set(only);
            mutilate(&mut loops);
            MUTILATED.set(None);
            let mut watch = crate::stopwatch::Stopwatch::new(&Monotonic);
            loops.iter_mut().for_each(|variant| (variant.body)(10, &mut watch).expect("it runs"));
            drop(loops);
            counts.map(Cell::into_inner)
        };
        assert_eq!(done(None), [10, 10]);
        assert_eq!(done(Some((Mutilation::Halved, None))), [5, 5]);
        assert_eq!(done(Some((Mutilation::Doubled, Some(0)))), [20, 10]);
        assert_eq!(done(Some((Mutilation::Idle, Some(1)))), [10, 0]);
    }
}
