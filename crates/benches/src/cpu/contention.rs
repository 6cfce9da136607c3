//! Two CPUs that add to one word as fast as they can.
//!
//! **Measures:** Atomic additions (`fetch_add`, on x86 `lock xadd`) by both CPUs to one word. The
//! main value is the time from one addition of a CPU to its next, the mean of both. `rate` is the
//! additions of both per second, `fairness` the slower CPU's count over the faster one's, and
//! `alone` an addition by one CPU without a competitor.
//!
//! **Does not measure:** Contention of more than two CPUs, which is another number.
//!
//! **Method:** As `cpu.core_to_core`: two pinned processes, fresh pages, and windows of 50 us that
//! do not count when the kernel took a CPU away. Each addition returns what the word held, so one
//! process knows what the other did between its own first and last addition, without a second
//! clock. The median window counts, and of these the median page: arbitration is a matter of
//! chance, and the fastest window is one in which one process had the line to itself.
//!
//! **Proofs:** The words hold as many additions as both processes made; both were on their CPUs.
//!
//! **Pitfalls:**
//! - Threads that start one after the other have the word to themselves for a while.
//! - Additions in batches hide the unfairness.
//!
//! **Sources:** docs/methods/processor.md#contention.

use super::pair::{self, Pair, SharedState, Window};
use crate::work;
use groma_harness::prelude::*;
use groma_harness::stats::median;
use groma_harness::sys::clock::{Clock, Monotonic};
use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Two CPUs add atomically to one word: time between additions of one",
        about: about!("contention.rs"),
        iteration: "one atomic addition by each of the two",
        timing: Timing::Stated,
        outputs: &[
            Output::MAIN,
            Output::named("rate", "Additions by both per second").quantity(Quantity::Rate),
            Output::named("fairness", "What the slower one does over what the faster one does")
                .quantity(Quantity::Ratio),
            Output::named("alone", "The same addition by one CPU alone").detail(),
        ],
        scaling: Scaling::alone("it is about two CPUs"),
        placements: &[Placement::SameLlc, Placement::Smt, Placement::CrossLlc, Placement::CrossNode],
        needs: &[Need::Cpus(2)],
        target_half_width: 0.05,
        tier: Tier::Standard,
        ..Info::new("cpu.contention")
    },
    run: Run::Here(run),
};

/// The length of a window.
const WINDOW_NS: u64 = 50_000;
/// Additions between two reads of the clock, or two checks whether the window is over.
const BATCH: u64 = 64;
/// Additions before the clock starts, so that both processes are adding.
const WARM: u64 = 4 * BATCH;

/// Adds `times` times, and returns what the word held before the last addition.
#[inline(never)]
fn add(word: &AtomicU64, times: u64) -> u64 {
    let mut held = 0;
    for _ in 0..times {
        held = word.fetch_add(1, SeqCst);
    }
    held
}

/// The result of a window: its length, and the additions of this process and of the peer.
#[derive(Clone, Copy)]
struct Seen {
    ns: f64,
    own: f64,
    others: f64,
}

impl Seen {
    fn per_addition(&self) -> f64 {
        2.0 * self.ns / (self.own + self.others)
    }

    fn fairness(&self) -> f64 {
        self.own.min(self.others) / self.own.max(self.others)
    }
}

fn contend(window: &Window<'_>) -> io::Result<(Seen, u64)> {
    let word = window.place.first();
    let first = add(word, WARM);
    let (start, mut own, mut last) = (Monotonic.now_ns(), 0, first);
    let ns = loop {
        last = add(word, BATCH).max(last);
        own += BATCH;
        let ns = Monotonic.now_ns().saturating_sub(start);
        if ns >= WINDOW_NS {
            break ns;
        }
    };
    // The peer's additions from the last own one before the clock started to the last own one
    // before it stopped.
    Ok((Seen { ns: ns as f64, own: own as f64, others: (last - first - own) as f64 }, WARM + own))
}

fn add_until_over(window: &Window<'_>) -> io::Result<u64> {
    let mut own = 0;
    while !window.is_over() {
        add(window.place.first(), BATCH);
        own += BATCH;
    }
    Ok(own)
}

/// The seconds of an addition by one CPU without a competitor.
fn alone(ctx: &mut Ctx) -> Result<f64, BenchError> {
    let batch = work::probe(ctx, 5, BATCH, |iters| {
        // Not in a place of the pool: those must stay untouched.
        let word = AtomicU64::new(0);
        add(&word, iters * BATCH);
        Ok(word.load(Relaxed))
    })?;
    Ok(batch.seconds / BATCH as f64)
}

/// The time between additions on each page, and the fairness: those of its median window.
fn pages(windows: &[pair::Measured<Seen>]) -> [Vec<Option<f64>>; 2] {
    [pair::by_block(windows, Seen::per_addition, median), pair::by_block(windows, Seen::fairness, median)]
}

fn run(ctx: &mut Ctx) -> Outcome {
    let shared = SharedState::new(0, 64)?;
    let alone = alone(ctx)?;
    ctx.state_as("alone", alone);
    let mut pair = Pair::start(ctx, &shared, add_until_over)?;
    let wanted = pair::SLOTS;
    let windows = pair::windows(
        ctx,
        &mut pair,
        |seen: &[pair::Measured<Seen>]| seen.len() >= wanted && pages(seen)[0].iter().all(Option::is_some),
        contend,
    )?;
    let work = pair.work;
    let answered = pair.end(ctx)?;
    let places = (0..wanted as u32).map(|i| shared.pool.place(pair::Slot::of(i)));
    let held: u64 = places.map(|place| place.first().load(Relaxed)).sum();
    ctx.prove("additions that the words do not hold", "0", (work + answered) as f64 - held as f64, 0.0..=0.0);
    ctx.fact("windows.clean", windows.iter().filter(|w| w.clean).count());
    let [per_addition, fairness] = pages(&windows);
    let Some(ns) = pair::enough_blocks(ctx, &per_addition) else { return Ok(()) };
    let known: Vec<f64> = fairness.into_iter().flatten().collect();
    if let (Some(ns), Some(fairness)) = (median(&ns), median(&known)) {
        ctx.state(ns * 1e-9);
        ctx.state_as("rate", 2e9 / ns);
        ctx.state_as("fairness", fairness);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::{stating, try_out};

    #[test]
    fn no_addition_is_lost() {
        let tried = match try_out(&BENCH, &[], None) {
            Err(BenchError::Unsupported(why)) => return eprintln!("skipped: {why}"),
            tried => tried.expect("shared memory"),
        };
        assert_eq!(tried.proven("additions that the words do not hold"), 0.0);
        assert_eq!(tried.proven("sides that were found on another CPU"), 0.0);
        let value = |name: &str| tried.stated(name);
        if let Some(fairness) = value("fairness") {
            assert!((0.0..=1.0).contains(&fairness), "{fairness}");
            let product = value("").expect("stated as well") * value("rate").expect("stated as well");
            assert!((product - 2.0).abs() < 1e-9, "{product}");
        }
        assert!(value("alone").is_some_and(|alone| alone > 0.0));
    }

    #[test]
    fn a_window_is_told_by_both() {
        let seen = Seen { ns: 1000.0, own: 30.0, others: 10.0 };
        assert_eq!((seen.per_addition(), seen.fairness()), (50.0, 1.0 / 3.0));
        let word = AtomicU64::new(7);
        assert_eq!((add(&word, 5), word.load(Relaxed)), (11, 12));
    }

    /// The fastest window is one in which one process had the word to itself.
    #[test]
    fn a_page_is_its_median_window() {
        let window = |number, own, others, clean| {
            let seen = Seen { ns: 1000.0, own, others };
            pair::Measured { slot: pair::Slot::of(number), seen, clean }
        };
        // 50, 20 and 5 ns an addition.
        let windows = [
            window(0, 30.0, 10.0, true),
            window(1, 50.0, 50.0, true),
            window(2, 380.0, 20.0, true),
            window(3, 1.0, 1.0, false),
        ];
        let [per_addition, fairness] = pages(&windows);
        assert_eq!((per_addition[0], fairness[0]), (Some(20.0), Some(10.0 / 30.0)));
        assert!(per_addition[1..].iter().chain(&fairness[1..]).all(Option::is_none));
    }

    fn state_alone(ctx: &mut Ctx) -> Outcome {
        let seconds = alone(ctx)?;
        ctx.state(seconds);
        Ok(())
    }

    /// One addition and not a batch of them: within a factor of eight, as the test times it.
    #[test]
    fn alone_is_one_addition() {
        let tried = try_out(&stating(state_alone), &[], None).expect("a word");
        let stated = tried.stated("").expect("stated") * 1e9;
        let word = AtomicU64::new(0);
        let times = (0..1000).map(|_| {
            let start = Monotonic.now_ns();
            add(&word, 1000);
            Monotonic.now_ns().saturating_sub(start)
        });
        let each = times.min().expect("a thousand times") as f64 / 1000.0;
        assert!((each / 8.0..each * 8.0).contains(&stated), "{stated} ns, and {each} ns here");
    }

    /// What a process adds itself is not counted as the other one's.
    #[test]
    fn without_a_competitor_all_additions_are_its_own() {
        let shared = SharedState::new(0, 64).expect("memory");
        let window = shared.window(1);
        let (seen, work) = contend(&window).expect("a window");
        assert_eq!(seen.others, 0.0);
        assert_eq!((work - WARM) as f64, seen.own);
        assert_eq!(window.place.first().load(Relaxed), work);
    }
}
