//! Shared parts of this family's searches.
//!
//! They are the cost of a load along a chain through listed nodes, and the largest number of nodes
//! for which the cost stays what it was.
//!
//! Both rest on the fact that disturbances only add. A low cost is believed at once, a high one
//! only when it was seen repeatedly. So a search can end too low, by a disturbance that lasts, and
//! therefore checks again at the end; it cannot end too high. See docs/methods/memory.md#searches.

use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::arch::CHASE_UNROLL;
use groma_harness::sys::chase::Chain;

/// Windows of a probe.
const WINDOWS: u32 = 4;
/// The most loads of warm-up: two laps of the shorter chains; for longer ones, enough to bring in
/// the page tables.
const WARM_LOADS: u64 = 1 << 16;
/// How often a high cost has to be seen before it is believed.
const TRIES: u32 = 3;

/// The cost of a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Load {
    pub(super) cycles: f64,
    /// The core's clock meanwhile, in hertz.
    pub(super) hz: f64,
    /// Whether it comes from a window without any disturbance.
    pub(super) clean: bool,
    /// Whether the sibling thread rested meanwhile.
    pub(super) alone: bool,
}

/// An answer to a question of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Held, which disturbances cannot feign.
    Yes,
    /// Not held.
    No,
    /// Not held beside a busy sibling thread, which takes its share.
    Beside,
    /// The look was disturbed.
    Unknown,
}

impl Answer {
    /// What a look says that had this cost or less, or more.
    pub(super) fn of(holds: bool, clean: bool, alone: bool) -> Answer {
        match (clean, holds, alone) {
            (false, _, _) => Answer::Unknown,
            (_, true, _) => Answer::Yes,
            (_, _, true) => Answer::No,
            _ => Answer::Beside,
        }
    }
}

/// The cost of a load along a chain through these nodes of the buffer, in this order.
pub(super) fn load(ctx: &mut Ctx, buffer: &mut [u8], nodes: &[usize]) -> Result<Load, BenchError> {
    let mut chain = Chain::through(buffer, nodes).map_err(BenchError::Failed)?;
    chain.walk((2 * nodes.len() as u64).min(WARM_LOADS));
    let cost = work::probe(ctx, WINDOWS, CHASE_UNROLL, |iters| Ok(chain.walk(iters * CHASE_UNROLL)))?;
    Ok(Load { cycles: cost.cycles / CHASE_UNROLL as f64, hz: cost.core_hz, clean: cost.clean > 0, alone: cost.alone })
}

/// The lowest cost of several looks at the same chain, preferring undisturbed ones, and among
/// these the ones taken alone.
pub(super) fn lowest(looks: u32, mut look: impl FnMut() -> Result<Load, BenchError>) -> Result<Load, BenchError> {
    let mut best = look()?;
    for _ in 1..looks {
        let next = look()?;
        if (next.clean, next.alone, -next.cycles) > (best.clean, best.alone, -best.cycles) {
            best = next;
        }
    }
    Ok(best)
}

/// The largest number for which something holds. Of several searches the largest is right, since
/// none ends too high.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    /// Not even for the first number.
    Nowhere,
    /// For this number, and not for the next one.
    To(usize),
    /// For the last number.
    Everywhere,
}

impl std::fmt::Display for Reach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Reach::Nowhere => f.write_str("below the least"),
            Reach::To(n) => write!(f, "at {n}"),
            Reach::Everywhere => f.write_str("beyond the most"),
        }
    }
}

/// Where a search ended. Of several the largest is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Found {
    pub(super) reach: Reach,
    /// Whether what lies beyond was refused without a busy sibling thread; else the core itself may
    /// reach further.
    pub(super) alone: bool,
}

/// The largest number from `first` to `last`, in steps of `step`, for which `holds` returns
/// `Yes`. That is believed at once; `Beside` and `Unknown` are asked again.
pub(super) fn reach(
    first: usize,
    last: usize,
    step: usize,
    mut holds: impl FnMut(usize) -> Result<Answer, BenchError>,
) -> Result<Found, BenchError> {
    // Whether the last refusal was had alone.
    let mut alone = true;
    let mut ask = |n: usize, tries: u32, alone: &mut bool| -> Result<bool, BenchError> {
        let (mut refused, mut beside) = (0, 0);
        for _ in 0..3 * tries {
            match holds(n)? {
                Answer::Yes => return Ok(true),
                Answer::No => refused += 1,
                Answer::Beside => beside += 1,
                Answer::Unknown => {}
            }
            if refused == tries {
                break;
            }
        }
        *alone = refused == tries || beside == 0;
        Ok(false)
    };
    let value = |i: usize| first + i * step;
    let end = last.saturating_sub(first) / step;
    // Everything depends on the first number.
    if !ask(first, 3 * TRIES, &mut alone)? {
        return Ok(Found { reach: Reach::Nowhere, alone });
    }
    // Doubling, then halving: `low` holds, `high` does not.
    let mut low = 0;
    let mut high = end + 1;
    while low < end {
        let next = (low + value(low).div_ceil(step)).min(end);
        if !ask(value(next), TRIES, &mut alone)? {
            high = next;
            break;
        }
        low = next;
    }
    while high - low > 1 {
        let middle = low.midpoint(high);
        if ask(value(middle), TRIES, &mut alone)? {
            low = middle;
        } else {
            high = middle;
        }
    }
    // The number that was refused may have been disturbed throughout: ask again, and for the next
    // one too.
    let (mut ahead, mut next_alone) = (1, true);
    while ahead <= 2 && low + ahead <= end {
        if ask(value(low + ahead), TRIES, &mut alone)? {
            low += ahead;
            ahead = 1;
        } else {
            // The refusal of the next number decides.
            next_alone = if ahead == 1 { alone } else { next_alone };
            ahead += 1;
        }
    }
    let reach = if low == end { Reach::Everywhere } else { Reach::To(value(low)) };
    Ok(Found { reach, alone: next_alone || low == end })
}

#[cfg(test)]
pub(in crate::mem) mod made_up {
    //! Curves with the noise of a busy machine: most looks are right within a thousandth, others
    //! are slower by any amount.
    use groma_harness::Rng;

    /// A cost as seen on a busy machine: one look in `one_in` is disturbed.
    pub(in crate::mem) fn noisy(rng: &mut Rng, one_in: u64, cycles: f64) -> f64 {
        let jitter = 1.0 + rng.below(1000) as f64 * 2e-6;
        let disturbed = if rng.below(one_in) == 0 { 1.05 + rng.below(3000) as f64 * 1e-3 } else { 1.0 };
        cycles * jitter * disturbed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::Rng;
    use groma_harness::sys::pages::{Map, Policy};
    use groma_harness::testing::{stating, try_out};

    fn answer(holds: bool) -> Answer {
        Answer::of(holds, true, true)
    }

    fn alone(reach: Reach) -> Result<Found, BenchError> {
        Ok(Found { reach, alone: true })
    }

    /// A busy sibling leaves half of what is searched.
    #[test]
    fn a_reach_is_that_of_the_core_if_the_sibling_rests_now_and_then() {
        let mut rng = Rng::new(3);
        for edge in (8..=200).step_by(7) {
            // Spells of several questions, and half of all.
            let (mut busy, mut left) = (false, 0);
            let found = reach(2, 256, 1, |n| {
                if left == 0 {
                    (busy, left) = (!busy, 1 + rng.below(9));
                }
                left -= 1;
                Ok(Answer::of(n <= if busy { edge / 2 } else { edge }, true, !busy))
            });
            assert_eq!(found.map(|found| found.reach), Ok(Reach::To(edge)));
            let share = reach(2, 256, 1, |n| Ok(Answer::of(n <= edge / 2, true, false)));
            assert_eq!(share, Ok(Found { reach: Reach::To(edge / 2), alone: false }));
            // That all numbers were held needs no witness.
            let whole = reach(2, edge, 1, |_| Ok(Answer::of(true, true, false)));
            assert_eq!(whole, alone(Reach::Everywhere));
        }
    }

    #[test]
    fn the_reach_is_found_wherever_it_is() {
        for step in [1, 4] {
            for edge in (4..=256).step_by(step) {
                let mut asked = 0;
                let found = reach(4, 256, step, |n| {
                    asked += 1;
                    assert!((4..=256).contains(&n) && (n - 4).is_multiple_of(step), "{n}");
                    Ok(answer(n <= edge))
                });
                let expected = if edge + step > 256 { Reach::Everywhere } else { Reach::To(edge) };
                assert_eq!(found, alone(expected), "{edge} by {step}");
                assert!(asked < 50, "{asked} questions");
            }
        }
        assert_eq!(reach(4, 256, 1, |_| Ok(Answer::No)), alone(Reach::Nowhere));
        assert_eq!(reach(4, 4, 1, |_| Ok(Answer::Yes)), alone(Reach::Everywhere));
        assert_eq!(reach(4, 256, 1, |_| Ok(Answer::Unknown)), alone(Reach::Nowhere));
        let stop = BenchError::Failed("why".to_owned());
        assert_eq!(reach(4, 256, 1, |_| Err(stop.clone())), Err(stop));
    }

    #[test]
    fn with_every_third_look_disturbed_it_is_right_nearly_always() {
        let mut rng = Rng::new(1);
        let mut right = 0;
        for _ in 0..1000 {
            let edge = 8 + rng.below(120) as usize;
            let found = reach(2, 256, 1, |n| {
                let price = made_up::noisy(&mut rng, 3, if n <= edge { 5.05 } else { 5.5 });
                Ok(answer(price <= 5.25))
            });
            match found.map(|found| found.reach) {
                Ok(Reach::To(n)) => {
                    assert!(n <= edge, "too high");
                    right += usize::from(n == edge);
                }
                other => panic!("{other:?}"),
            }
        }
        assert!(right >= 900, "{right} of 1000");
    }

    #[test]
    fn a_disturbance_that_lasts_is_made_good_at_the_end() {
        // The first three looks at 72 are disturbed, all of them.
        let mut bad = 3;
        let found = reach(2, 256, 1, |n| {
            if n == 72 && bad > 0 {
                bad -= 1;
                return Ok(Answer::No);
            }
            Ok(answer(n <= 72))
        });
        assert_eq!(found, alone(Reach::To(72)));
    }

    /// A load from the first-level cache takes a few cycles: less than a miss, and more than an
    /// addition, whose time the clock is known by.
    #[test]
    fn a_cost_is_that_of_one_load_in_cycles() {
        fn looked(ctx: &mut Ctx) -> Outcome {
            let mut buffer = Map::anonymous(4096, Policy::Base).context("mapping a page")?;
            let seen = lowest(5, || load(ctx, &mut buffer, &[0, 1024, 128, 2048]))?;
            ctx.state(seen.cycles);
            ctx.state_as("clock", seen.hz);
            Ok(())
        }
        let mut seen = Vec::new();
        for _ in 0..5 {
            let tried = try_out(&stating(looked), &[], None).expect("a page");
            let value = |name: &str| tried.stated(name).unwrap_or(f64::NAN);
            seen.push((value(""), value("clock")));
        }
        let right = |(cycles, hz): &(f64, f64)| (1.5..=40.0).contains(cycles) && (1e7..=1e11).contains(hz);
        assert!(seen.iter().any(right), "{seen:?}");
    }

    #[test]
    fn an_undisturbed_price_counts_before_a_lower_one() {
        let looks = [(5.0, false, true), (5.4, true, true), (5.2, true, true), (5.1, true, false)];
        let mut i = 0;
        let best = lowest(4, || {
            i += 1;
            let (cycles, clean, alone) = looks[i - 1];
            Ok(Load { cycles, hz: 3e9, clean, alone })
        });
        assert_eq!(best.map(|l| l.cycles), Ok(5.2));
    }
}
