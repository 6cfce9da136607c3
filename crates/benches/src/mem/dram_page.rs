//! DRAM row conflicts: the extra time of loads from different rows of one bank.
//!
//! **Measures:** Memory keeps one row (page) of each bank open. The main value is how much longer
//! it takes to load from two places and flush both lines again when they lie in different rows of
//! one bank, where each load closes the row that the other needs, than when they lie in different
//! banks: the conflict of one turn of two loads. `share` is the fraction of random pairs that
//! conflict: about one over the number of banks, all channels and ranks together.
//!
//! **Does not measure:** The latency of a single access (`mem.latency`), the mapping of addresses
//! to banks, or the timings that the memory's vendor declares.
//!
//! **Method:** Random pairs of lines of a large buffer are loaded and flushed alternately, 16 turns
//! a window, and the fastest of three windows counts. Pairs in different banks all take about the
//! same time. The slowest pairs and as many from the middle are then measured again, interleaved,
//! by the fastest of many windows, so that a pair that was merely disturbed falls back among the
//! others. There are two modes only if the slow pairs stay beyond the middle ones by several times
//! the width of those, and agree with each other. Otherwise nothing is reported.
//!
//! **Pitfalls:**
//! - Groups of *virtual* pages say nothing about banks (lmbench's `lat_dram_page` printed 94 ns or
//!   0, depending on noise).
//! - A clock step larger than the difference hides it.
//! - Memory controllers that close rows at once show no conflict between distant accesses.
//! - In a server one pair in several hundred conflicts, so a few hundred pairs show none.
//!
//! **Sources:** lmbench3 `lat_dram_page`; the method of DRAMA (Pessl et al., USENIX Security 2016).
//! See docs/methods/memory.md#dram-pages.

use groma_harness::Rng;
use groma_harness::prelude::*;
use groma_harness::stats::order;
use groma_harness::sys::flush::Flush;
use groma_harness::sys::pages::{Map, Policy};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Extra time of two loads from different rows of one DRAM bank",
        about: about!("dram_page.rs"),
        iteration: "two loads and two flushes of each of some thousand random pairs",
        timing: Timing::Stated,
        outputs: &[
            Output::MAIN,
            Output::named("share", "Random pairs that are in one bank and not in one row").quantity(Quantity::Ratio),
        ],
        params: &[Param::size("size", "bytes of the buffer from which pairs of addresses are drawn")
            .takes(Memory::PerMember(1))
            .quick(&["64M"])
            .full(&["512M"])],
        scaling: Scaling::alone("it sorts single pairs by time, which others' traffic would blur"),
        target_half_width: 0.05,
        tier: Tier::Standard,
        ..Info::new("mem.dram_page")
    },
    run: Run::Here(run),
};

/// Number of pairs: with 512 banks about six conflict.
const PAIRS: usize = 3000;
/// Turns of a window, and windows of a pair in the first pass: 15 us in all at 300 ns a turn.
const TURNS: u64 = 16;
const LOOKS: usize = 3;
/// The slowest pairs that are measured again, and as many from the middle.
const AGAIN: usize = 48;
/// Windows of each pair in the second pass.
const AGAIN_WINDOWS: usize = 25;
/// The fewest slow pairs that make a mode.
const MIN_SLOW_PAIRS: usize = 3;
/// How many widths of the others a slow pair has to lie beyond their median.
const WIDTHS: f64 = 4.0;
/// And the least distance as a fraction of the median: a bank's precharge and activation take 25 ns
/// and more, a turn 200 to 400.
const MODE_DISTANCE: f64 = 0.04;

/// Two modes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Modes {
    /// The median of the slow mode minus that of the others, in seconds.
    gap: f64,
    /// The number of slow pairs.
    slow: usize,
    /// Half-way between the two modes, in seconds.
    limit: f64,
}

/// The mode that some of the `candidates` form beyond the `others`.
///
/// # Errors
/// The reason why they form none.
fn modes(candidates: &[f64], others: &[f64]) -> Result<Modes, String> {
    if others.len() < MIN_SLOW_PAIRS {
        return Err("too few pairs".to_owned());
    }
    // Where a window was never timed there is no quantile, and nothing is beyond it.
    let at = |values: &[f64], q: f64| order::quantile(values, q).unwrap_or(f64::INFINITY);
    let middle = at(others, 0.5);
    let width = at(others, 0.9) - at(others, 0.1);
    let limit = middle + (WIDTHS * width).max(MODE_DISTANCE * middle);
    let slow: Vec<f64> = candidates.iter().copied().filter(|t| *t > limit).collect();
    if slow.len() < MIN_SLOW_PAIRS {
        return Err(format!(
            "{} of the slowest pairs stay more than {:.0} ns beyond the others (median {:.0} ns, width {:.0} ns)",
            slow.len(),
            (limit - middle) * 1e9,
            middle * 1e9,
            width * 1e9
        ));
    }
    let gap = at(&slow, 0.5) - middle;
    // A mode: most of its pairs lie together, and hardly any between it and the others.
    let spread = at(&slow, 0.75) - at(&slow, 0.25);
    let between = candidates.iter().filter(|t| (limit..middle + gap / 2.0).contains(*t)).count();
    if spread > gap / 2.0 || between * 4 > slow.len() {
        return Err(format!(
            "the slow pairs do not form a mode: they spread over {:.0} ns, {:.0} ns beyond the others",
            spread * 1e9,
            gap * 1e9
        ));
    }
    Ok(Modes { gap, slow: slow.len(), limit: middle + gap / 2.0 })
}

/// The seconds of a turn, both loads of a pair, in a window of so many nanoseconds.
fn of_a_turn(window_ns: u64) -> f64 {
    window_ns as f64 / TURNS as f64 * 1e-9
}

fn run(ctx: &mut Ctx) -> Outcome {
    let Some(evict) = Flush::evict() else {
        return Err(BenchError::Unsupported("this CPU has no unprivileged cache-line flush instruction".to_owned()));
    };
    let size = ctx.int("size");
    sys::process::refuse_huge_pages();
    let mut buffer = Map::anonymous(size as usize, Policy::Base).context("mapping the buffer")?;
    buffer.populate();
    let line = super::line_size();
    let lines = size / line as u64;
    if lines < 2 {
        return Err(BenchError::Unsupported(format!("{size} B is less than two lines")));
    }
    let pairs = random_pairs(ctx.rng(), lines, line);
    let mut time = |ctx: &Ctx, pair: (usize, usize)| {
        let start = ctx.now_ns();
        evict.pair(&mut buffer, pair.0, pair.1, TURNS);
        of_a_turn(ctx.now_ns().saturating_sub(start))
    };
    let seen = first_look(pairs.len(), |i| time(ctx, pairs[i]));
    let [candidates, others] = look_again(&seen, |i| time(ctx, pairs[i]));
    let first_pass: Vec<f64> = seen.iter().map(|(time, _)| time * 1e9).collect();
    let quantile = |q: f64| order::quantile_sorted(&first_pass, q).unwrap_or(f64::NAN);
    ctx.fact("pairs", pairs.len());
    let quantiles = [0.0, 0.1, 0.5, 0.9, 0.99, 0.998, 1.0].map(|q| format!("{:.0}", quantile(q)));
    ctx.fact("pairs.ns", quantiles.join(" "));
    let sorted_ns = |values: &[f64]| {
        let values = order::sorted(values);
        values.iter().map(|t| format!("{:.0}", t * 1e9)).collect::<Vec<_>>().join(" ")
    };
    ctx.fact("again.slowest_ns", sorted_ns(&candidates));
    ctx.fact("again.middle_ns", sorted_ns(&others));
    ctx.fact("flush.instruction", evict.name());
    let found = modes(&candidates, &others).map_err(|why| BenchError::Unsupported(format!("not shown: {why}")))?;
    let first_look = seen.iter().filter(|(t, _)| *t > found.limit).count();
    state(ctx, &found, share(found.slow, candidates.len(), first_look, pairs.len()));
    Ok(())
}

/// Pairs of the addresses of two lines, of so many, drawn independently.
fn random_pairs(rng: &mut Rng, lines: u64, line: usize) -> Vec<(usize, usize)> {
    let mut draw = || rng.below(lines) as usize * line;
    (0..PAIRS).map(|_| (draw(), draw())).filter(|(a, b)| a != b).collect()
}

/// States what the slow pairs take longer, and their share of all.
fn state(ctx: &mut Ctx, found: &Modes, share: f64) {
    ctx.state(found.gap);
    ctx.state_as("share", share);
}

/// The time of each of so many pairs, the fastest of a few windows, and its number; the fastest
/// pair first.
fn first_look(pairs: usize, mut time: impl FnMut(usize) -> f64) -> Vec<(f64, usize)> {
    let mut fastest = |i: usize| (0..LOOKS).map(|_| time(i)).fold(f64::INFINITY, f64::min);
    let mut seen: Vec<(f64, usize)> = (0..pairs).map(|i| (fastest(i), i)).collect();
    seen.sort_by(|a, b| a.0.total_cmp(&b.0));
    seen
}

/// The times of the slowest pairs and of as many from the middle, each the fastest of many windows.
/// `seen` are the times of the first pass, the fastest first, and the numbers of their pairs.
fn look_again(seen: &[(f64, usize)], mut time: impl FnMut(usize) -> f64) -> [Vec<f64>; 2] {
    let again = AGAIN.min(seen.len() / 4);
    let middle = seen.len() / 2;
    let chosen = seen[seen.len() - again..].iter().chain(&seen[middle - again / 2..middle - again / 2 + again]);
    let chosen: Vec<usize> = chosen.map(|(_, i)| *i).collect();
    let mut fastest = vec![f64::INFINITY; chosen.len()];
    // Interleaved, so that a disturbance affects pairs of both groups.
    for _ in 0..AGAIN_WINDOWS {
        for (best, &i) in fastest.iter_mut().zip(&chosen) {
            *best = best.min(time(i));
        }
    }
    let others = fastest.split_off(again);
    [fastest, others]
}

/// The share of slow pairs of all. If all pairs that were measured again are slow, there are more:
/// then those of the first pass count, including a few that were merely disturbed.
fn share(slow: usize, again: usize, first_look: usize, pairs: usize) -> f64 {
    let slow = if slow < again { slow } else { first_look };
    slow as f64 / pairs as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;
    use std::collections::BTreeSet;

    /// Two addresses of one line would be served by the same row.
    #[test]
    fn pairs_are_two_lines_drawn_from_all_of_the_buffer() {
        const LINES: u64 = 64;
        let pairs = random_pairs(&mut Rng::new(7), LINES, 128);
        // One in 64 is a line and itself.
        assert!((PAIRS * 9 / 10..PAIRS).contains(&pairs.len()), "{}", pairs.len());
        assert!(pairs.iter().all(|(a, b)| a != b && a % 128 == 0 && b % 128 == 0));
        for ends in [|pair: &(usize, usize)| pair.0, |pair: &(usize, usize)| pair.1] {
            let seen: BTreeSet<usize> = pairs.iter().map(|pair| ends(pair) / 128).collect();
            assert!(seen.into_iter().eq(0..LINES as usize));
        }
        let rising = pairs.iter().filter(|(a, b)| a < b).count();
        assert!((pairs.len() / 3..pairs.len() * 2 / 3).contains(&rising), "{rising} of {}", pairs.len());
    }

    #[test]
    fn the_gap_and_the_share_have_their_names() {
        fn stated(ctx: &mut Ctx) -> Outcome {
            state(ctx, &Modes { gap: 50e-9, slow: 6, limit: 325e-9 }, 0.01);
            Ok(())
        }
        let tried = try_out(&Benchmark { info: BENCH.info, run: Run::Here(stated) }, &[], None).expect("values");
        assert_eq!((tried.stated(""), tried.stated("share")), (Some(50e-9), Some(0.01)));
    }

    #[test]
    fn the_share_is_of_all_pairs() {
        assert_eq!(share(30, 60, 45, 3_000), 0.01);
        assert_eq!(share(60, 60, 450, 3_000), 0.15);
    }

    /// The pair of number `n` takes `100 - n` at best, and longer in all windows but one.
    #[test]
    fn a_pair_is_its_fastest_window_and_the_slowest_pair_is_the_last() {
        let mut windows = 0;
        let seen = first_look(50, |i| {
            windows += 1;
            if windows % LOOKS == i % LOOKS { 100.0 - i as f64 } else { 900.0 }
        });
        assert_eq!(windows, 50 * LOOKS);
        assert_eq!(seen, (0..50).rev().map(|i| (100.0 - i as f64, i)).collect::<Vec<_>>());
    }

    /// The pair of number `n` takes `n` at best, and is disturbed in all windows but one.
    #[test]
    fn the_slowest_pairs_and_those_in_the_middle_are_measured_again() {
        // Drawn in another order than that of their times.
        let seen: Vec<(f64, usize)> = (0..400).map(|n| (n as f64, 999 - n)).collect();
        let mut asked = Vec::new();
        let [slowest, middle] = look_again(&seen, |i| {
            asked.push(i);
            if (asked.len() - 1) / (2 * AGAIN) == i % AGAIN_WINDOWS { i as f64 } else { i as f64 + 5000.0 }
        });
        let numbers = |times: &[f64]| times.iter().map(|n| *n as usize).collect::<Vec<_>>();
        assert_eq!(numbers(&slowest), (600..600 + AGAIN).rev().collect::<Vec<_>>());
        assert_eq!(numbers(&middle), (799 - AGAIN / 2 + 1..=799 + AGAIN / 2).rev().collect::<Vec<_>>());
        // Each in its turn.
        assert_eq!(asked.len(), 2 * AGAIN * AGAIN_WINDOWS);
        assert!(asked.chunks(2 * AGAIN).all(|turn| *turn == asked[..2 * AGAIN]));
    }

    /// Values around `at`, within half of `width` of it.
    fn around(at: f64, width: f64, n: usize) -> Vec<f64> {
        (0..n).map(|i| at + width * ((i * 37 % n) as f64 / n as f64 - 0.5)).collect()
    }

    #[test]
    fn two_modes_are_told_from_one() {
        let others = around(300e-9, 8e-9, 48);
        // Six conflicts among the candidates, the rest fell back.
        let candidates = [around(350e-9, 6e-9, 6), around(301e-9, 8e-9, 42)].concat();
        let found = modes(&candidates, &others).expect("two modes");
        assert_eq!(found.slow, 6);
        assert!((found.gap - 50e-9).abs() < 3e-9 && (found.limit - 325e-9).abs() < 3e-9, "{found:?}");
        // All fell back.
        assert!(modes(&around(303e-9, 10e-9, 48), &others).is_err());
        // Two are chance.
        let two = [around(350e-9, 6e-9, 2), around(301e-9, 8e-9, 46)].concat();
        assert!(modes(&two, &others).is_err());
    }

    /// The gap is that of the medians, which one pair that was held up does not move, and a gap
    /// that no bank has is none, however close together the other pairs lie.
    #[test]
    fn the_gap_is_between_medians_and_no_smaller_than_a_bank_makes_it() {
        let others = [around(300e-9, 0.4e-9, 47), vec![900e-9]].concat();
        let gap = |slow: f64, held_up: f64| {
            let candidates = [around(slow, 1e-9, 9), vec![held_up], around(300e-9, 0.4e-9, 38)].concat();
            modes(&candidates, &others).map(|found| (found.gap * 1e9).round())
        };
        assert_eq!((gap(340e-9, 340e-9), gap(340e-9, 3000e-9)), (Ok(40.0), Ok(40.0)));
        assert!(gap(310e-9, 310e-9).is_err() && gap(314e-9, 314e-9).is_ok());
    }

    #[test]
    fn a_tail_is_no_mode() {
        // The slow end of one broad distribution.
        let tail: Vec<f64> = (0..48).map(|i| 300e-9 + f64::from(i * i) * 0.1e-9).collect();
        assert!(modes(&tail, &around(300e-9, 2e-9, 48)).is_err());
        // A clear gap, drowned in the width of the others.
        let candidates = [around(350e-9, 6e-9, 6), around(310e-9, 60e-9, 42)].concat();
        assert!(modes(&candidates, &around(300e-9, 60e-9, 48)).is_err());
        assert!(modes(&candidates, &[]).is_err());
    }

    #[test]
    fn it_shows_conflicts_or_says_that_it_does_not() {
        match try_out(&BENCH, &[("size", "16M")], None) {
            Ok(tried) => {
                let share = tried.result.series("share").map(|s| s.values.clone());
                assert!(share.is_some_and(|s| s.len() == 1 && s[0] > 0.0 && s[0] < 0.6));
            }
            Err(BenchError::Unsupported(why)) => {
                assert!(why.starts_with("not shown") || why.starts_with("needs"), "{why}")
            }
            Err(stop) => panic!("{stop}"),
        }
    }

    #[test]
    fn a_window_has_all_of_its_turns() {
        assert!((of_a_turn(300 * TURNS) - 300e-9).abs() < 1e-15);
    }
}
