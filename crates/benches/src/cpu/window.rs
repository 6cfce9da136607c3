//! The out-of-order window: how far a core looks ahead of a load that misses.
//!
//! **Measures:** The most instructions between two loads that the core has under way at once,
//! although the first waits for memory. With more, the second load begins only when the first has
//! ended. What ends the window depends on the instructions between them. By `filler`:
//! - `nothing`: instructions that do nothing take a place in the re-order buffer and no more: its
//!   size.
//! - `additions`: each also takes a physical register: the size of the register file, less those
//!   that hold the program's own registers.
//! - `waiting`: additions of what the first load brings, so each also waits in the scheduler: the
//!   size of the integer scheduler.
//! - `loads`, `stores`: each also takes a place in the load queue or the store buffer.
//!
//! **Does not measure:** The schedulers of loads and of floating-point instructions.
//!
//! **Method:** Two rings of addresses in random order, each much larger than the caches. A turn
//! follows one, then come the fillers, then it follows the other, then as many fillers. In the
//! control the second ring has a single place, which is always in the cache. Where the loads
//! overlap, a turn takes as long as in the control; where they do not, twice as long. The largest
//! number of fillers with which it takes less than 1.5 times as long is found by doubling and
//! bisection, and the value is one more: the load itself takes a place. A sixteenth below and above
//! the end the two loads are measured once more; unless they overlap below and not above, the
//! search is made again. So it is where the sibling thread was busy at the end: what no search
//! finds alone is the share that the sibling left, and labelled. The code is written at run time.
//!
//! **Proofs:** Both rings have gone on by the credited number of places. Where two loads do not
//! overlap without fillers, or no search is confirmed, because others keep memory busy, there is no
//! value.
//!
//! **Pitfalls:**
//! - Some cores fuse an instruction that does nothing with the one before it: the window then looks
//!   up to twice as large.
//! - Where memory answers faster than the fillers are executed, nothing can be seen.
//!
//! **Sources:** Wong, "Measuring Reorder Buffer Capacity" (2013). See
//! docs/methods/processor.md#code.

use groma_harness::prelude::*;
use groma_harness::sys::code::{Filler, Ring, Window};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Instructions that a core has under way while a load misses",
        about: about!("window.rs"),
        iteration: "one search; within it, turns of two loads with instructions between them",
        timing: Timing::Stated,
        quantity: Quantity::Count,
        better: Some(Better::Higher),
        params: &[Param::word(
            "filler",
            "the instructions between the loads",
            &["nothing", "additions", "waiting", "loads", "stores"],
        )
        .quick(&["nothing"])
        .standard(&["additions", "waiting", "loads", "stores"])],
        scaling: Scaling::alone("copies would evict each other's lines"),
        target_half_width: 0.05,
        tier: Tier::Standard,
        class_tier: Tier::Full,
        ..Info::new("cpu.window")
    },
    run: Run::Here(run),
};

/// The most fillers that are tried: four times what any core has under way today.
const MAX_FILLERS: usize = 2048;
/// Places of a large ring, one in each of so many bytes: 128 MiB, and each step misses.
const PLACES: usize = 1 << 18;
const PLACE_DISTANCE: usize = 512;
/// Windows of a probe, and turns in each at most: a lap has a hundred times as many.
const WINDOWS: u32 = 3;
const TURNS: u64 = 2000;
/// A turn that takes so many times that of the control has waited for both loads.
const SERIAL: f64 = 1.5;
/// Searches that are made until one is confirmed.
const SEARCHES: u32 = 3;
/// How often a question is asked that the core answers beside a busy sibling thread.
const TRIES: u32 = 8;

/// Whether two loads overlap.
#[derive(Clone, Copy, Debug)]
struct Answer {
    holds: bool,
    /// Whether the sibling thread rested meanwhile.
    alone: bool,
}

struct Rings {
    a: Ring,
    b: Ring,
    single: Ring,
    /// Turns of the first ring, and of the second, as they were asked for.
    turns: [u64; 2],
}

impl Rings {
    /// How many times as long a turn with so many fillers takes as the one whose second load hits,
    /// and whether the sibling thread rested in both.
    fn ratio(&mut self, ctx: &mut Ctx, fillers: usize, filler: Filler) -> Result<(f64, bool), BenchError> {
        let window = super::require_code(Window::new(fillers, filler))?;
        let mut best = [(false, f64::INFINITY); 2];
        // In turns, so that both see the same machine.
        for _ in 0..WINDOWS {
            for (i, best) in best.iter_mut().enumerate() {
                let second = if i == 0 { &mut self.b } else { &mut self.single };
                let before = ctx.iterations();
                let cost = ctx.probe_at_most(1, TURNS, |turns| {
                    window.run(turns, [&mut self.a, second]);
                    Ok(())
                })?;
                let credited = ctx.iterations() - before;
                self.turns = [self.turns[0] + credited, self.turns[1] + if i == 0 { credited } else { 0 }];
                if (cost.alone, -cost.seconds) > (best.0, -best.1) {
                    *best = (cost.alone, cost.seconds);
                }
            }
        }
        Ok((best[0].1 / best[1].1, best[0].0 && best[1].0))
    }
}

fn filler(word: &str) -> Filler {
    match word {
        "additions" => Filler::Additions,
        "waiting" => Filler::Waiting,
        "loads" => Filler::Loads,
        "stores" => Filler::Stores,
        _ => Filler::Nothing,
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let filler = filler(ctx.word("filler"));
    let (wanted, room) = (2 * PLACES * PLACE_DISTANCE, sys::facts::available_memory().unwrap_or(u64::MAX));
    if wanted as u64 > room / 4 {
        return Err(BenchError::Unsupported(format!(
            "needs {wanted} B, more than a quarter of the {room} B available"
        )));
    }
    let [of_a, of_b] = [0, 1].map(|_| {
        let mut order: Vec<usize> = (0..PLACES).collect();
        ctx.rng().shuffle(&mut order);
        order
    });
    let ring = |order: &[usize]| Ring::new(order, PLACE_DISTANCE).context("mapping a ring");
    let mut rings = Rings { a: ring(&of_a)?, b: ring(&of_b)?, single: ring(&[0])?, turns: [0; 2] };
    let (none, _) = rings.ratio(ctx, 0, filler)?;
    let found = confirm_end(|fillers| {
        let (ratio, alone) = rings.ratio(ctx, fillers, filler)?;
        Ok(Answer { holds: ratio < SERIAL, alone })
    })?;
    for (ring, order, turns) in [(&rings.a, &of_a, rings.turns[0]), (&rings.b, &of_b, rings.turns[1])] {
        let there = ring.place() == order[(turns % PLACES as u64) as usize];
        ctx.prove("a ring stands where the credited turns lead", "1", f64::from(u8::from(there)), 1.0..=1.0);
    }
    match found {
        // Whatever else uses memory makes two loads slower than one.
        _ if none >= SERIAL => {
            ctx.unresolved("", &format!("two loads with nothing between them take {none:.2} times as long as one"));
        }
        End::At { last, alone } => ctx.state_seen("", last as f64 + 1.0, alone),
        End::Moves => {
            ctx.unresolved("", &format!("none of {SEARCHES} searches was confirmed: others keep memory busy"))
        }
        End::Beyond => {
            let why = format!(
                "with up to {MAX_FILLERS} instructions between them, two loads take less than 1.5 times as long as one"
            );
            ctx.unresolved("", &why);
        }
    }
    Ok(())
}

/// Where a window ends.
#[derive(Debug, PartialEq)]
enum End {
    /// After the `last`, as the core itself shows; beside a busy sibling, unless `alone`.
    At { last: usize, alone: bool },
    /// Beyond [`MAX_FILLERS`].
    Beyond,
    /// Elsewhere when it is measured again.
    Moves,
}

/// The end that a search finds, if it is still there afterwards: whatever else uses memory may have
/// changed the answer to any one of its questions. The largest of those beside a busy sibling where
/// none was had alone.
fn confirm_end(mut look: impl FnMut(usize) -> Result<Answer, BenchError>) -> Result<End, BenchError> {
    let mut ask = |n: usize| {
        let mut answer = look(n)?;
        for _ in 1..TRIES {
            if !answer.alone {
                answer = look(n)?;
            }
        }
        Ok(answer)
    };
    let mut share = None;
    for _ in 0..SEARCHES {
        let Some((end, alone)) = last(&mut ask)? else { return Ok(End::Beyond) };
        // Where registers are renamed in groups, the end itself is not sharp.
        if !ask(end - end / 16)?.holds {
            continue;
        }
        match ask(end + end / 16 + 2)? {
            Answer { holds: true, .. } => {}
            above if alone && above.alone => return Ok(End::At { last: end, alone: true }),
            _ => share = share.max(Some(end)),
        }
    }
    Ok(share.map_or(End::Moves, |last| End::At { last, alone: false }))
}

/// The largest number for which the answer is yes, as it is for 0, and whether the next one was
/// refused alone; `None` where the powers of two up to [`MAX_FILLERS`] all hold. From the smallest
/// power on: a long way beyond the end, the fillers take longer than memory, and nothing is seen.
fn last(mut ask: impl FnMut(usize) -> Result<Answer, BenchError>) -> Result<Option<(usize, bool)>, BenchError> {
    let (mut low, mut high) = (0, 8);
    let mut alone = loop {
        let answer = ask(high)?;
        if !answer.holds {
            break answer.alone;
        }
        (low, high) = (high, 2 * high);
        if high > MAX_FILLERS {
            return Ok(None);
        }
    };
    while high - low > 1 {
        let middle = low.midpoint(high);
        let answer = ask(middle)?;
        if answer.holds {
            low = middle;
        } else {
            (high, alone) = (middle, answer.alone);
        }
    }
    Ok(Some((low, alone)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::Rng;
    use groma_harness::testing::try_failing;

    fn alone(holds: bool) -> Result<Answer, BenchError> {
        Ok(Answer { holds, alone: true })
    }

    fn find_end(ask: impl FnMut(usize) -> Result<Answer, BenchError>) -> End {
        confirm_end(ask).expect("no error")
    }

    #[test]
    fn the_last_that_holds_is_found() {
        for end in [0, 1, 7, 8, 223, 511, 2047] {
            assert_eq!(last(|n| alone(n <= end)).expect("no error"), Some((end, true)));
        }
        assert_eq!(last(|_| alone(true)).expect("no error"), None);
        // Beyond twice the end it seems to hold again.
        assert_eq!(last(|n| alone(n <= 100 || n > 500)).expect("no error"), Some((100, true)));
    }

    /// A busy sibling leaves half of the places. It is there for half of the questions, each time
    /// for up to so many in a row.
    #[test]
    fn an_end_is_that_of_the_core_or_called_a_share() {
        for (most, least_told) in [(1, 100), (3, 100), (9, 80), (40, 90)] {
            let (mut rng, mut told) = (Rng::new(most), 0);
            for _ in 0..100 {
                let (mut busy, mut left) = (rng.below(2) == 0, 0);
                let end = find_end(|n| {
                    if left == 0 {
                        (busy, left) = (!busy, 1 + rng.below(most));
                    }
                    left -= 1;
                    Ok(Answer { holds: n <= if busy { 127 } else { 255 }, alone: !busy })
                });
                match end {
                    End::At { last, alone: true } => {
                        assert_eq!(last, 255);
                        told += 1;
                    }
                    End::At { last, .. } => assert!((127..=255).contains(&last), "{last}"),
                    other => assert_eq!(other, End::Moves),
                }
            }
            assert!(told >= least_told, "in spells of {most}: {told}");
        }
        let never = find_end(|n| Ok(Answer { holds: n <= 127, alone: false }));
        assert_eq!(never, End::At { last: 127, alone: false });
    }

    #[test]
    fn an_end_is_one_that_is_there_again() {
        assert_eq!(find_end(|n| alone(n <= 102)), End::At { last: 102, alone: true });
        assert_eq!(find_end(|_| alone(true)), End::Beyond);
        // One answer of the first search is wrong: too early an end, and too late a one.
        for (wrong, asked_of) in [(false, 8), (true, 128)] {
            let mut first = true;
            let ask = |n| alone(if n == asked_of && std::mem::take(&mut first) { wrong } else { n <= 102 });
            assert_eq!(find_end(ask), End::At { last: 102, alone: true }, "{wrong}");
        }
        let mut asked = 0;
        let by_chance = |_| {
            asked += 1;
            alone(asked % 2 == 0)
        };
        assert_eq!(find_end(by_chance), End::Moves);
    }

    #[test]
    fn each_filler_is_the_one_that_is_named() {
        assert_eq!(filler("nothing"), Filler::Nothing);
        assert_eq!(filler("additions"), Filler::Additions);
        assert_eq!(filler("waiting"), Filler::Waiting);
        assert_eq!(filler("loads"), Filler::Loads);
        assert_eq!(filler("stores"), Filler::Stores);
    }

    /// No core holds more instructions than it has places for, and stores and instructions that
    /// wait need one of few.
    #[test]
    fn a_window_ends() {
        for filler in ["stores", "waiting"] {
            match try_failing(&BENCH, &[("filler", filler)], None) {
                Ok(tried) => {
                    if let Some(seen) = tried.stated("") {
                        assert!((8.0..1000.0).contains(&seen), "{filler}: {seen}");
                    }
                }
                Err(BenchError::Unsupported(why)) => println!("skipped: {why}"),
                Err(e) => panic!("{e}"),
            }
        }
    }
}
