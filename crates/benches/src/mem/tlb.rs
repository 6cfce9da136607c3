//! TLBs: how many pages they hold, the cost of a miss, and the page size that they hold.
//!
//! **Measures:** The entries of the first-level data TLB (the main value) and of the second level
//! (`l2`); the extra time of an access that misses the first and hits the second (`l2_hit`), or
//! misses both: `walk2`, `walk4` and `walk8`, at two, four and eight times the reach of the second
//! level. The cost of a walk is a curve: the further the pages spread, the fewer page tables are in
//! a cache. `page` is the page size that the TLB holds, which need not be the requested one.
//!
//! **Does not measure:** The TLBs for instructions or for stores.
//!
//! **Method:** A chain through one line of each of K pages in random order, the lines in different
//! cache sets. From its cost, that of a chain through as many lines side by side is subtracted,
//! measured at the same K. The end of the first level is found to the page: the largest K whose
//! loads take at most 5 % longer than those side by side. The second level ends softly (its sets
//! are hashed, and hold other entries too), so its end is where the cost crosses the geometric mean
//! of a hit and of the cost of twice as many pages, to a sixty-fourth. With `layout=scattered`
//! pages are 17 apart.
//!
//! For `page`, one huge page is walked in steps of base pages. If the TLB runs out within it, it
//! holds parts of it: `fractured`, as in a virtual machine whose host has base pages, where the
//! smaller of the two counts and only the walk is shorter. Otherwise it is `effective`, and entries
//! are counted in steps of huge pages; the second level is then not reported, since it reaches over
//! gigabytes. For base pages, neighbouring pages are compared with scattered ones: a longer reach
//! means that the TLB holds neighbours together (`coalesced`).
//!
//! **Pitfalls:**
//! - `AnonHugePages` of the kernel reports the guest's page tables, not the hardware's pages.
//! - A search for the first ratio above a threshold finds colliding cache lines instead of the end
//!   of the first level (lmbench's `tlb` gave 31 pages for 72).
//! - Page tables of a few megabytes fit in the second-level cache, and walks then look cheap.
//!
//! **Sources:** lmbench3 `tlb`. See docs/methods/memory.md#tlb.

use super::search::{self, Answer, Found, Load, Reach, reach};
use groma_harness::check_memory;
use groma_harness::prelude::*;
use groma_harness::sys::pages::{Map, Policy, huge_page_size, page_size};
use groma_harness::sys::tlb::declared_entries;
use std::collections::BTreeMap;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Pages that the first-level data TLB holds",
        about: about!("tlb.rs"),
        quantity: Quantity::Count,
        iteration: "64 loads along a chain through pages",
        timing: Timing::Stated,
        outputs: &[
            Output::MAIN,
            Output::named("l2", "pages that the second level holds"),
            Output::named("page", "size of a page as the TLB holds it").quantity(Quantity::Size),
            longer("l2_hit", "what an access takes longer that hits the second level only"),
            longer("walk2", "what it takes longer at twice the second level's reach"),
            longer("walk4", "the same at four times the reach"),
            longer("walk8", "the same at eight times the reach"),
        ],
        params: &[
            Param::word(
                "pages",
                "base pages, transparent huge pages or reserved huge pages",
                &["base", "huge", "hugetlb"],
            )
            .quick(&["base"])
            .standard(&["huge"]),
            Param::word("layout", "adjacent pages, or every 17th page", &["contiguous", "scattered"])
                .quick(&["contiguous"]),
        ],
        scaling: Scaling::alone("it states properties of one core instead of taking samples that could overlap"),
        // Walks differ with the position of the page tables; the entries, which matter most, agree
        // at once.
        target_half_width: 0.1,
        tier: Tier::Standard,
        class_tier: Tier::Full,
        ..Info::new("mem.tlb")
    },
    run: Run::Here(run),
};

/// An output that is the difference of two chains' costs.
const fn longer(suffix: &'static str, summary: &'static str) -> Output {
    Output::named(suffix, summary).quantity(Quantity::Latency)
}

/// The range of pages in which the end of the first level is searched: the largest first-level data
/// TLBs hold 256.
const FIRST: [usize; 2] = [8, 512];
/// The cost of a load, over that of one side by side, up to which the first level holds all pages.
/// One page too many in one of 16 sets costs half a cycle.
const TOLERANCE: f64 = 1.05;
/// The most pages: eight times the largest second level known (4096).
const MAX_PAGES: usize = 32_768;
/// Distance of scattered pages: odd, so that they use as many sets as neighbours do, and more than
/// hardware joins (16).
const PAGE_DISTANCE: usize = 17;
/// The most huge pages, each of which has to be zeroed first.
const MAX_HUGE_PAGES: usize = 128;
/// The fewest base pages, or as much memory in huge ones: four times what common second levels hold
/// (2048).
const MIN_PAGES: usize = 8192;
/// The least rise of the cost, over that of a hit, at the end of a second level.
const MIN_RISE: f64 = 2.0;
/// Looks at costs that are kept, of which the lowest counts.
const LOOKS: u32 = 3;

/// The cost of a load at a number of pages.
#[derive(Clone, Copy, Debug)]
struct Price {
    /// Cycles more than side by side.
    longer: f64,
    /// Cycles of a load from lines side by side.
    dense: f64,
    hz: f64,
    clean: bool,
    /// Whether the sibling thread rested during both looks.
    alone: bool,
}

impl Price {
    /// Of a load from a line of each page, beside one from as many lines side by side.
    fn of(load: Load, dense: Load) -> Price {
        let longer = load.cycles - dense.cycles;
        let (clean, alone) = (load.clean && dense.clean, load.alone && dense.alone);
        Price { longer, dense: dense.cycles, hz: load.hz, clean, alone }
    }

    fn seconds(self) -> f64 {
        self.longer / self.hz
    }

    /// Whether the first level holds all pages.
    fn first_level_holds(self) -> Answer {
        self.within(self.dense * (TOLERANCE - 1.0))
    }

    /// Whether it costs no more than this.
    fn within(self, longer: f64) -> Answer {
        Answer::of(self.longer <= longer, self.clean, self.alone)
    }
}

/// The findings beyond the first level.
#[derive(Debug, Default)]
struct Beyond {
    hit: Option<Price>,
    /// The reach of the second level, and whether the core was alone where it ends.
    l2: Option<(usize, bool)>,
    /// At 2, 4 and 8 times `l2`.
    walks: [Option<Price>; 3],
    /// Pages and cycles, in the order of the looks.
    curve: Vec<(usize, f64)>,
}

/// The lowest cost of several looks, preferring undisturbed ones, and of these such as were had
/// alone.
fn lowest(
    looks: u32,
    pages: usize,
    look: &mut impl FnMut(usize) -> Result<Price, BenchError>,
) -> Result<Price, BenchError> {
    let mut best = look(pages)?;
    for _ in 1..looks {
        let next = look(pages)?;
        if (next.clean, next.alone, -next.longer) > (best.clean, best.alone, -best.longer) {
            best = next;
        }
    }
    Ok(best)
}

/// The end of the second level and its costs, given `first` entries of the first level; at most
/// `most` pages.
fn beyond(
    first: usize,
    most: usize,
    mut look: impl FnMut(usize) -> Result<Price, BenchError>,
) -> Result<Beyond, BenchError> {
    let mut found = Beyond::default();
    // Four times: whatever its sets and replacement, the first level then holds hardly any page
    // until it is visited again.
    let start = 4 * first;
    if start > most {
        return Ok(found);
    }
    // Everything that follows is compared with the hit.
    let hit = lowest(2 * LOOKS, start, &mut look)?;
    found.hit = Some(hit);
    found.curve.push((start, hit.longer));
    // Half octaves, until the size two steps up shows that the level ended.
    let sizes = (1..).map(|i| (start as f64 * 2f64.powf(f64::from(i) / 2.0)) as usize).take_while(|k| *k <= most);
    for pages in sizes {
        let price = lowest(2, pages, &mut look)?;
        found.curve.push((pages, price.longer));
        if knee(&found.curve, hit.longer).is_none() {
            continue;
        }
        // A disturbed cost looks like an end: measure those that decide again.
        let decide = found.curve.len().saturating_sub(4)..found.curve.len();
        for i in decide {
            let again = lowest(LOOKS, found.curve[i].0, &mut look)?;
            found.curve[i].1 = found.curve[i].1.min(again.longer);
        }
        let Some((low, high, limit)) = knee(&found.curve, hit.longer) else { continue };
        let step = (low / 64).max(1);
        let end = reach(low, high, step, |k| Ok(look(k)?.within(limit)))?;
        if let Reach::To(k) = end.reach {
            found.l2 = Some((k, end.alone));
            break;
        }
        // Both ends hold, or neither: the level ends elsewhere, or not at all.
    }
    if let Some((l2, _)) = found.l2 {
        for (walk, times) in found.walks.iter_mut().zip([2, 4, 8]) {
            if l2 * times <= most {
                let price = lowest(LOOKS, l2 * times, &mut look)?;
                found.curve.push((l2 * times, price.longer));
                *walk = Some(price);
            }
        }
    }
    Ok(found)
}

/// The two sizes of a curve in half octaves between which the level with cost `hit` ends, and the
/// cost that decides between them.
fn knee(curve: &[(usize, f64)], hit: f64) -> Option<(usize, usize, f64)> {
    let [.., below, end, _, twice] = curve else { return None };
    let limit = (hit * twice.1).sqrt();
    (hit > 0.0 && twice.1 >= MIN_RISE * hit && end.1 > limit).then_some((below.0, end.0, limit))
}

/// How many base pages the TLB holds in one entry: the power of two nearest to the ratio of two
/// reaches.
fn together(reach: usize, scattered: usize) -> usize {
    let power = (reach as f64 / scattered as f64).log2().round().max(0.0);
    1 << power as u32
}

/// A chain through one line of each page, `apart` bytes apart, compared with one through as many
/// lines side by side.
struct Pages<'b> {
    buffer: &'b mut [u8],
    line: usize,
    apart: usize,
    /// Number of lines of a page that are used in rotation.
    turns: usize,
    /// Costs of lines side by side, by their number.
    dense: BTreeMap<usize, Load>,
}

impl<'b> Pages<'b> {
    fn new(buffer: &'b mut [u8], page: usize, apart: usize) -> Pages<'b> {
        let line = super::line_size();
        Pages { buffer, line, apart: page * apart, turns: page / line, dense: BTreeMap::new() }
    }

    fn most(&self) -> usize {
        self.buffer.len() / self.apart
    }

    fn price(&mut self, ctx: &mut Ctx, pages: usize) -> Result<Price, BenchError> {
        // Looks side by side hardly differ, so they are kept; two, since one may be disturbed.
        let dense = match self.dense.get(&pages) {
            Some(dense) => *dense,
            None => {
                let mut nodes = self.side_by_side(pages);
                ctx.rng().shuffle(&mut nodes);
                let dense = search::lowest(2, || search::load(ctx, self.buffer, &nodes))?;
                // Beside a busy sibling it may be too high, and a level would seem to hold more.
                if dense.alone {
                    self.dense.insert(pages, dense);
                }
                dense
            }
        };
        let mut nodes = self.lines(pages);
        ctx.rng().shuffle(&mut nodes);
        Ok(Price::of(search::load(ctx, self.buffer, &nodes)?, dense))
    }

    /// As many lines, one behind the other.
    fn side_by_side(&self, lines: usize) -> Vec<usize> {
        (0..lines).map(|i| i * self.line).collect()
    }

    /// A line of each page, at another place of its page than in the pages before it.
    fn lines(&self, pages: usize) -> Vec<usize> {
        (0..pages).map(|i| i * self.apart + i % self.turns * self.line).collect()
    }

    /// How many pages the first level holds, up to `last`: the better of two searches, since
    /// whatever shares the core may occupy entries during all of one.
    fn first_level(&mut self, ctx: &mut Ctx, last: usize) -> Result<Found, BenchError> {
        better_of_two(|| self.search(ctx, last))
    }

    fn search(&mut self, ctx: &mut Ctx, last: usize) -> Result<Found, BenchError> {
        reach(FIRST[0], last.min(self.most()), 1, |k| {
            let price = self.price(ctx, k)?;
            if price.first_level_holds() != Answer::Yes {
                // The look side by side may have been the disturbed one.
                self.dense.remove(&k);
            }
            Ok(price.first_level_holds())
        })
    }
}

/// The better of two searches, neither of which can end too high.
fn better_of_two(mut search: impl FnMut() -> Result<Found, BenchError>) -> Result<Found, BenchError> {
    Ok(search()?.max(search()?))
}

/// What the end of the first level says, beside that for scattered base pages.
#[derive(Debug, PartialEq)]
struct FirstLevel {
    entries: Option<usize>,
    /// Base pages that an entry holds.
    in_one: Option<usize>,
    verdict: &'static str,
}

/// Reads where the first level ends for pages of this kind, `held` of them as base pages.
fn first_level_of(kind: &str, held: Reach, scattered: Reach) -> FirstLevel {
    match (held, scattered) {
        (Reach::To(held), Reach::To(scattered)) => {
            let many = together(held, scattered);
            let verdict = match (kind, many) {
                ("base", 1) => "effective",
                ("base", _) => "coalesced",
                _ => "fractured",
            };
            FirstLevel { entries: Some(held / many), in_one: Some(many), verdict }
        }
        (Reach::To(held), _) => FirstLevel { entries: Some(held), in_one: None, verdict: "not determinable" },
        _ => FirstLevel { entries: None, in_one: None, verdict: "not determinable" },
    }
}

/// The number of base pages of the buffer's first huge page at which the TLB runs out, walked in
/// steps of base pages, and whether the core was alone there; `None` where it does not, because the
/// TLB holds the huge page as one.
pub(super) fn fractured_at(ctx: &mut Ctx, huge: &mut [u8]) -> Result<Option<(usize, bool)>, BenchError> {
    let in_one = huge_page_size().unwrap_or(page_size()).min(huge.len());
    let mut parts = Pages::new(&mut huge[..in_one], page_size(), 1);
    let found = parts.first_level(ctx, FIRST[1])?;
    match found.reach {
        Reach::To(entries) => Ok(Some((entries, found.alone))),
        Reach::Everywhere => Ok(None),
        Reach::Nowhere => Err(BenchError::Failed("the first eight pages cost as much as misses".to_owned())),
    }
}

/// The buffer, of which only the pages of the chains become present; and the reason if it is
/// smaller than intended.
fn map(pages: &str, apart: usize) -> Result<(Map, Option<String>), BenchError> {
    let base = page_size();
    match (pages, huge_page_size()) {
        ("base", _) => {
            sys::process::refuse_huge_pages();
            fitting(MAX_PAGES, MIN_PAGES, base, |n| Map::anonymous(n * apart * base, Policy::Base))
        }
        (_, None) => Err(BenchError::Unsupported("the kernel has no transparent huge pages".to_owned())),
        ("huge", Some(huge)) => {
            let least = (MIN_PAGES * base / huge).max(1);
            fitting(MAX_HUGE_PAGES, least, huge, |n| Map::anonymous(n * huge, Policy::Transparent))
        }
        (_, Some(huge)) => {
            // As many as are available: one shows whether they are effective, 128 how many the TLB
            // holds.
            let tried = [MAX_HUGE_PAGES, MAX_HUGE_PAGES / 2, MAX_HUGE_PAGES / 4, 1];
            let map = tried.into_iter().find_map(|n| Map::anonymous(n * huge, Policy::Reserved).ok());
            let none = || BenchError::Unsupported("no huge pages are reserved (vm.nr_hugepages)".to_owned());
            Ok((map.ok_or_else(none)?, None))
        }
    }
}

/// As many pages as fit in memory: `most`, halved repeatedly down to `least`; and the reason if not
/// `most`.
fn fitting(
    most: usize,
    least: usize,
    page: usize,
    map: impl Fn(usize) -> std::io::Result<Map>,
) -> Result<(Map, Option<String>), BenchError> {
    let mut why = None;
    let mut n = most;
    loop {
        match check_memory((n * page) as u64).and_then(|()| map(n).context("mapping the buffer")) {
            Ok(map) => return Ok((map, why.map(|why| format!("{n} pages instead of {most}: {why}")))),
            Err(stop) if n / 2 < least => return Err(stop),
            Err(stop) => why = why.or_else(|| Some(stop.to_string())),
        }
        n /= 2;
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let (kind, base) = (ctx.word("pages"), page_size());
    let apart = if ctx.word("layout") == "scattered" { PAGE_DISTANCE } else { 1 };
    if kind != "base" && apart != 1 {
        return Err(BenchError::Unsupported(
            "scattered pages are for base pages: huge ones are measured in steps of both".to_owned(),
        ));
    }
    let (mut buffer, smaller) = map(kind, apart)?;
    if let Some(why) = smaller {
        ctx.note(&why);
    }
    // Always: how many scattered base pages are held, which the TLB cannot join.
    let mut small =
        Map::anonymous(FIRST[1] * PAGE_DISTANCE * base, Policy::Base).context("mapping the scattered pages")?;
    let scattered = Pages::new(&mut small, base, PAGE_DISTANCE).first_level(ctx, FIRST[1])?;
    let held = match kind {
        "base" => Pages::new(&mut buffer, base, apart).first_level(ctx, FIRST[1])?,
        _ => {
            let huge = huge_page_size().unwrap_or(base);
            buffer[0] = 1;
            if kind == "huge" && buffer.huge_bytes() == Some(0) {
                return Err(BenchError::Unsupported("the kernel gave no huge page".to_owned()));
            }
            ctx.fact("declared.page", huge);
            match fractured_at(ctx, &mut buffer)? {
                Some((entries, alone)) => Found { reach: Reach::To(entries), alone },
                // The TLB holds whole huge pages.
                None => return effective(ctx, &mut buffer, huge),
            }
        }
    };
    declare(ctx, base);
    let alone = held.alone && scattered.alone;
    let (held, scattered) = (held.reach, scattered.reach);
    let seen = first_level_of(kind, held, scattered);
    if let (Reach::To(held), Reach::To(scattered)) = (held, scattered) {
        ctx.fact("tlb.reach", held * base);
        ctx.fact("tlb.reach_scattered", scattered * base);
    }
    ctx.fact("verdict", seen.verdict);
    let Some(entries) = seen.entries else {
        ctx.unresolved("", &format!("the first level ends {held} of {} to {} pages", FIRST[0], FIRST[1]));
        return Ok(());
    };
    ctx.state_seen("", entries as f64, alone);
    match seen.in_one {
        Some(many) => ctx.state_seen("page", (many * base) as f64, alone),
        None => ctx.unresolved("page", &format!("scattered pages end {scattered}")),
    }
    let mut pages = Pages::new(&mut buffer, base, apart);
    let most = pages.most().min(MAX_PAGES);
    let found = beyond(entries, most, |k| pages.price(ctx, k))?;
    state_beyond(ctx, &found, most);
    Ok(())
}

/// Counts the entries for huge pages that the TLB holds whole, in steps of huge pages.
fn effective(ctx: &mut Ctx, buffer: &mut Map, huge: usize) -> Outcome {
    declare(ctx, huge);
    ctx.fact("verdict", "effective");
    ctx.state_as("page", huge as f64);
    let mut pages = Pages::new(buffer, huge, 1);
    let most = pages.most();
    let whole = Found { reach: Reach::Everywhere, alone: true };
    let held = if most > FIRST[0] { pages.first_level(ctx, most)? } else { whole };
    match held.reach {
        Reach::To(entries) => {
            ctx.state_seen("", entries as f64, held.alone);
            match missing_first(entries, most) {
                Some(pages_of_hit) => {
                    let hit = lowest(LOOKS, pages_of_hit, &mut |k| pages.price(ctx, k))?;
                    ctx.state_seen("l2_hit", hit.seconds(), hit.alone);
                }
                None => ctx.unresolved("l2_hit", "too few huge pages"),
            }
        }
        held => ctx.unresolved("", &format!("the first level ends {held} of {} to {most} pages", FIRST[0])),
    }
    for name in ["l2", "walk2", "walk4", "walk8"] {
        ctx.unresolved(name, "gigabytes of huge pages would be needed");
    }
    Ok(())
}

/// Pages of which the first level holds hardly any until they are visited again: four times its
/// entries, and at least twice.
fn missing_first(entries: usize, most: usize) -> Option<usize> {
    (2 * entries <= most).then(|| most.min(4 * entries))
}

fn declare(ctx: &mut Ctx, page: usize) {
    for (key, level) in [("declared", 1), ("declared.l2", 2)] {
        if let Some(entries) = declared_entries(level, page as u64) {
            ctx.fact(key, entries);
        }
    }
}

fn state_beyond(ctx: &mut Ctx, found: &Beyond, most: usize) {
    match found.hit {
        Some(hit) => ctx.state_seen("l2_hit", hit.seconds(), hit.alone),
        None => ctx.unresolved("l2_hit", &format!("more than {most} pages")),
    }
    match found.l2 {
        Some((l2, alone)) => ctx.state_seen("l2", l2 as f64, alone),
        None => ctx.unresolved("l2", &format!("no end up to {most} pages")),
    }
    for (walk, name) in found.walks.iter().zip(["walk2", "walk4", "walk8"]) {
        match walk {
            Some(price) => ctx.state_seen(name, price.seconds(), price.alone),
            None => ctx.unresolved(name, &format!("more than {most} pages, or no second level")),
        }
    }
    let curve: Vec<String> = found.curve.iter().map(|(pages, cycles)| format!("{pages}:{cycles:.0}")).collect();
    ctx.fact("tlb.cycles_at", curve.join(" "));
}

#[cfg(test)]
mod tests;
