//! Offset between the counters of different CPUs.
//!
//! **Measures:** The difference of the CPU's time counter (`tsc`, `cntvct_el0`, `time`) between the
//! first allowed CPU and each of the others (32 evenly spaced ones if there are more than 32), in
//! seconds. The main value is the largest absolute offset seen. `bound` is the largest possible
//! offset: the offset seen plus half the round trip that it was seen with. A main value below half
//! a round trip (the fact `offset.uncertainty`) cannot be distinguished from zero; a larger one is
//! a finding, and a note says so. A program that subtracts a time taken on one CPU from a time
//! taken on another is wrong by this amount.
//!
//! **Does not measure:** The rate of the counter (`clock.rate`), or the clock of the kernel, which
//! corrects for offsets that it knows.
//!
//! **Method:** Two CPUs pass a word back and forth through their caches. One reads its counter,
//! sends, waits for the answer and reads again; the other reads its own counter in between. If both
//! directions take equally long, the other's reading belongs to the middle of the two, and the
//! difference is the offset. However the round trip divides, the error is at most half of it. The
//! shortest round trip of a pair counts.
//!
//! **Proofs:** Every round trip was answered with its own number.
//!
//! **Pitfalls:**
//! - If one of the CPUs is busy with other work, the two processes rarely run at the same time. A
//!   pair is tried for about 10 ms, and reported only after a hundred round trips.
//! - The two directions need not take equally long, so `bound` is the safe number.
//!
//! **Sources:** Cristian, "Probabilistic clock synchronization" (1989). See
//! docs/methods/processor.md#counter-offset.

use crate::cpu;
use groma_harness::prelude::*;
use groma_harness::sys::affinity;
use groma_harness::sys::arch::{counter_start, counter_usable};
use groma_harness::sys::shared::Shared;
use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Largest difference between the counters of two CPUs",
        about: about!("offset.rs"),
        iteration: "round trips between the first CPU and each of the others",
        timing: Timing::Stated,
        outputs: &[
            Output::MAIN,
            Output::named("bound", "the largest difference that there can be: with half the round trip"),
        ],
        scaling: Scaling::alone("it goes to all CPUs itself, and states values"),
        placements: &[Placement::Free],
        needs: &[Need::Cpus(2)],
        // Nanoseconds of noise around zero: what counts is the bound.
        target_half_width: 0.5,
        tier: Tier::Standard,
        ..Info::new("clock.offset")
    },
    run: Run::Here(run),
};

/// The most CPUs that are compared with the first.
const MAX_CPUS: usize = 32;
/// Round trips wanted of a pair, and the fewest with which its offset is reported.
const TRIPS: u64 = 2000;
const MIN_TRIPS: u64 = 100;
/// Time limit of a pair in nanoseconds, which matters when one of the two does not run. A pair that
/// has not made [`MIN_TRIPS`] trips gets [`PATIENCE`] times as long.
const PAIR_NS: u64 = 10_000_000;
const PATIENCE: u64 = 10;
/// Polls of the word between two reads of the clock.
const LOOKS: u32 = 1 << 10;

// The shared words: the number of the trip (`ASK`); the number of the answer with the reading
// beside it; the CPU that the peer has to move to, plus one (`GO`).

/// Distance between words with a line each, in words: no processor has lines above 256 bytes.
const LINE_WORDS: usize = 32;
const ASK: usize = 0;
const ANSWER: usize = LINE_WORDS;
const READING: usize = LINE_WORDS + 1;
const GO: usize = 2 * LINE_WORDS;
const WORDS: usize = 3 * LINE_WORDS;

/// In `GO`: the peer has to exit.
const END: u64 = u64::MAX;
/// In `ANSWER`: the peer could not be pinned to the CPU.
const REFUSED: u64 = u64::MAX;

/// A round trip: the counter here, on the other CPU, and here again, in ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Trip {
    sent: u64,
    there: u64,
    back: u64,
}

impl Trip {
    fn half(&self) -> f64 {
        self.back.wrapping_sub(self.sent) as f64 / 2.0
    }

    /// How far the other counter is ahead of this one, in ticks.
    fn offset(&self) -> f64 {
        self.there.wrapping_sub(self.sent) as i64 as f64 - self.half()
    }
}

/// Whether the two counters differ by more than the round trip explains.
fn is_finding(trip: &Trip) -> bool {
    trip.offset().abs() > trip.half()
}

/// The shorter of two round trips, of which the first may be missing.
fn shorter(best: Option<Trip>, trip: Trip) -> Trip {
    best.filter(|best| best.half() <= trip.half()).unwrap_or(trip)
}

/// The largest offset, the largest possible offset and the largest half round trip of all pairs, in
/// ticks.
fn largest(pairs: &[Trip]) -> Option<(f64, f64, f64)> {
    let largest = |of: &dyn Fn(&Trip) -> f64| pairs.iter().map(of).reduce(f64::max);
    Some((
        largest(&|trip| trip.offset().abs())?,
        largest(&|trip| trip.offset().abs() + trip.half())?,
        largest(&|trip| trip.half())?,
    ))
}

/// The peer: moves to the CPU in `GO`, and answers.
fn answer(words: &[AtomicU64]) -> i32 {
    let (mut at, mut answered) = (0, 0);
    loop {
        let go = words[GO].load(Acquire);
        if go == END {
            return 0;
        }
        if go != at {
            at = go;
            // 0: no CPU was written yet.
            if go > 0 && affinity::pin(go as u32 - 1).is_err() {
                answered = REFUSED;
                words[ANSWER].store(REFUSED, Release);
                continue;
            }
        }
        let asked = words[ASK].load(Acquire);
        if asked == answered || answered == REFUSED {
            std::hint::spin_loop();
            continue;
        }
        words[READING].store(counter_start(), Relaxed);
        answered = asked;
        words[ANSWER].store(asked, Release);
    }
}

/// Makes round trips to the CPU of the peer. Returns the shortest and their number; `None` when the
/// peer could not be pinned there.
fn trips(ctx: &Ctx, words: &[AtomicU64], number: &mut u64) -> Option<(Option<Trip>, u64)> {
    let start = ctx.now_ns();
    let (mut best, mut done) = (None::<Trip>, 0);
    while done < TRIPS {
        *number += 1;
        let sent = counter_start();
        words[ASK].store(*number, Release);
        let mut looks = 0u32;
        loop {
            let seen = words[ANSWER].load(Acquire);
            if seen == *number {
                break;
            }
            if seen == REFUSED {
                return None;
            }
            looks += 1;
            let spent = || ctx.now_ns().saturating_sub(start);
            if looks.is_multiple_of(LOOKS) && spent() > PAIR_NS && (done >= MIN_TRIPS || spent() > PATIENCE * PAIR_NS) {
                return Some((best, done));
            }
            std::hint::spin_loop();
        }
        let back = counter_start();
        let trip = Trip { sent, there: words[READING].load(Relaxed), back };
        done += 1;
        best = Some(shorter(best, trip));
    }
    Some((best, done))
}

fn run(ctx: &mut Ctx) -> Outcome {
    counter_usable().map_err(BenchError::Unsupported)?;
    let Some(hz) = ctx.host().counter_hz else {
        return Err(BenchError::Unsupported("the rate of the counter is not known".to_owned()));
    };
    let all = cpu::cpus_of_the_run()?;
    let [first, others @ ..] = all.as_slice() else {
        return Err(BenchError::Unsupported("no CPU is allowed".to_owned()));
    };
    if others.is_empty() {
        return Err(BenchError::Unsupported("there is one CPU only".to_owned()));
    }
    let home = affinity::allowed().context("reading the allowed CPUs")?;
    let words = Shared::<AtomicU64>::new(WORDS).context("sharing memory with the peer")?;
    affinity::pin(*first).context("pinning to the first CPU")?;
    let other = ctx.fork_peer(&[], || answer(&words))?;
    let (mut pairs, mut number, mut made) = (Vec::new(), 0, 0);
    for cpu in cpu::evenly(others, MAX_CPUS) {
        words[GO].store(u64::from(cpu) + 1, Release);
        match trips(ctx, &words, &mut number) {
            Some((Some(trip), done)) if done >= MIN_TRIPS => {
                let (offset, half) = (trip.offset() / hz, trip.half() / hz);
                ctx.fact(&format!("offset.cpu{cpu}"), format!("{offset:.3e}"));
                if is_finding(&trip) {
                    let (ns, half) = (offset * 1e9, half * 1e9);
                    ctx.note(format!(
                        "finding: the counter of CPU {cpu} is {ns:+.0} ns off that of CPU {first}, \
                        more than a round trip of {half:.0} ns each way explains"
                    ));
                }
                pairs.push(trip);
                made += done;
            }
            Some((_, done)) => ctx.note(format!("CPU {cpu} answered only {done} times: not reported")),
            None => {
                ctx.note(format!("CPU {cpu} could not be used"));
                break;
            }
        }
    }
    words[GO].store(END, Release);
    let exit = other.wait().context("waiting for the peer")?;
    affinity::restrict(&home).context("restoring the CPU affinity")?;
    ctx.prove("exit status of the peer", "0", f64::from(u8::from(!exit.success())), 0.0..=0.0);
    let Some((offset, bound, half)) = largest(&pairs) else {
        ctx.unresolved("", "no other CPU answered often enough");
        return Ok(());
    };
    let fewest = (MIN_TRIPS * pairs.len() as u64) as f64;
    ctx.prove("round trips that were answered", &format!("{fewest} or more"), made as f64, fewest..);
    ctx.fact("offset.pairs", pairs.len());
    ctx.fact("offset.uncertainty", format!("{:.3e}", half / hz));
    ctx.state(offset / hz);
    ctx.state_as("bound", bound / hz);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::sys::clock::{Clock, Monotonic};
    use groma_harness::sys::thread::spawn;
    use groma_harness::testing::try_out;

    #[test]
    fn the_middle_of_a_trip_is_its_time() {
        // The other counter 1000 ahead, ways of 50 and 50, then of 80 and 20.
        let even = Trip { sent: 5000, there: 6050, back: 5100 };
        assert_eq!((even.offset(), even.half()), (1000.0, 50.0));
        let uneven = Trip { sent: 5000, there: 6080, back: 5100 };
        assert!((uneven.offset() - 1000.0).abs() <= uneven.half());
        // Behind, and around the end of the counter.
        let behind = Trip { sent: 5000, there: 4050, back: 5100 };
        assert_eq!(behind.offset(), -1000.0);
        let wrapped = Trip { sent: u64::MAX - 10, there: 39, back: 89 };
        assert_eq!((wrapped.offset(), wrapped.half()), (0.0, 50.0));
        assert_eq!(largest(&[even, behind, wrapped]), Some((1000.0, 1050.0, 50.0)));
        // The bound may be of another pair than the largest offset.
        let slow = Trip { sent: 0, there: 1400, back: 2000 };
        assert_eq!(largest(&[even, slow]), Some((1000.0, 1400.0, 1000.0)));
        assert_eq!(largest(&[]), None);
        // In the last, the other counter was read as the answer came.
        let late = Trip { sent: 0, there: 100, back: 100 };
        assert_eq!([even, behind, wrapped, late].map(|trip| is_finding(&trip)), [true, true, false, false]);
        // However far off it is, the shortest counts.
        let best = [even, slow, behind].into_iter().fold(None, |best, trip| Some(shorter(best, trip)));
        assert_eq!(best, Some(even));
        assert_eq!((shorter(Some(slow), even), shorter(Some(even), slow)), (even, even));
    }

    #[test]
    fn every_other_cpu_answers() {
        let before = affinity::allowed().expect("an affinity");
        let tried = try_out(&BENCH, &[], None);
        assert_eq!(affinity::allowed().expect("an affinity"), before, "it stays on the first CPU");
        let tried = match tried {
            Err(BenchError::Unsupported(why)) => return println!("skipped: {why}"),
            // On a machine with more to do than CPUs the two may never meet.
            Err(BenchError::Failed(why)) if why.contains("often enough") => return println!("skipped: {why}"),
            tried => tried.expect("shared memory"),
        };
        let value = |name: &str| tried.stated(name).expect("stated");
        assert!(0.0 <= value("") && value("") <= value("bound"));
        assert!(tried.proven("round trips that were answered") >= MIN_TRIPS as f64);
    }

    #[test]
    fn the_answer_comes_from_the_cpu_that_is_asked() {
        if let Err(why) = counter_usable() {
            return println!("skipped: {why}");
        }
        let last = *affinity::allowed().expect("an affinity").last().expect("a CPU");
        let words: std::sync::Arc<Vec<AtomicU64>> =
            std::sync::Arc::new((0..WORDS).map(|_| AtomicU64::new(0)).collect());
        words[GO].store(u64::from(last) + 1, Release);
        words[ASK].store(1, Release);
        let theirs = std::sync::Arc::clone(&words);
        let there = spawn(128 << 10, move || (answer(&theirs), affinity::allowed())).expect("a thread");
        let until = Monotonic.now_ns() + 60_000_000_000;
        while words[ANSWER].load(Acquire) != 1 && Monotonic.now_ns() < until {
            std::thread::yield_now();
        }
        words[GO].store(END, Release);
        let (code, on) = there.join().expect("no panic");
        assert_eq!((code, on.expect("an affinity")), (0, vec![last]));
    }
}
