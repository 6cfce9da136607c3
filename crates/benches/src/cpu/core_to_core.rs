//! Handing a cache line over from one CPU to another: one way, by the way in which it is done.
//!
//! "Core to core" is at least four numbers, and each is named:
//! `cas1`, both sides spin with compare-and-swap on one word; `ldst1`, each spins with plain loads and then stores, on one
//! word; `flag2`, each spins on a word that only the other one stores to, on two lines; `payload4`, as `ldst1`, with four
//! lines read and written before each hand-over that the other side wrote last (their stores, the word's and the other
//! side's loads follow one another, so even one line costs two more transfers). The main value is half of the fastest round
//! trips on the median page, `least` and `most` are those of the best and the worst page: where lines have their home on the
//! chip. Does not measure more than two CPUs (`cpu.contention`), nor stores beside each other (`cpu.false_sharing`).
//!
//! Method: a process pinned to each of the two CPUs, in shared memory. Six pages that nobody has touched, three touched first by
//! each side, four lines in each; a window is 400 round trips after 16 that are not counted, 30 to 60 us. The least window of
//! a page is its value, and windows in which the kernel took a CPU away do not count; a side spins with loads, without
//! `pause`. One way is half a round trip: both ways are the same on no chip for certain, and two clocks cannot tell.
//!
//! Proofs: both sides made as many hand-overs, and the words hold their number; lines that went along were written each
//! time; both sides were on their CPUs.
//!
//! Traps: on a busy machine one side waits while the other has no CPU, and a mean then shows 1000 ns for 50; a page used before
//! stays at home elsewhere (core-to-core-latency, issues 97 and 155); in a virtual machine the CPUs may lie elsewhere a minute
//! later; what the system says of the pair is the fact `relation`, and what its time says is to be held against it.
//!
//! Source: memory-methods.md M12; nviennot's core-to-core-latency, c2clat.

use super::pair::{self, Pair, Place, SharedState, Window, until};
use groma_harness::prelude::*;
use groma_harness::sys::clock::{Clock, Monotonic};
use groma_harness::sys::topology::Topology;
use std::io;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "One-way hand-over of a cache line between two CPUs (half a round trip), by protocol",
        about: about!("core_to_core.rs"),
        iteration: "one hand-over: half of a round trip",
        timing: Timing::Stated,
        outputs: &[
            Output::MAIN,
            Output::named("least", "On the page whose lines lie best"),
            Output::named("most", "On the page whose lines lie worst"),
        ],
        params: &[Param::word(
            "protocol",
            "compare-and-swap, or load and store, on one line; one line per direction; with 1, 4 or 16 lines of payload",
            &["cas1", "ldst1", "flag2", "payload1", "payload4", "payload16"],
        )
        .quick(&["cas1"])
        .standard(&["ldst1", "flag2"])],
        scaling: Scaling::alone("a side that spins while the other one waits for a CPU measures the scheduler"),
        placements: &[Placement::EveryPair],
        needs: &[Need::Cpus(2)],
        target_half_width: 0.05,
        ..Info::new("cpu.core_to_core")
    },
    run: Run::Here(run),
};

/// Round trips of a window: long enough for the clock (memory-methods.md M12: 400 to 1000), short against a time slice.
const TRIPS: u64 = 400;
/// Round trips before the clock is started: one side may have been asleep.
const WARM: u64 = 16;
/// Windows of each place that a round wants.
const VISITS: usize = 2;

/// How a line is handed over.
#[derive(Clone, Copy, PartialEq)]
enum Protocol {
    Cas1,
    Ldst1,
    Flag2,
}

/// One side's hand-overs from `from` on, both sides' counted; `own` is 0 for the side that begins and 1 for the other.
#[inline(always)]
fn play(protocol: Protocol, place: Place<'_>, own: u64, from: u64, trips: u64) -> io::Result<()> {
    let (word, back) = (place.first(), place.apart());
    for i in 0..trips {
        let mine = from + 2 * i + own;
        match protocol {
            Protocol::Cas1 => until(|| word.compare_exchange(mine, mine + 1, SeqCst, Relaxed).is_ok())?,
            Protocol::Ldst1 => {
                until(|| word.load(Acquire) == mine)?;
                for line in place.load() {
                    line.store(line.load(Relaxed) + 1, Relaxed);
                }
                word.store(mine + 1, Release);
            }
            // Each word holds how often its side has stored: from/2 before this window.
            Protocol::Flag2 if own == 0 => {
                until(|| back.load(Acquire) == from / 2 + i)?;
                word.store(from / 2 + i + 1, Release);
            }
            Protocol::Flag2 => {
                until(|| word.load(Acquire) == from / 2 + i + 1)?;
                back.store(from / 2 + i + 1, Release);
            }
        }
    }
    Ok(())
}

/// The hand-overs that came before, on the place of this window.
fn from(window: &Window<'_>) -> u64 {
    window.slot.visit * 2 * (WARM + TRIPS)
}

/// The side that answers.
fn answer(protocol: Protocol, window: &Window<'_>) -> io::Result<u64> {
    play(protocol, window.place, 1, from(window), WARM + TRIPS)?;
    Ok(WARM + TRIPS)
}

/// The side that begins; nanoseconds of a round trip.
fn begin(protocol: Protocol, window: &Window<'_>) -> io::Result<(f64, u64)> {
    let (place, from) = (window.place, from(window));
    play(protocol, place, 0, from, WARM)?;
    let start = Monotonic.now_ns();
    play(protocol, place, 0, from + 2 * WARM, TRIPS)?;
    let ns = Monotonic.now_ns().saturating_sub(start);
    Ok((ns as f64 / TRIPS as f64, WARM + TRIPS))
}

fn run(ctx: &mut Ctx) -> Outcome {
    let (protocol, lines) = match ctx.word("protocol") {
        "cas1" => (Protocol::Cas1, 0),
        "flag2" => (Protocol::Flag2, 0),
        "payload1" => (Protocol::Ldst1, 1),
        "payload4" => (Protocol::Ldst1, 4),
        "payload16" => (Protocol::Ldst1, 16),
        _ => (Protocol::Ldst1, 0),
    };
    let line = Topology::read().caches().iter().find_map(|c| c.line).map_or(64, |line| line as usize);
    let shared = SharedState::new(lines, line)?;
    let mut pair = Pair::start(ctx, &shared, |window| answer(protocol, window))?;
    let wanted = pair::BLOCKS * pair::PLACES * VISITS;
    let values = |windows: &[pair::Measured<f64>]| pair::by_block(windows, |ns| *ns, pair::least);
    let windows = pair::windows(
        ctx,
        &mut pair,
        |seen| seen.len() >= wanted && values(seen).iter().all(Option::is_some),
        |window| begin(protocol, window),
    )?;
    let work = pair.work;
    let answered = pair.end(ctx)?;
    ctx.prove("hand-overs of one side less those of the other", "0", work as f64 - answered as f64, 0.0..=0.0);
    // Whatever was lost on the way is missing in the words.
    let mut held = 0;
    let mut gone_along = 0;
    for place in (0..pair::BLOCKS * pair::PLACES).map(|i| shared.pool.place(pair::Slot::of(i as u32))) {
        held += place.first().load(SeqCst) + place.apart().load(SeqCst);
        gone_along += place.load().map(|line| line.load(SeqCst)).sum::<u64>();
    }
    ctx.prove("hand-overs that the words do not hold", "0", (work + answered) as f64 - held as f64, 0.0..=0.0);
    if lines > 0 {
        let missing = ((work + answered) * lines as u64) as f64 - gone_along as f64;
        ctx.prove("lines that went along and were not written", "0", missing, 0.0..=0.0);
    }
    ctx.fact("windows.clean", windows.iter().filter(|w| w.clean).count());
    let blocks = values(&windows);
    let one_way = |round_trip: f64| round_trip / 2.0 * 1e-9;
    for (name, here) in [("here", true), ("there", false)] {
        let own: Vec<f64> = (0..pair::BLOCKS).filter(|b| (b % 2 == 0) == here).filter_map(|b| blocks[b]).collect();
        if let Some(ns) = pair::median(&own) {
            ctx.fact(&format!("one_way_s.pages_first_touched_{name}"), format!("{:.3e}", one_way(ns)));
        }
    }
    let Some(known) = pair::enough_blocks(ctx, &blocks) else { return Ok(()) };
    let sides = [("", pair::median(&known)), ("least", pair::least(&known)), ("most", most(&known))];
    for (series, value) in sides {
        if let Some(ns) = value {
            ctx.state_as(series, one_way(ns));
        }
    }
    Ok(())
}

fn most(values: &[f64]) -> Option<f64> {
    values.iter().copied().max_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn every_hand_over_of_every_protocol_is_answered() {
        for protocol in ["cas1", "ldst1", "flag2", "payload1", "payload16"] {
            let tried = match try_out(&BENCH, &[("protocol", protocol)], None) {
                Err(BenchError::Unsupported(why)) => return eprintln!("skipped: {why}"),
                tried => tried.expect("shared memory"),
            };
            assert_eq!(tried.proven("hand-overs of one side less those of the other"), 0.0);
            assert_eq!(tried.proven("hand-overs that the words do not hold"), 0.0);
            assert_eq!(tried.proven("sides that were found on another CPU"), 0.0);
            if protocol.starts_with("payload") {
                assert_eq!(tried.proven("lines that went along and were not written"), 0.0);
            }
            let value = |name: &str| tried.result.series(name).and_then(|s| s.values.first().copied());
            match (value("least"), value(""), value("most")) {
                (Some(least), Some(value), Some(most)) => {
                    assert!(0.0 < least && least <= value && value <= most, "{protocol}: {least} {value} {most}");
                }
                // A machine so busy that the two never met.
                _ => assert!(tried.result.notes.iter().any(|n| n.contains("hardly ever")), "{:?}", tried.result.notes),
            }
        }
    }
}
