//! Memory that is touched page by page, and the kernel's count of faults for it.

use groma_harness::prelude::*;
use groma_harness::sys::counters::Usage;
use groma_harness::sys::pages::page_size;
use std::hint::black_box;
use std::ops::Range;

/// Bytes that are touched before the pages are given back: more than today's second-level caches,
/// and many times what one interval touches. Tests use less, to go around several times in their
/// short time.
pub(super) const AREA: usize = if cfg!(test) { 1 << 20 } else { 16 << 20 };

/// The faults that the kernel counted. The expected number comes from the credited iterations
/// ([`Ctx::iterations`]), not from the code that touches.
#[derive(Default)]
pub(super) struct Faults {
    pub(super) minor: u64,
    pub(super) major: u64,
}

impl Faults {
    /// Times `touch` alone and counts its faults. Pages touched before the stopwatch starts fault
    /// no more.
    pub(super) fn time<T>(&mut self, watch: &mut Stopwatch<'_>, touch: impl FnOnce() -> T) -> T {
        watch.count_faults();
        watch.start();
        let done = touch();
        watch.stop();
        let (minor, major) = watch.faults();
        self.minor += minor;
        self.major += major;
        done
    }

    /// Runs `body`, parts of which may be timed, and counts its faults. Only the body is counted:
    /// the harness has faults of its own.
    pub(super) fn during<T>(&mut self, body: impl FnOnce() -> T) -> T {
        let before = Usage::thread();
        let done = body();
        self.add(&Usage::thread().since(&before));
        done
    }

    /// Adds the counts of `others`.
    pub(super) fn merge(&mut self, others: &Faults) {
        self.minor += others.minor;
        self.major += others.major;
    }

    /// Adds the faults of `used`.
    pub(super) fn add(&mut self, used: &Usage) {
        self.minor += used.minor_faults;
        self.major += used.major_faults;
    }

    /// Minor faults per touch.
    pub(super) fn per_touch(&self, touches: u64) -> f64 {
        self.minor as f64 / touches.max(1) as f64
    }

    /// Minor faults per touch, without up to three beyond those `expected`: a page of the stack or
    /// of the program may be first touched in any interval, and under load there are rounds of
    /// thirty touches.
    fn per_touch_but_for_chance(&self, expected: u64, touches: u64) -> f64 {
        const BY_CHANCE: u64 = 3;
        let is_by_chance = self.minor.saturating_sub(expected) <= BY_CHANCE;
        Faults { minor: if is_by_chance { self.minor.min(expected) } else { self.minor }, ..*self }.per_touch(touches)
    }

    /// Proves that every touch was a fault, and none waited for a disk.
    pub(super) fn prove_each_minor(&self, ctx: &mut Ctx, touches: u64) {
        let seen = self.per_touch_but_for_chance(touches, touches);
        ctx.prove("minor faults per touch", "0.98..1.02", seen, 0.98..=1.02);
        self.prove_none_major(ctx);
    }

    /// Proves that the operations caused no faults.
    pub(super) fn prove_none(&self, ctx: &mut Ctx, operations: u64) {
        let seen = self.per_touch_but_for_chance(0, operations);
        ctx.prove("minor faults per operation, which needs none", "0", seen, ..=0.02);
        self.prove_none_major(ctx);
    }

    /// Proves that no fault waited for a disk.
    pub(super) fn prove_none_major(&self, ctx: &mut Ctx) {
        ctx.prove("major faults", "0", self.major as f64, 0.0..=0.0);
    }
}

/// Writes to each page.
pub(super) fn write_each(area: &mut [u8], value: u8) {
    for byte in area.iter_mut().step_by(page_size()) {
        *byte = value;
    }
    black_box(area);
}

/// Reads from each page.
pub(super) fn read_each(area: &[u8]) {
    black_box(area.iter().step_by(page_size()).fold(0u8, |sum, byte| sum.wrapping_add(*byte)));
}

/// Goes through the pages of an area again and again.
pub(super) struct Walk {
    next: usize,
    pages: usize,
    page: usize,
}

impl Walk {
    /// By base pages.
    pub(super) fn through(area: &[u8]) -> Walk {
        Walk::by(page_size(), area)
    }

    /// By pages of `page` bytes.
    pub(super) fn by(page: usize, area: &[u8]) -> Walk {
        Walk { next: 0, pages: area.len() / page, page }
    }

    /// Pages handed out since the area was last made ready.
    pub(super) fn gone_through(&self) -> u64 {
        self.next as u64
    }

    /// The most pages that can be handed out at once.
    pub(super) fn most(&self) -> u64 {
        self.pages as u64
    }

    /// The byte range of the next pages; `None` if fewer pages are left and the area has to be made
    /// ready first.
    fn on(&mut self, pages: u64) -> Option<Range<usize>> {
        let from = self.next;
        let to = from + pages as usize;
        if to > self.pages {
            self.next = 0;
            return None;
        }
        self.next = to;
        Some(from * self.page..to * self.page)
    }

    /// The same; calls `ready` to make the whole area ready for another pass if needed.
    pub(super) fn on_or(&mut self, pages: u64, ready: impl FnOnce() -> Outcome) -> Result<Range<usize>, BenchError> {
        if let Some(range) = self.on(pages) {
            return Ok(range);
        }
        ready()?;
        self.on(pages).ok_or_else(|| BenchError::Failed(format!("{pages} pages are more than there are")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::sys::pages::Map;
    use groma_harness::testing::{stating, try_failing};

    #[test]
    fn a_walk_goes_through_the_area_and_begins_again() {
        let page = page_size();
        let mut walk = Walk::through(&vec![0; 5 * page]);
        assert_eq!(walk.on(3), Some(0..3 * page));
        assert_eq!(walk.on(3), None);
        assert_eq!(walk.on(5), Some(0..5 * page));
        let mut readied = 0;
        let ready = || {
            readied += 1;
            Ok(())
        };
        assert_eq!(walk.on_or(1, ready), Ok(0..page));
        assert_eq!(readied, 1);
        assert!(walk.on_or(6, || Ok(())).is_err());
    }

    /// Faults before the stopwatch starts or after it stops do not count as timed.
    #[test]
    fn pages_touched_beside_the_watch_are_missed() {
        fn run(ctx: &mut Ctx, early: bool) -> Outcome {
            let mut area = Map::guarded(64 * page_size()).context("mapping memory")?;
            let (mut faults, mut inside) = (Faults::default(), Faults::default());
            ctx.measure_variants(&mut [Variant::staged("", |iters, watch| {
                area.drop_pages().context("giving the pages back")?;
                let pages = &mut area[..iters as usize * page_size()];
                if early {
                    write_each(pages, 1);
                }
                // The mistake to detect: touch first, time afterwards.
                faults.time(watch, || {
                    if !early {
                        write_each(pages, 1);
                    }
                    // Takes some time.
                    (0..100 * iters).for_each(|n| {
                        black_box(n);
                    });
                });
                inside.during(|| write_each(pages, 2));
                Ok(())
            })
            .max_iters(64)])?;
            let touches = ctx.iterations();
            faults.prove_each_minor(ctx, touches);
            inside.prove_none(ctx, touches);
            Ok(())
        }
        for (early, expected) in [(false, true), (true, false)] {
            let info = Info { interference: Interference::Faults, ..Info::new("walk.test") };
            let run: fn(&mut Ctx) -> Outcome = if early { |ctx| run(ctx, true) } else { |ctx| run(ctx, false) };
            let bench = Benchmark { info, run: Run::Here(run) };
            let holds = |_| {
                let tried = try_failing(&bench, &[], None).unwrap_or_else(|why| panic!("{why}"));
                let names = ["minor faults per touch", "minor faults per operation, which needs none"];
                names.map(|name| tried.proof(name).holds)
            };
            // The kernel may take pages back between two touches, though hardly in each try.
            let seen: Vec<[bool; 2]> = (0..5).map(holds).collect();
            assert!(seen.contains(&[expected, true]), "{early}: {seen:?}");
            assert!(expected || seen.iter().all(|[touches, _]| !touches), "{early}: {seen:?}");
        }
    }

    /// Two of a hundred, and of few touches three in all.
    #[test]
    fn faults_beside_those_of_the_touches_are_few() {
        const TOUCHES: [(u64, u64, bool); 7] = [
            (985, 1000, true),
            (970, 1000, false),
            (1015, 1000, true),
            (1030, 1000, false),
            (29, 30, false),
            (32, 30, true),
            (35, 30, false),
        ];
        const NONE: [(u64, u64, bool); 4] = [(15, 1000, true), (30, 1000, false), (2, 30, true), (5, 30, false)];
        fn run(ctx: &mut Ctx) -> Outcome {
            TOUCHES.iter().for_each(|&(minor, n, _)| Faults { minor, major: 0 }.prove_each_minor(ctx, n));
            NONE.iter().for_each(|&(minor, n, _)| Faults { minor, major: 0 }.prove_none(ctx, n));
            ctx.state(1.0);
            Ok(())
        }
        let tried = try_failing(&stating(run), &[], None).expect("a value");
        assert_eq!(
            tried.proofs_held("minor faults"),
            TOUCHES.iter().chain(&NONE).map(|case| case.2).collect::<Vec<_>>()
        );
    }

    /// Too few faults, too many, and some where there should be none, all break the proofs.
    #[test]
    fn faults_that_are_missing_or_too_many_break_the_proofs() {
        fn run(ctx: &mut Ctx) -> Outcome {
            let faults = |minor, major| Faults { minor, major };
            faults(1000, 0).prove_each_minor(ctx, 1000);
            faults(500, 0).prove_each_minor(ctx, 1000);
            faults(2000, 0).prove_each_minor(ctx, 1000);
            faults(0, 0).prove_each_minor(ctx, 0);
            faults(0, 0).prove_none(ctx, 1000);
            faults(100, 0).prove_none(ctx, 1000);
            faults(0, 1).prove_none_major(ctx);
            ctx.state(1.0);
            Ok(())
        }
        let tried = match try_failing(&stating(run), &[], None) {
            Ok(tried) => tried,
            Err(why) => panic!("{why}"),
        };
        let minor = tried.result.output.proofs.iter().filter(|p| p.name != "major faults").map(|p| p.holds);
        assert_eq!(minor.collect::<Vec<_>>(), [true, false, false, false, true, false]);
        assert_eq!(tried.result.output.proofs.last().map(|p| p.holds), Some(false));
    }
}
