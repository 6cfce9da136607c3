//! Tests of what the TLB is read from.

use super::super::search::made_up::noisy;
use super::*;
use groma_harness::Rng;
use groma_harness::testing::try_out;

#[test]
fn where_there_is_little_room_the_buffer_is_smaller_and_says_why() {
    let small = |n: usize| match n {
        ..=2 => Map::anonymous(n * page_size(), Policy::Base),
        _ => Err(std::io::Error::from(std::io::ErrorKind::OutOfMemory)),
    };
    let (map, why) = fitting(8, 1, page_size(), small).expect("two pages");
    assert_eq!(map.len(), 2 * page_size());
    assert!(why.is_some_and(|why| why.starts_with("2 pages instead of 8: mapping the buffer")));
    assert!(fitting(8, 4, page_size(), small).is_err());
    let whole = fitting(2, 1, page_size(), small).expect("two pages");
    assert!(whole.1.is_none());
}

/// A mapping needs no memory, so that the kernel gives any; using it would end other programs.
#[test]
fn what_memory_has_no_room_for_is_not_even_mapped() {
    const TOO_MANY: usize = 1 << 40;
    if check_memory((TOO_MANY / 2 * page_size()) as u64).is_ok() {
        return println!("skipped: nobody says how much memory there is");
    }
    let asked = std::cell::RefCell::new(Vec::new());
    let map = |n: usize| {
        asked.borrow_mut().push(n);
        Map::anonymous(page_size(), Policy::Base)
    };
    let refused = fitting(TOO_MANY, TOO_MANY / 2, page_size(), map).map(|_| ());
    assert!(matches!(refused, Err(BenchError::Unsupported(_))), "{refused:?}");
    assert!(asked.take().is_empty());
    // As much as there is room for, and no more.
    let (_, why) = fitting(TOO_MANY, 1, page_size(), map).expect("a page");
    let [fits] = asked.take()[..] else { panic!("{asked:?}") };
    assert!(check_memory((fits * page_size()) as u64).is_ok() && fits < TOO_MANY / 2, "{fits}");
    assert!(why.is_some_and(|why| why.starts_with(&format!("{fits} pages instead of {TOO_MANY}: "))));
}

/// A core with TLBs of the given numbers of entries, as its costs are seen with noise.
fn core(first: usize, sets: usize, second: usize, rng: &mut Rng, one_in: u64, pages: usize) -> Price {
    // Least recently used: a set with one page too many misses with all of them.
    let ways = first / sets;
    let over = if pages > first { ((pages - first) * (ways + 1)).min(pages) } else { 0 };
    let missing = over as f64 / pages as f64;
    // The second level ends softly, over an octave around its size.
    let past = ((pages as f64 / second as f64).log2() + 0.5).clamp(0.0, 1.0);
    let far = (pages as f64 / second as f64).max(1.0).log2();
    let cost = 5.0 + 7.0 * missing + past * (45.0 + 6.0 * far);
    Price { longer: noisy(rng, one_in, cost) - 5.0, dense: 5.0, hz: 3e9, clean: true, alone: true }
}

fn first_of(sizes: (usize, usize, usize), rng: &mut Rng, one_in: u64) -> Reach {
    let (first, sets, second) = sizes;
    reach(FIRST[0], FIRST[1], 1, |k| Ok(core(first, sets, second, rng, one_in, k).first_level_holds()))
        .expect("nothing stops it")
        .reach
}

#[test]
fn tlbs_of_all_sizes_are_told_through_noise() {
    let mut rng = Rng::new(9);
    // Golden Cove, Skylake, Zen 4, Zen 2, Cortex-A76, a core with 32 entries.
    for sizes in [(96, 16, 2048), (64, 16, 1536), (72, 1, 3072), (64, 1, 2048), (48, 1, 1280), (32, 1, 512)] {
        let (first, sets, second) = sizes;
        assert_eq!(first_of(sizes, &mut rng, 1_000_000), Reach::To(first));
        let right = (0..100).filter(|_| first_of(sizes, &mut rng, 3) == Reach::To(first)).count();
        assert!(right >= 85, "{sizes:?}: {right} of 100");

        let found = beyond(first, MAX_PAGES, |k| Ok(core(first, sets, second, &mut rng, 3, k))).expect("prices");
        let l2 = found.l2.expect("an end").0 as f64 / second as f64;
        assert!((0.7..=1.1).contains(&l2), "{sizes:?}: {l2}");
        let hit = found.hit.expect("a price").longer;
        assert!((hit - 7.0).abs() < 0.2, "{hit}");
        let walks = found.walks.map(|w| w.expect("enough pages").longer);
        // A disturbed cost is too high, never too low.
        assert!(walks[0] > 40.0 && walks[1] > 45.0 && walks[2] > 55.0, "{walks:?}");
    }
}

#[test]
fn the_second_end_is_the_same_again_and_again() {
    let mut rng = Rng::new(10);
    let mut ends: Vec<usize> = (0..50)
        .filter_map(|_| beyond(96, MAX_PAGES, |k| Ok(core(96, 16, 2048, &mut rng, 4, k))).expect("prices").l2)
        .map(|(l2, _)| l2)
        .collect();
    ends.sort_unstable();
    assert!(ends.len() >= 48 && ends[45] - ends[5] <= ends[25] / 16, "{ends:?}");
}

#[test]
fn without_an_end_there_is_none() {
    let price = |longer| Price { longer, dense: 5.0, hz: 3e9, clean: true, alone: true };
    let flat = beyond(96, MAX_PAGES, |_| Ok(price(7.0))).expect("prices");
    assert!(flat.l2.is_none() && flat.walks.iter().all(Option::is_none) && flat.hit.is_some());
    // A bump where the lines leave the first-level cache is no end.
    let bump = beyond(96, MAX_PAGES, |k| Ok(price(if k == 768 { 9.0 } else { 7.0 }))).expect("prices");
    assert_eq!(bump.l2, None);
    // Too few pages for the first point.
    assert!(beyond(96, 100, |_| Ok(price(7.0))).expect("prices").hit.is_none());
    // Walks that would need more pages than there are, are missing.
    let small = beyond(96, 5000, |k| Ok(price(if k <= 2000 { 7.0 } else { 60.0 }))).expect("prices");
    assert!(small.l2.is_some_and(|(l2, _)| (1900..=2000).contains(&l2)), "{small:?}");
    assert!(small.walks[0].is_some() && small.walks[1].is_none() && small.walks[2].is_none());
}

#[test]
fn pages_that_are_held_together_are_powers_of_two() {
    let seen = [(96, 96), (95, 96), (48, 96), (100, 72), (288, 72), (144, 72), (1152, 72)];
    assert_eq!(seen.map(|(reach, scattered)| together(reach, scattered)), [1, 1, 1, 1, 4, 2, 16]);
}

#[test]
fn base_pages_are_told_or_not_with_a_reason() {
    let tried = try_out(&BENCH, &[], None).expect("memory");
    let has = |name: &str| tried.result.series(name).is_some();
    assert!(has("") || tried.unresolved("").is_some(), "{:?}", tried.result);
    if has("") {
        assert!(has("l2") || tried.unresolved("l2").is_some(), "{:?}", tried.result);
        assert!(has("page") || tried.unresolved("page").is_some(), "{:?}", tried.result);
        let entries = tried.stated("").unwrap_or(0.0);
        assert!((FIRST[0] as f64..=FIRST[1] as f64).contains(&entries));
    }
    assert!(tried.result.output.facts.iter().any(|f| f.key == "verdict"));
}

#[test]
fn huge_pages_have_a_verdict() {
    for pages in ["huge", "hugetlb"] {
        match try_out(&BENCH, &[("pages", pages)], None) {
            Ok(tried) => {
                let verdict = tried.result.fact("verdict").map(str::to_owned);
                let known = ["effective", "fractured", "not determinable"];
                assert!(verdict.is_some_and(|v| known.contains(&v.as_str())), "{:?}", tried.result);
            }
            Err(BenchError::Unsupported(why)) => assert!(why.contains("huge page"), "{why}"),
            Err(stop) => panic!("{stop}"),
        }
    }
}

/// Nodes at the same place of every page would be of one set of the first-level cache, which
/// holds as many of them as it has ways. No core has a first level of so few entries.
#[test]
fn the_first_level_holds_more_pages_than_a_set_of_the_cache_has_lines() {
    use groma_harness::sys::topology::{CacheKind, Topology};
    let topology = Topology::read();
    let mut caches = topology.caches().iter().filter(|c| c.level == 1 && c.kind != CacheKind::Instruction);
    let Some(ways) = caches.find_map(|cache| cache.ways) else { return println!("skipped: none declared") };
    let mut seen = Vec::new();
    for _ in 0..5 {
        let tried = try_out(&BENCH, &[], None).expect("memory");
        seen.extend(tried.stated(""));
        if seen.iter().any(|entries| *entries > 1.5 * f64::from(ways)) {
            return;
        }
    }
    assert!(seen.is_empty(), "with {ways} ways: {seen:?}");
}

/// Base pages in one entry count once: neighbours that were joined, or parts of a huge page.
#[test]
fn entries_are_counted_in_what_one_of_them_holds() {
    use Reach::{Everywhere, Nowhere, To};
    let unknown = "not determinable";
    for (kind, held, scattered, entries, in_one, verdict) in [
        ("base", To(96), To(90), Some(96), Some(1), "effective"),
        ("base", To(288), To(72), Some(72), Some(4), "coalesced"),
        ("huge", To(144), To(72), Some(72), Some(2), "fractured"),
        ("huge", To(96), To(96), Some(96), Some(1), "fractured"),
        ("base", To(96), Everywhere, Some(96), None, unknown),
        ("huge", To(96), Nowhere, Some(96), None, unknown),
        ("base", Nowhere, To(96), None, None, unknown),
        ("base", Everywhere, To(96), None, None, unknown),
    ] {
        let expected = FirstLevel { entries, in_one, verdict };
        assert_eq!(first_level_of(kind, held, scattered), expected, "{kind} {held} {scattered}");
    }
}

/// Disturbances only make a search end early.
#[test]
fn of_two_searches_the_one_that_got_further_counts() {
    let steps = [Reach::Nowhere, Reach::To(8), Reach::To(9), Reach::Everywhere];
    for pair in steps.windows(2) {
        for both in [[pair[0], pair[1]], [pair[1], pair[0]]] {
            let mut searches = both.into_iter();
            let mut next = || searches.next().expect("two searches");
            let found = better_of_two(|| Ok(Found { reach: next(), alone: true }));
            assert_eq!((found.map(|found| found.reach), searches.len()), (Ok(pair[1]), 0));
        }
    }
    // As far once alone is as far as it goes.
    let mut alone = [true, false].into_iter();
    let found = better_of_two(|| Ok(Found { reach: Reach::To(8), alone: alone.next().expect("two searches") }));
    assert_eq!(found, Ok(Found { reach: Reach::To(8), alone: true }));
}

/// The clock is that of the pages' look; one disturbed look of the two makes the difference wrong.
#[test]
fn a_price_is_what_a_load_takes_longer_than_side_by_side() {
    for (one, other) in [(true, true), (true, false), (false, true), (false, false)] {
        let load = Load { cycles: 21.0, hz: 2e9, clean: one, alone: other };
        let price = Price::of(load, Load { cycles: 5.0, hz: 3e9, clean: other, alone: true });
        assert_eq!((price.longer, price.dense, price.clean, price.alone), (16.0, 5.0, one && other, other));
        assert!((price.seconds() * 1e9 - 8.0).abs() < 1e-9);
    }
}

/// Each page is another one, and all places of a page have their turn.
#[test]
fn lines_are_in_pages_of_their_own_and_in_different_sets() {
    let (page, line) = (page_size(), crate::mem::line_size());
    for apart in [1, PAGE_DISTANCE] {
        let lines = Pages::new(&mut [], page, apart).lines(3 * page / line);
        assert!(lines.iter().enumerate().all(|(i, at)| at / page == i * apart), "{apart}");
        let places: Vec<usize> = lines.iter().map(|at| at % page).collect();
        let once: Vec<usize> = (0..page).step_by(line).collect();
        assert_eq!(places, once.repeat(3), "{apart}");
    }
}

/// What pages are compared with lies in as few pages as it can.
#[test]
fn lines_side_by_side_leave_no_room_between_them() {
    let (page, line) = (page_size(), crate::mem::line_size());
    for apart in [1, PAGE_DISTANCE] {
        let mut lines = Pages::new(&mut [], page, apart).side_by_side(3 * page / line);
        lines.sort_unstable();
        assert_eq!(lines, (0..3 * page).step_by(line).collect::<Vec<usize>>(), "{apart}");
    }
}

#[test]
fn walks_are_at_two_four_and_eight_times_the_reach() {
    let cost = |pages: usize| if pages <= 2000 { 7.0 } else { 40.0 + pages as f64 / 100.0 };
    let found = beyond(96, MAX_PAGES, |k| Ok(Price { longer: cost(k), dense: 5.0, hz: 3e9, clean: true, alone: true }))
        .expect("prices");
    let (l2, _) = found.l2.expect("an end");
    assert_eq!(found.walks.map(|walk| walk.map(|price| price.longer)), [2, 4, 8].map(|times| Some(cost(times * l2))));
    assert_eq!(found.hit.map(|hit| hit.longer), Some(7.0));
}

#[test]
fn a_second_level_of_huge_pages_is_hit_at_twice_the_first_and_more() {
    let pages = [20, 32, 40, 64, 65].map(|entries| missing_first(entries, 128));
    assert_eq!(pages, [Some(80), Some(128), Some(128), Some(128), None]);
}

#[test]
fn each_finding_beyond_the_first_level_has_its_name() {
    fn stated(ctx: &mut Ctx) -> Outcome {
        let price = |longer| Some(Price { longer, dense: 5.0, hz: 2e9, clean: true, alone: true });
        let walks = [price(20.0), None, price(60.0)];
        state_beyond(ctx, &Beyond { hit: price(8.0), l2: Some((1500, false)), walks, curve: vec![(384, 8.0)] }, 8000);
        Ok(())
    }
    let tried = try_out(&Benchmark { info: BENCH.info, run: Run::Here(stated) }, &[], None).expect("values");
    let value = |name: &str| tried.stated(name).map(|seconds| (seconds * 1e9).round());
    assert_eq!(["l2_hit", "walk2", "walk4", "walk8"].map(value), [Some(4.0), Some(10.0), None, Some(30.0)]);
    assert_eq!(value("l2"), Some(1500.0 * 1e9));
    let labels = ["l2", "l2_hit"].map(|name| tried.result.series(name).expect("a value").value_labels.letters());
    assert_eq!(labels, ["N", ""]);
    assert!(tried.unresolved("walk4").is_some());
}
