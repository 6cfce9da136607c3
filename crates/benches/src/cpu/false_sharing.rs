//! False sharing: two CPUs that write different words of one cache line.
//!
//! **Measures:** Writes, each CPU to a word that nobody else writes: `shared`, both words in one
//! line, 32 bytes apart; `apart`, on a line each. The main value is the ratio of the two times.
//! `op=add` is an atomic addition, as in per-thread statistics; `op=store` is plain stores, one
//! after the other.
//!
//! **Does not measure:** Two CPUs that write the same word (`cpu.contention`), the transfer of a
//! line alone (`cpu.core_to_core`), or readers beside a writer.
//!
//! **Method:** As `cpu.core_to_core`: two pinned processes, fresh pages, windows of 50 us. Windows
//! with one line and with two alternate on the same pages. Windows in which the kernel took a CPU
//! away do not count. The median window of each kind counts.
//!
//! **Proofs:** Each word holds as many writes as its process made; the peer wrote in every window
//! that counts; both processes were on their CPUs.
//!
//! **Pitfalls:**
//! - Plain stores gather in the store buffer while the line is elsewhere, and a burst of them costs
//!   a single transfer. A shared line then costs little (1.2 times; machine not recorded), while
//!   atomic additions, each of which waits for the line, cost many times as much. Neither stands
//!   for the other.
//! - A compiler may keep a counter in a register; an atomic store prevents that.
//!
//! **Sources:** docs/methods/processor.md#false-sharing.

use super::pair::{self, Pair, SharedState, Window};
use groma_harness::prelude::*;
use groma_harness::stats::median;
use groma_harness::sys::clock::{Clock, Monotonic};
use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "False sharing: a write to a line that two CPUs write, over its own",
        about: about!("false_sharing.rs"),
        quantity: Quantity::Ratio,
        better: Some(Better::Lower),
        iteration: "one write by each of the two",
        timing: Timing::Stated,
        outputs: &[
            Output::MAIN.ratio("shared", "apart"),
            Output::named("shared", "A write to a line that the other CPU writes as well").quantity(Quantity::Latency),
            Output::named("apart", "A write to a line of its own beside it").quantity(Quantity::Latency).detail(),
        ],
        params: &[Param::word("op", "an atomic addition, or a plain store", &["add", "store"])
            .quick(&["add"])
            .standard(&["store"])],
        scaling: Scaling::alone("it is about two CPUs"),
        placements: &[Placement::SameLlc, Placement::Smt, Placement::CrossLlc, Placement::CrossNode],
        needs: &[Need::Cpus(2)],
        target_half_width: 0.1,
        tier: Tier::Standard,
        ..Info::new("cpu.false_sharing")
    },
    run: Run::Here(run),
};

/// The length of a window.
const WINDOW_NS: u64 = 50_000;
/// Writes between two reads of the clock, or two checks whether the window is over.
const BATCH: u64 = 256;

/// Stores the numbers after `held`, one by one. Returns the last.
#[inline(never)]
fn store(word: &AtomicU64, held: u64) -> u64 {
    for number in held..held + BATCH {
        word.store(number + 1, Relaxed);
    }
    held + BATCH
}

/// Adds one repeatedly to a word that nobody else writes. Returns what it holds then.
#[inline(never)]
fn add(word: &AtomicU64, held: u64) -> u64 {
    for _ in 0..BATCH {
        word.fetch_add(1, Relaxed);
    }
    held + BATCH
}

/// Writes a batch to a word that holds the given value, and returns what it holds then.
type Write = fn(&AtomicU64, u64) -> u64;

/// The writes that the parameter names.
fn writes(op: &str) -> Write {
    if op == "add" { add } else { store }
}

/// The result of a window: nanoseconds per write, and whether the peer wrote during it.
#[derive(Clone, Copy)]
struct Seen {
    ns: f64,
    accompanied: bool,
}

/// Where the peer writes: on the same line in even visits, on another line in odd ones.
fn other<'a>(window: &Window<'a>) -> &'a AtomicU64 {
    if is_shared(window.slot) { window.place.beside() } else { window.place.apart() }
}

fn is_shared(slot: pair::Slot) -> bool {
    slot.visit.is_multiple_of(2)
}

fn here(write: Write, window: &Window<'_>) -> io::Result<(Seen, u64)> {
    let (word, other) = (window.place.first(), other(window));
    let first = word.load(Relaxed);
    let mut held = write(word, first);
    // Wait until the peer writes.
    let before = other.load(Relaxed);
    pair::wait_until(|| other.load(Relaxed) != before)?;
    let (start, from, seen) = (Monotonic.now_ns(), held, other.load(Relaxed));
    let ns = loop {
        held = write(word, held);
        let ns = Monotonic.now_ns().saturating_sub(start);
        if ns >= WINDOW_NS {
            break ns;
        }
    };
    let accompanied = is_company(seen, other.load(Relaxed));
    Ok((Seen { ns: ns as f64 / (held - from) as f64, accompanied }, held - first))
}

/// Whether the peer wrote during the window, from what its word held at the beginning and at the
/// end. The batch that it was at may have come to an end, and no more.
fn is_company(at_start: u64, at_end: u64) -> bool {
    at_end > at_start + BATCH
}

fn there(write: Write, window: &Window<'_>) -> io::Result<u64> {
    let word = other(window);
    let first = word.load(Relaxed);
    let mut held = first;
    while !window.is_over() {
        held = write(word, held);
    }
    Ok(held - first)
}

/// The median times of writes to one line and to two lines, by their outputs, of the windows in
/// which both sides wrote; `None` of too few.
fn both(windows: &[pair::Measured<Seen>]) -> Option<[(&'static str, f64); 2]> {
    let of = |shared: bool| {
        let counts = |w: &&pair::Measured<Seen>| w.clean && w.seen.accompanied && is_shared(w.slot) == shared;
        let ns: Vec<f64> = windows.iter().filter(counts).map(|w| w.seen.ns).collect();
        if ns.len() >= pair::SLOTS / 4 { median(&ns) } else { None }
    };
    Some([("shared", of(true)?), ("apart", of(false)?)])
}

fn run(ctx: &mut Ctx) -> Outcome {
    let write = writes(ctx.word("op"));
    let shared = SharedState::new(0, 64)?;
    let mut pair = Pair::start(ctx, &shared, |window| there(write, window))?;
    let enough = |seen: &[pair::Measured<Seen>]| seen.len() >= 2 * pair::SLOTS && both(seen).is_some();
    let windows = pair::windows(ctx, &mut pair, enough, |window| here(write, window))?;
    let work = pair.work;
    let answered = pair.end(ctx)?;
    let (mut held_here, mut held_there) = (0, 0);
    for place in (0..pair::SLOTS as u32).map(|i| shared.pool.place(pair::Slot::of(i))) {
        held_here += place.first().load(Relaxed);
        held_there += place.beside().load(Relaxed) + place.apart().load(Relaxed);
    }
    let missing = (work as f64 - held_here as f64).abs() + (answered as f64 - held_there as f64).abs();
    ctx.prove("writes that the words do not hold", "0", missing, 0.0..=0.0);
    ctx.fact("windows.clean", windows.iter().filter(|w| w.clean && w.seen.accompanied).count());
    match both(&windows) {
        Some(found) => {
            for (name, ns) in found {
                ctx.state_as(name, ns * 1e-9);
            }
        }
        None => ctx.unresolved("", "the two CPUs were hardly ever free at the same time"),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_writes_its_numbers() {
        for write in [store, add] {
            let word = AtomicU64::new(5);
            assert_eq!((write(&word, 5), word.load(Relaxed)), (5 + BATCH, 5 + BATCH));
        }
    }

    /// The writes of both kinds are counted alike, so that proofs cannot tell them.
    #[test]
    fn additions_keep_what_was_there_and_stores_do_not() {
        for (op, held) in [("add", 7 + BATCH), ("store", BATCH)] {
            let word = AtomicU64::new(7);
            writes(op)(&word, 0);
            assert_eq!(word.load(Relaxed), held, "{op}");
        }
    }

    /// The batch before the clock is started is not among the writes that are timed.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "nothing forks here")]
    fn a_write_is_the_time_of_the_window_over_the_writes_within_it() {
        let shared = SharedState::new(0, 64).expect("memory");
        let window = shared.window(1);
        let (seen, work) = std::thread::scope(|scope| {
            scope.spawn(|| there(add, &window));
            let seen = here(add, &window);
            window.end();
            seen
        })
        .expect("the other side writes");
        assert_eq!(window.place.first().load(Relaxed), work);
        let ns = seen.ns * (work - BATCH) as f64;
        assert!(ns > WINDOW_NS as f64 - 0.5 && (ns - ns.round()).abs() < 1e-6, "{ns} is no whole number");
        assert!(!is_company(7, 7) && !is_company(7, 7 + BATCH) && is_company(7, 8 + BATCH));
    }

    #[test]
    fn every_second_visit_is_to_one_line() {
        let shared = SharedState::new(0, 64).expect("memory");
        let places = pair::SLOTS as u32;
        for number in 1..=2 * places {
            let window = shared.window(number);
            let at = |word: &AtomicU64| std::ptr::from_ref(word).addr();
            let (own, other) = (at(window.place.first()), at(other(&window)));
            let apart = own.abs_diff(other);
            assert_eq!(own / 64 == other / 64, number <= places, "{number}: {apart} bytes");
            assert!(number <= places || apart >= 256, "{number}: {apart} bytes");
        }
    }

    /// Where the other side did not write, or lost its CPU, there was no competitor.
    #[test]
    fn only_windows_in_which_both_wrote_count() {
        let window = |number: u32, ns: f64, accompanied: bool, clean: bool| pair::Measured {
            slot: pair::Slot::of(number),
            seen: Seen { ns, accompanied },
            clean,
        };
        let places = pair::SLOTS as u32;
        let all = |accompanied: bool, clean: bool| -> Vec<pair::Measured<Seen>> {
            let ns = |number: u32| if number < places { 50.0 } else { 5.0 };
            (0..2 * places).map(|number| window(number, ns(number), accompanied, clean)).collect()
        };
        let found = Some([("shared", 50.0), ("apart", 5.0)]);
        assert_eq!(both(&all(true, true)), found);
        assert_eq!(both(&all(false, true)), None);
        assert_eq!(both(&all(true, false)), None);
        // The fast windows without company, though they are as many, change nothing.
        let mut mixed = all(true, true);
        mixed.extend((0..2 * places).map(|number| window(number, 1.0, false, true)));
        assert_eq!(both(&mixed), found);
    }
}
