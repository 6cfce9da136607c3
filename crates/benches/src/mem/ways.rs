//! Cache associativity: how many lines of one set a cache holds, and how far apart they are.
//!
//! **Measures:** The associativity of the first-level data cache, and with huge pages that of the
//! second level. `way_size` is the distance at which addresses come back to the same set; the main
//! value is how many of them stay in the cache. Their product is the size.
//!
//! **Does not measure:** The number of sets where addresses are hashed, or a shared last level,
//! which is sliced.
//!
//! **Method:** A chain through lines a stride apart, and the largest number of them that still
//! takes the time of the level. Each doubling of the stride halves that number, until all lines are
//! of one set; from there on it stays. Each try uses other sets, since whatever else runs on the
//! core occupies lines in some of them. The first number that takes longer counts, not the slowest
//! one.
//!
//! **Pitfalls:**
//! - The second level is indexed by physical addresses beyond a page, so it needs huge pages that
//!   are huge in hardware as well. In most virtual machines they are not (`mem.tlb`).
//! - Strides of many pages exhaust the sets of the TLB before those of the cache (six entries at 64
//!   KiB, +7 cycles; machine not recorded), so the search ends at the second stride that keeps the
//!   number.
//! - Way prediction makes one line too many look worse than two (AMD).
//!
//! **Sources:** lmbench3 `cache`, which finds sizes only, by exchanging pages. See
//! docs/methods/memory.md#associativity.

use super::search::{self, Answer, Load, Reach, reach};
use super::tlb;
use groma_harness::Rng;
use groma_harness::prelude::*;
use groma_harness::sys::pages::{Map, Policy, huge_page_size};
use groma_harness::sys::topology::{CacheKind, Topology};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Lines of one set that a cache holds",
        about: about!("ways.rs"),
        quantity: Quantity::Count,
        iteration: "64 loads along a chain of lines of one set",
        timing: Timing::Stated,
        outputs: &[
            Output::MAIN,
            Output::named("way_size", "distance of addresses of one set").quantity(Quantity::Size),
        ],
        params: &[Param::word(
            "level",
            "the first-level data cache, or the second level (in huge pages)",
            &["l1", "l2"],
        )
        .quick(&["l1"])],
        scaling: Scaling::alone("it states a property of one core instead of taking samples that could overlap"),
        tier: Tier::Standard,
        ..Info::new("mem.ways")
    },
    run: Run::Here(run),
};

/// The strides of a level, the smallest first: no larger than the smallest way (1 KiB: 16 ways of
/// 16 KiB; 16 KiB: 16 ways of 256 KiB).
const STRIDES: [[usize; 7]; 2] = [doubling(1 << 10), doubling(16 << 10)];

const fn doubling(s: usize) -> [usize; 7] {
    [s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 64 * s]
}

/// The most lines, and the most bytes that they span at each level.
const MAX_LINES: usize = 512;
const SPAN: [usize; 2] = [2 << 20, 32 << 20];
/// The cost of a load, over that of the level, up to which the level holds all lines. One line too
/// many costs at least one miss for each lap over a set: an eighth of 10 cycles and more.
const TOLERANCE: [f64; 2] = [1.05, 1.25];

/// The ways and the size of a way, from the largest number of lines at each stride; the strides
/// double.
fn read(held: &[(usize, usize)]) -> Result<(usize, usize), String> {
    // A disturbance makes a number too small, never too large, so a number may be kept without
    // being exactly the same.
    let keeps = |i: usize| held.get(i + 1).is_some_and(|next| next.1 * 4 > held[i].1 * 3);
    let Some(i) = (0..held.len()).find(|&i| keeps(i) && keeps(i + 1)) else {
        return Err(format!("no stride keeps the number of lines: {held:?}"));
    };
    let ways = held[i..].iter().take(3).map(|(_, lines)| *lines).max().unwrap_or(0);
    let Some(before) = i.checked_sub(1) else {
        return Err(format!("a way is {} bytes or less", held[i].0));
    };
    if (held[before].1 * 4).abs_diff(ways * 8) > ways {
        return Err(format!("half the stride does not hold twice the lines: {held:?}"));
    }
    Ok((ways, held[i].0))
}

/// Whether there is enough to read.
fn is_settled(held: &[(usize, usize)]) -> bool {
    held.len() >= 3 && held[held.len() - 3..].windows(2).all(|pair| pair[1].1 * 4 > pair[0].1 * 3)
}

/// The cost of a load along lines of one set: the same line of every stride, in random order.
fn look(ctx: &mut Ctx, buffer: &mut [u8], line: usize, stride: usize, lines: usize) -> Result<Load, BenchError> {
    let nodes = of_one_set(ctx.rng(), line, stride, lines);
    search::load(ctx, buffer, &nodes)
}

/// So many addresses of one set, which is another one each time, in random order.
fn of_one_set(rng: &mut Rng, line: usize, stride: usize, lines: usize) -> Vec<usize> {
    let set = rng.below((stride / line).min(64) as u64) as usize * line;
    let mut nodes: Vec<usize> = (0..lines).map(|i| set + i * stride).collect();
    rng.shuffle(&mut nodes);
    nodes
}

/// The ways of the data cache of this level, and the size of one, as far as they are declared.
fn declared_cache(topology: &Topology, level: usize) -> Option<(u32, u64)> {
    let mut caches = topology.caches().iter().filter(|c| c.kind != CacheKind::Instruction);
    let cache = caches.find(|c| c.level as usize == level + 1)?;
    let ways = cache.ways?;
    Some((ways, cache.size? / u64::from(ways)))
}

fn run(ctx: &mut Ctx) -> Outcome {
    let level = usize::from(ctx.word("level") == "l2");
    if let Some((ways, size)) = declared_cache(&Topology::read(), level) {
        ctx.fact("declared", ways);
        ctx.fact("declared.way_size", size);
    }
    let line = super::line_size();
    let span = SPAN[level];
    // Physically contiguous memory does not matter to the first level, except that it helps where a
    // way is larger than a page.
    let huge = Map::anonymous(span, Policy::Transparent);
    let mut buffer = match (huge, level) {
        (Ok(buffer), _) => buffer,
        (Err(_), 0) => Map::anonymous(span, Policy::Base).context("mapping the buffer")?,
        (Err(why), _) => return Err(BenchError::Unsupported(format!("no huge pages: {why}"))),
    };
    buffer.populate();
    let whole_huge = huge_page_size().is_some_and(|huge| span >= huge) && buffer.huge_bytes() == Some(span as u64);
    if level == 1 {
        if !whole_huge {
            return Err(BenchError::Unsupported("the kernel gave no huge pages for the whole buffer".to_owned()));
        }
        if let Some((entries, _)) = tlb::fractured_at(ctx, &mut buffer)? {
            return Err(BenchError::Unsupported(format!(
                "not determinable: huge pages are fractured (the TLB ran out at {entries} base pages of one of them), so \
                 lines of one set cannot be chosen"
            )));
        }
    }
    let mut look = |ctx: &mut Ctx, stride, lines| look(ctx, &mut buffer, line, stride, lines);
    let first = search::lowest(4, || look(ctx, STRIDES[0][0], 2))?.cycles;
    let base = match level {
        0 => first,
        _ => {
            // Twice as many lines as one set of the first level holds, far fewer than the second
            // level holds.
            let held = reach(2, 64, 1, |n| within(look(ctx, STRIDES[1][0], n)?, first * TOLERANCE[0]))?;
            let Reach::To(ways) = held.reach else {
                return Err(BenchError::Unsupported("the first level does not end".to_owned()));
            };
            search::lowest(4, || look(ctx, STRIDES[0][2], 2 * ways))?.cycles
        }
    };
    let least = if level == 0 { 2 } else { 4 };
    let (mut held, mut alone) = (Vec::new(), true);
    for stride in STRIDES[level] {
        let most = (span / stride).min(MAX_LINES);
        let found = reach(least, most, 1, |lines| within(look(ctx, stride, lines)?, base * TOLERANCE[level]))?;
        alone &= found.alone;
        match found.reach {
            Reach::To(lines) => held.push((stride, lines)),
            Reach::Nowhere if level == 0 => held.push((stride, 1)),
            Reach::Nowhere | Reach::Everywhere => {}
        }
        if is_settled(&held) {
            break;
        }
    }
    ctx.fact("ways.cycles", format!("{base:.2}"));
    for (stride, lines) in &held {
        ctx.fact(&format!("ways.lines_at_{stride}"), lines);
    }
    state(ctx, &held, alone);
    Ok(())
}

/// States what the largest number of lines at each stride shows, and whether all were had alone.
fn state(ctx: &mut Ctx, held: &[(usize, usize)], alone: bool) {
    match read(held) {
        Ok((ways, way)) => {
            ctx.state_seen("", ways as f64, alone);
            ctx.state_seen("way_size", way as f64, alone);
            ctx.fact("ways.size", ways * way);
        }
        Err(why) => ctx.unresolved("", &why),
    }
}

/// Whether the cost is within the limit.
fn within(load: Load, limit: f64) -> Result<Answer, BenchError> {
    Ok(Answer::of(load.cycles <= limit, load.clean, load.alone))
}

#[cfg(test)]
mod tests {
    use super::super::search::made_up::noisy;
    use super::*;
    use groma_harness::testing::try_out;
    use std::collections::BTreeSet;

    /// The largest number of lines at each stride in a cache of that many ways, seen with noise.
    fn survey(ways: usize, way: usize, rng: &mut Rng, one_in: u64) -> Vec<(usize, usize)> {
        let mut held = Vec::new();
        for stride in STRIDES[0] {
            let fit = if stride >= way { ways } else { ways * (way / stride) };
            let found = reach(2, (SPAN[0] / stride).min(MAX_LINES), 1, |n| {
                // One line more costs at least one miss per lap over the set.
                let price = if n <= fit { 5.0 } else { 5.0 + 11.0 / ways as f64 };
                Ok(Answer::of(noisy(rng, one_in, price) <= 5.0 * TOLERANCE[0], true, true))
            });
            match found.map(|found| found.reach) {
                Ok(Reach::To(lines)) => held.push((stride, lines)),
                Ok(Reach::Nowhere) => held.push((stride, 1)),
                _ => {}
            }
            if is_settled(&held) {
                break;
            }
        }
        held
    }

    #[test]
    fn caches_of_all_shapes_are_told_through_noise() {
        let mut rng = Rng::new(5);
        for (ways, way) in [(12, 4096), (8, 4096), (4, 4096), (4, 8192), (4, 16384), (8, 16384), (2, 2048), (6, 4096)] {
            assert_eq!(read(&survey(ways, way, &mut rng, 1000)), Ok((ways, way)));
            let right = (0..100).filter(|_| read(&survey(ways, way, &mut rng, 3)) == Ok((ways, way))).count();
            assert!(right >= 80, "{ways} ways of {way}: {right} of 100");
        }
    }

    #[test]
    fn what_does_not_settle_is_not_told() {
        assert!(read(&[]).is_err());
        assert!(read(&[(1024, 48), (2048, 24), (4096, 12)]).is_err());
        // Kept from the first stride on: the way is smaller, and its size is unknown.
        assert!(read(&[(1024, 12), (2048, 12), (4096, 12)]).is_err());
        assert!(read(&[(1024, 48), (2048, 16), (4096, 12), (8192, 12), (16384, 12)]).is_err());
        // One number too small, because of a line of other code.
        assert_eq!(read(&[(1024, 48), (2048, 24), (4096, 11), (8192, 12), (16384, 12)]), Ok((12, 4096)));
        assert_eq!(read(&[(1024, 47), (2048, 24), (4096, 12), (8192, 12), (16384, 11)]), Ok((12, 4096)));
    }

    #[test]
    fn the_ways_and_their_size_have_their_names() {
        fn stated(ctx: &mut Ctx) -> Outcome {
            state(ctx, &[(1024, 48), (2048, 24), (4096, 12), (8192, 12), (16_384, 12)], false);
            Ok(())
        }
        let tried = try_out(&Benchmark { info: BENCH.info, run: Run::Here(stated) }, &[], None).expect("values");
        let value = |name: &str| tried.stated(name);
        assert_eq!((value(""), value("way_size")), (Some(12.0), Some(4096.0)));
        let labels = ["", "way_size"].map(|name| tried.result.series(name).expect("a value").value_labels.letters());
        assert_eq!(labels, ["N", "N"]);
        assert_eq!(tried.result.fact("ways.size"), Some("49152"));
    }

    #[test]
    fn lines_of_a_set_are_strides_apart_and_another_look_takes_another_set() {
        let mut rng = Rng::new(1);
        let mut sets = BTreeSet::new();
        for _ in 0..1000 {
            let nodes = of_one_set(&mut rng, 64, 2048, 30);
            assert_eq!(nodes.iter().map(|at| at % 2048).collect::<BTreeSet<_>>().len(), 1);
            let strides: BTreeSet<usize> = nodes.iter().map(|at| at / 2048).collect();
            assert_eq!(strides, (0..30).collect::<BTreeSet<usize>>());
            assert!(!nodes.is_sorted(), "a prefetcher follows that");
            sets.insert(nodes[0] % 2048);
        }
        assert_eq!(sets, (0..2048).step_by(64).collect::<BTreeSet<usize>>());
    }

    /// Ways and their size are those of the data cache that is measured, and make all of it.
    #[test]
    fn what_is_declared_is_of_the_level_that_is_measured() {
        let topology = Topology::read();
        for level in [0, 1] {
            let is_it = |kind, at: u32| kind != CacheKind::Instruction && at as usize == level + 1;
            let cache = topology.caches().iter().find(|cache| is_it(cache.kind, cache.level));
            let size = cache.filter(|cache| cache.ways.is_some()).and_then(|cache| cache.size);
            let told = declared_cache(&topology, level);
            assert_eq!(told.map(|(ways, way)| u64::from(ways) * way), size, "level {level}");
            assert_eq!(told.map(|told| told.0), cache.and_then(|cache| cache.ways).filter(|_| size.is_some()));
        }
    }

    /// A cost at the limit is within it; one that was disturbed is no answer.
    #[test]
    fn only_an_undisturbed_look_says_whether_the_level_holds_the_lines() {
        let look = |cycles, clean, alone| within(Load { cycles, hz: 3e9, clean, alone }, 5.25);
        let seen = [look(5.25, true, false), look(5.26, true, true), look(5.26, true, false), look(5.0, false, true)];
        let answers = [Answer::Yes, Answer::No, Answer::Beside, Answer::Unknown];
        assert_eq!(seen, answers.map(Ok));
    }

    #[test]
    fn the_first_level_of_this_machine_is_a_power_of_two_of_sets() {
        let tried = try_out(&BENCH, &[], None).expect("two megabytes");
        let value = |name: &str| tried.stated(name).map(|bytes| bytes as usize);
        match value("") {
            Some(ways) => {
                assert!(ways >= 1 && value("way_size").is_some_and(usize::is_power_of_two), "{:?}", tried.result);
            }
            None => assert!(tried.unresolved("").is_some()),
        }
    }
}
