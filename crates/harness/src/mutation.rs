//! Makes a loop do other work than it is credited with, for tests of proofs
//! (`testing::try_mutilated`).

use crate::error::Outcome;
use crate::sys::clock::{Clock, Monotonic};
use crate::variant::{Body, Variant};
use std::cell::Cell;

/// How `try_mutilated` makes a loop do other work than it is credited with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutilation {
    /// Half of the iterations; of operations that are timed one by one, every second.
    Halved,
    /// None: time passes instead.
    Idle,
    /// Twice as many.
    Doubled,
}

/// What an idle iteration takes, in nanoseconds: long enough for a loop that does something.
const IDLE_NS: u64 = 200;

thread_local! {
    /// What `try_mutilated` does on this thread, and to the how-manyth loop of a benchmark; to
    /// all of them for `None`.
    pub(crate) static MUTILATED: Cell<Option<(Mutilation, Option<usize>)>> = const { Cell::new(None) };
}

/// Puts a mutilated body in the place of each that `try_mutilated` means; does nothing anywhere
/// else.
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

/// Lets the time of `iters` idle iterations pass.
fn idle(iters: u64) {
    let until = Monotonic.now_ns() + IDLE_NS * iters;
    while Monotonic.now_ns() < until {}
}
