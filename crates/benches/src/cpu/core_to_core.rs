//! Core-to-core latency: the one-way hand-over of a cache line between two CPUs, by protocol.
//!
//! **Measures:** Half of a round trip. "Core to core" is several numbers, so each protocol is
//! named:
//! - `cas1`: both processes spin with compare-and-swap on one word.
//! - `ldst1`: each spins with plain loads and then stores, on one word.
//! - `flag2`: each spins on a word that only the other one stores to; two lines.
//! - `payload1`, `payload4`, `payload16`: as `ldst1`, and 1, 4 or 16 lines that the other process
//!   wrote last are read and written before each hand-over. Their stores, the word's and the loads
//!   of the other process follow one another, so even one line costs two more transfers.
//!
//! The main value is that of the fastest round trips on the median page. `least` and `most` are
//! those of the best and the worst page, which depend on where lines have their home on the chip.
//!
//! **Does not measure:** More than two CPUs (`cpu.contention`), or stores to neighbouring words
//! (`cpu.false_sharing`).
//!
//! **Method:** Shared memory and two processes, one pinned to each CPU. Six pages that nobody has
//! touched, three of them touched first by each process, four lines in each. A window is 400 round
//! trips after 16 that are not counted, 30 to 60 us. The fastest window of a page is its value.
//! Windows in which the kernel took a CPU away do not count. Both spin with loads, without `pause`.
//! One way is half a round trip: the two directions need not be alike on any chip, and two clocks
//! cannot tell them apart.
//!
//! **Proofs:** Both processes made the same number of hand-overs, and the words hold their number;
//! payload lines were written each time; both processes were on their CPUs.
//!
//! **Pitfalls:**
//! - On a busy machine one process waits while the other has no CPU, and a mean then shows 1000 ns
//!   instead of 50.
//! - A page that was used before keeps its home elsewhere (core-to-core-latency, issues 97 and
//!   155).
//! - In a virtual machine the CPUs may be on other cores a minute later. The declared relation of
//!   the pair is the fact `relation`; compare it with the time.
//!
//! **Sources:** nviennot's core-to-core-latency; c2clat. See
//! docs/methods/processor.md#core-to-core-latency.

use super::pair::{self, Pair, Place, SharedState, Window, wait_until};
use groma_harness::prelude::*;
use groma_harness::stats::{greatest, least, median};
use groma_harness::sys::clock::{Clock, Monotonic};
use groma_harness::sys::topology::Topology;
use std::io;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Hand-over of a cache line between two CPUs: half a round trip",
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

/// Round trips of a window: long enough for the clock, short against a time slice. See
/// docs/methods/processor.md#core-to-core-latency.
const TRIPS: u64 = 400;
/// Round trips before the clock is started: one process may have been asleep.
const WARM: u64 = 16;
/// Windows of each place in a round.
const VISITS: usize = 2;

/// How a line is handed over.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Protocol {
    Cas1,
    Ldst1,
    Flag2,
}

/// The protocol of that name, and how many payload lines go along.
fn protocol(word: &str) -> (Protocol, usize) {
    match word {
        "cas1" => (Protocol::Cas1, 0),
        "flag2" => (Protocol::Flag2, 0),
        "payload1" => (Protocol::Ldst1, 1),
        "payload4" => (Protocol::Ldst1, 4),
        "payload16" => (Protocol::Ldst1, 16),
        _ => (Protocol::Ldst1, 0),
    }
}

/// One process's part of `trips` round trips. `from` is the number of hand-overs before, those of
/// both processes counted; `own` is 0 for the process that begins and 1 for the peer.
#[inline(always)]
fn play(protocol: Protocol, place: Place<'_>, own: u64, from: u64, trips: u64) -> io::Result<()> {
    let (word, back) = (place.first(), place.apart());
    for i in 0..trips {
        let mine = from + 2 * i + own;
        match protocol {
            Protocol::Cas1 => wait_until(|| word.compare_exchange(mine, mine + 1, SeqCst, Relaxed).is_ok())?,
            Protocol::Ldst1 => {
                wait_until(|| word.load(Acquire) == mine)?;
                for line in place.load() {
                    line.store(line.load(Relaxed) + 1, Relaxed);
                }
                word.store(mine + 1, Release);
            }
            // Each word holds the number of stores of its process: from / 2 before this window.
            Protocol::Flag2 if own == 0 => {
                wait_until(|| back.load(Acquire) == from / 2 + i)?;
                word.store(from / 2 + i + 1, Release);
            }
            Protocol::Flag2 => {
                wait_until(|| word.load(Acquire) == from / 2 + i + 1)?;
                back.store(from / 2 + i + 1, Release);
            }
        }
    }
    Ok(())
}

/// The number of earlier hand-overs on the place of this window.
fn from(window: &Window<'_>) -> u64 {
    window.slot.visit * 2 * (WARM + TRIPS)
}

/// The part of the process that answers.
fn answer(protocol: Protocol, window: &Window<'_>) -> io::Result<u64> {
    play(protocol, window.place, 1, from(window), WARM + TRIPS)?;
    Ok(WARM + TRIPS)
}

/// The part of the process that begins. Returns the nanoseconds of a round trip.
fn begin(protocol: Protocol, window: &Window<'_>) -> io::Result<(f64, u64)> {
    let (place, from) = (window.place, from(window));
    play(protocol, place, 0, from, WARM)?;
    let start = Monotonic.now_ns();
    play(protocol, place, 0, from + 2 * WARM, TRIPS)?;
    let ns = Monotonic.now_ns().saturating_sub(start);
    Ok((round_trip(ns), WARM + TRIPS))
}

/// The nanoseconds of a round trip, of those from the start of the clock to the end of the window.
fn round_trip(ns: u64) -> f64 {
    ns as f64 / TRIPS as f64
}

/// The round trip on each page: that of its fastest window.
fn pages(windows: &[pair::Measured<f64>]) -> Vec<Option<f64>> {
    pair::by_block(windows, |ns| *ns, least)
}

/// The values of the pages that the process that measures has touched first, or of the others.
fn first_touched(pages: &[Option<f64>], here: bool) -> Vec<f64> {
    (0..pair::BLOCKS).filter(|b| (b % 2 == 0) == here).filter_map(|b| pages[b]).collect()
}

/// The round trips of the outputs, of those on the pages.
fn outputs(pages: &[f64]) -> [(&'static str, Option<f64>); 3] {
    [("", median(pages)), ("least", least(pages)), ("most", greatest(pages))]
}

/// The seconds of one way, of a round trip in nanoseconds.
fn one_way(round_trip: f64) -> f64 {
    round_trip / 2.0 * 1e-9
}

fn run(ctx: &mut Ctx) -> Outcome {
    let (protocol, lines) = protocol(ctx.word("protocol"));
    let line = Topology::read().caches().iter().find_map(|c| c.line).map_or(64, |line| line as usize);
    let shared = SharedState::new(lines, line)?;
    let mut pair = Pair::start(ctx, &shared, |window| answer(protocol, window))?;
    let wanted = pair::SLOTS * VISITS;
    let windows = pair::windows(
        ctx,
        &mut pair,
        |seen| seen.len() >= wanted && pages(seen).iter().all(Option::is_some),
        |window| begin(protocol, window),
    )?;
    let work = pair.work;
    let answered = pair.end(ctx)?;
    ctx.prove("hand-overs of one side less those of the other", "0", work as f64 - answered as f64, 0.0..=0.0);
    // A lost hand-over is missing in the words.
    let mut held = 0;
    let mut gone_along = 0;
    for place in (0..pair::SLOTS).map(|i| shared.pool.place(pair::Slot::of(i as u32))) {
        held += place.first().load(SeqCst) + place.apart().load(SeqCst);
        gone_along += place.load().map(|line| line.load(SeqCst)).sum::<u64>();
    }
    ctx.prove("hand-overs that the words do not hold", "0", (work + answered) as f64 - held as f64, 0.0..=0.0);
    if lines > 0 {
        let missing = ((work + answered) * lines as u64) as f64 - gone_along as f64;
        ctx.prove("lines that went along and were not written", "0", missing, 0.0..=0.0);
    }
    ctx.fact("windows.clean", windows.iter().filter(|w| w.clean).count());
    let blocks = pages(&windows);
    for (name, here) in [("here", true), ("there", false)] {
        if let Some(ns) = median(&first_touched(&blocks, here)) {
            ctx.fact(&format!("one_way_s.pages_first_touched_{name}"), format!("{:.3e}", one_way(ns)));
        }
    }
    let Some(known) = pair::enough_blocks(ctx, &blocks) else { return Ok(()) };
    for (series, value) in outputs(&known) {
        if let Some(ns) = value {
            ctx.state_as(series, one_way(ns));
        }
    }
    Ok(())
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
            let value = |name: &str| tried.stated(name);
            match (value("least"), value(""), value("most")) {
                (Some(least), Some(value), Some(most)) => {
                    assert!(0.0 < least && least <= value && value <= most, "{protocol}: {least} {value} {most}");
                }
                // A machine so busy that the two never met.
                _ => assert!(tried.has_remark("hardly ever"), "{:?}", tried.result.output.remarks),
            }
        }
    }

    /// The oracle for two CPUs allows a factor of 1.9, which is too much to see it.
    #[test]
    fn one_way_is_half_of_a_round_trip() {
        assert!((one_way(100.0) / 50e-9 - 1.0).abs() < 1e-12);
        // The trips before the clock was started are not among those that were timed.
        assert_eq!(round_trip(100 * TRIPS), 100.0);
    }

    /// Proofs count hand-overs, whatever the protocol is.
    #[test]
    fn a_name_is_that_of_its_protocol_and_payload() {
        let ldst1 = |lines: usize| (Protocol::Ldst1, lines);
        assert_eq!(["cas1", "flag2"].map(protocol), [(Protocol::Cas1, 0), (Protocol::Flag2, 0)]);
        let named = ["ldst1", "payload1", "payload4", "payload16"].map(protocol);
        assert_eq!(named, [0, 1, 4, 16].map(ldst1));
    }

    #[test]
    fn a_page_is_its_fastest_window_and_the_main_value_the_page_in_the_middle() {
        let window = |number, seen, clean| pair::Measured { slot: pair::Slot::of(number), seen, clean };
        // A page has four places.
        let (slow, fast) = (window(0, 8.0, true), window(1, 5.0, true));
        let windows = [slow, fast, window(2, 3.0, false), window(4, 9.0, true)];
        assert_eq!(pages(&windows), [Some(5.0), Some(9.0), None, None, None, None]);
        assert_eq!(outputs(&[9.0, 5.0, 6.0]), [("", Some(6.0)), ("least", Some(5.0)), ("most", Some(9.0))]);
        let blocks = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0].map(Some);
        assert_eq!(first_touched(&blocks, true), [1.0, 3.0, 5.0]);
        assert_eq!(first_touched(&blocks, false), [2.0, 4.0, 6.0]);
    }
}
