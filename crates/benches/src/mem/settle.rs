//! Going over a chain lap by lap until two laps in a row take about the same time.
//!
//! A chain about as large as the last cache is not in it after one lap: how much of it is depends
//! on what was there before and on what others do. Only laps that agree have one latency. See
//! docs/methods/memory.md#warm-up.

use groma_harness::stats::quantile;

/// Two laps agree when the longer takes at most so many times as long as the shorter.
/// See docs/methods/memory.md#warm-up.
const AGREE: f64 = 1.03;

/// Laps that are made whatever time they take: the first finds what writing the pointers left in
/// the caches, so that it is the one that differs.
const MIN_LAPS: usize = 3;

/// Pieces of a lap that are timed one by one. A lap's value is their lower quartile: other tasks
/// only add, and on a busy machine half the pieces may be interrupted.
const PIECES: u64 = 256;

/// The fewest loads of a piece: a microsecond and more, beside which reading the clock is short.
const MIN_PIECE: u64 = 1024;

/// Laps through fewer nodes are taken together until they make so many loads.
const MIN_LAP: u64 = 1 << 14;

/// What the laps showed.
#[derive(Debug, PartialEq)]
pub(super) struct Laps {
    /// Nanoseconds a load in the first lap; `None` where a lap is too short to be timed once.
    pub(super) first_ns: Option<f64>,
    /// Laps until two agreed, or the time was over.
    pub(super) count: usize,
    /// Nanoseconds a load in the last two laps.
    pub(super) last_ns: [f64; 2],
}

impl Laps {
    /// Whether the last two laps took about the same time.
    pub(super) fn agree(&self) -> bool {
        let [a, b] = self.last_ns;
        a.max(b) <= AGREE * a.min(b)
    }

    /// Why a size whose laps do not agree has no latency.
    pub(super) fn disagreement(&self) -> String {
        let [a, b] = self.last_ns;
        format!("the last two of {} laps took {a:.3} and {b:.3} ns a load: neither cached nor not", self.count)
    }
}

/// Follows a chain of `nodes` nodes until two laps in a row agree, or `limit_ns` have passed.
/// `walk(n)` makes `n` loads or a few more and returns how many. Chains of few nodes are gone over
/// several times for what is called a lap here. Of a chain of `uncached` nodes or more, of which
/// the caches hold hardly any by the time that a walk comes round to them, a lap is an eighth as
/// many loads as that: no load finds what an earlier one has left.
pub(super) fn laps(
    (nodes, uncached): (u64, u64),
    limit_ns: u64,
    now_ns: impl Fn() -> u64,
    mut walk: impl FnMut(u64) -> u64,
) -> Laps {
    let nodes = if nodes >= uncached { (uncached / 8).max(MIN_PIECE) } else { nodes };
    let start = now_ns();
    // Makes the code of the loop present: that took 3 us of the first lap through 64 KiB, of 8 in
    // all, in one of two builds.
    walk(0);
    let mut lap = |loads: u64| {
        let piece = (loads / PIECES).max(MIN_PIECE);
        let (mut made, mut pieces) = (0, Vec::with_capacity(PIECES as usize + 1));
        while made < loads {
            let before = now_ns();
            let walked = walk(piece.min(loads - made));
            pieces.push(now_ns().saturating_sub(before) as f64 / walked as f64);
            made += walked;
        }
        quantile(&pieces, 0.25).unwrap_or(0.0)
    };
    let short = nodes < MIN_PIECE;
    let first = lap(nodes);
    let long = nodes.max(MIN_LAP);
    let mut all = vec![if long == nodes { first } else { lap(long) }];
    loop {
        all.push(lap(long));
        let &[.., before, last] = all.as_slice() else { continue };
        let settled = Laps { first_ns: (!short).then_some(first), count: all.len(), last_ns: [before, last] };
        let over = all.len() >= MIN_LAPS && now_ns().saturating_sub(start) >= limit_ns;
        if settled.agree() || over {
            return settled;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A chain of `nodes` nodes whose loads take `ns[lap]`, in the end the last of them.
    fn of(nodes: u64, ns: &[u64], limit_ns: u64) -> Laps {
        let (now, made) = (Cell::new(0), Cell::new(0));
        laps(
            (nodes, u64::MAX),
            limit_ns,
            || now.get(),
            |loads| {
                let lap = (made.get() / nodes) as usize;
                made.set(made.get() + loads);
                now.set(now.get() + loads * ns[lap.min(ns.len() - 1)]);
                loads
            },
        )
    }

    #[test]
    fn laps_go_on_until_two_agree() {
        let nodes = 1 << 18;
        for (ns, count, last_ns) in [
            (&[120, 120][..], 2, [120.0, 120.0]),
            (&[125, 100, 60, 30, 26, 26], 6, [26.0, 26.0]),
            (&[100, 104, 101], 3, [104.0, 101.0]),
        ] {
            let seen = of(nodes, ns, u64::MAX);
            let first_ns = Some(ns[0] as f64);
            assert_eq!(seen, Laps { first_ns, count, last_ns });
            assert!(seen.agree());
        }
    }

    #[test]
    fn a_chain_of_which_the_caches_hold_nothing_is_not_gone_round() {
        let loads = |nodes| {
            let made = Cell::new(0);
            let walk = |loads| {
                made.set(made.get() + loads);
                loads
            };
            laps((nodes, 1 << 19), u64::MAX, || made.get() * 100, walk);
            made.get()
        };
        assert_eq!([1 << 18, (1 << 19) - 1, 1 << 19, 1 << 24].map(loads), [1 << 19, (1 << 20) - 2, 1 << 17, 1 << 17]);
    }

    #[test]
    fn laps_that_never_agree_end_with_the_time_and_say_both_values() {
        let restless: Vec<u64> = (0..40).map(|lap| 1000 - 100 * (lap % 2)).collect();
        let nodes = 1 << 16;
        let seen = of(nodes, &restless, 3 * nodes * 1000);
        assert!(!seen.agree() && seen.count > MIN_LAPS, "{seen:?}");
        let [a, b] = seen.last_ns;
        let why = seen.disagreement();
        assert!(why.contains(&format!("{a:.3} and {b:.3}")), "{why}");
        // However short the time.
        assert_eq!(of(nodes, &[400, 200, 100, 50], 0).count, MIN_LAPS);
    }

    /// Of one piece in ten, or of more than half of them, each for another time.
    #[test]
    fn an_interruption_is_no_disagreement() {
        for interrupted in [1, 6] {
            let (now, calls) = (Cell::new(0), Cell::new(0));
            let seen = laps(
                (1 << 18, u64::MAX),
                u64::MAX,
                || now.get(),
                |loads| {
                    calls.set(calls.get() + 1);
                    let more = if calls.get() % 10 < interrupted { 10_000 * calls.get() } else { 0 };
                    now.set(now.get() + loads * 10 + more);
                    loads
                },
            );
            assert_eq!(seen, Laps { first_ns: Some(10.0), count: 2, last_ns: [10.0, 10.0] }, "{interrupted}");
        }
    }

    /// The one lap that finds what writing the pointers left is stated and compared with no other.
    #[test]
    fn the_first_lap_of_a_short_chain_is_its_own() {
        let settled = Laps { first_ns: Some(9.0), count: 2, last_ns: [2.0, 2.0] };
        assert_eq!(of(2048, &[9, 2], u64::MAX), settled);
    }

    #[test]
    fn a_lap_too_short_for_the_clock_has_no_first_value() {
        assert_eq!(of(MIN_PIECE - 64, &[2], u64::MAX).first_ns, None);
        assert_eq!(of(MIN_PIECE, &[2], u64::MAX).first_ns, Some(2.0));
    }
}
