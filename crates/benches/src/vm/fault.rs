//! One page fault that needs no disk, by its kind.
//!
//! Measures the first touch of a page: the exception, the kernel's search for the mapping, the page it finds or makes, and
//! the way back. `anon_write`: a zeroed page for the first write to fresh memory. `zero_page`: the shared page of zeroes for
//! the first read. `file_minor`: a page of a file that the page cache holds. `cow`: a copy of a page that another process
//! still uses. Does not measure `mmap` and `munmap`, faults that read from a disk, or huge pages.
//!
//! Method: the mapping is made once and touched page by page, through as many intervals as it lasts; then its pages are
//! given back, untimed, so that each touch faults again. A base page each: huge pages are refused. All pages are touched once before anything is
//! timed, so that a virtual machine's host has backed them. For `cow` a child is forked that sleeps while the parent writes to every page
//! once; then the next is forked. The intervals that count are those between two forks.
//!
//! The proof is that every touch was a fault and no fault had to wait for a disk, as the kernel counted them within the
//! timed stretches; for `cow` also that the child was still there, with the old contents, when its pages had been copied:
//! without it the kernel would hand over the page and copy nothing.
//!
//! Traps: a fault on an ordinary file mapping brings 16 pages or a large folio (lmbench divides by all pages: 0.15 us "per
//! fault" where one costs ten times that), so every page here is a mapping of its own, next to pages from elsewhere in the
//! file; memory that the host never backed takes milliseconds; transparent huge pages count 512 touches for one fault.
//! The pages that come are those given back: as warm as 16 MiB in turn can be, however short the intervals are (1 MiB in
//! turn took a third less here).
//!
//! Source: lmbench3 `lat_pagefault`, CSE 221 "page fault service time" (its repeated runs, 1446 ns, are soft faults).

use crate::scratch::Scratch;
use groma_harness::prelude::*;
use groma_harness::sys::counters::Usage;
use groma_harness::sys::file_pages::FilePages;
use groma_harness::sys::fork::{self, Child};
use groma_harness::sys::io::{pipe, read, read_full, write_full};
use groma_harness::sys::pages::{Map, Policy, page_size};
use std::hint::black_box;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Page fault that needs no disk, by kind",
        about: about!("fault.rs"),
        iteration: "one touch of a page that is not mapped (cow: not writable)",
        params: &[Param {
            name: "kind",
            help: "first write, first read, page of a cached file, or write to a page shared with a child",
            kind: ParamKind::Word(&["anon_write", "zero_page", "file_minor", "cow"]),
            quick: &[],
            default: &["anon_write", "zero_page", "file_minor", "cow"],
            full: &[],
        }],
        scaling: Scaling::processes("copy-on-write forks, which a process with threads must not"),
        lineage: &["lmbench3:lat_pagefault", "cse221:page_fault"],
        interference: Interference::Faults,
        width: 0.02,
        ..Info::new("vm.fault")
    },
    run: Run::Here(run),
};

/// Memory that is touched before its pages are given back: more than the second-level caches of today, and many times what
/// one interval touches, since the one in which a child is forked and reaped is lost.
/// Tests go round several times in their short time.
const AREA: usize = if cfg!(test) { 1 << 20 } else { 16 << 20 };
/// Pages of a file that are mapped, each by itself; a process may have 65530 mappings.
const FILE_PAGES: usize = 1024;

fn run(ctx: &mut Ctx) -> Outcome {
    sys::process::refuse_huge_pages();
    let faults = match ctx.word("kind") {
        "file_minor" => file_minor(ctx)?,
        "cow" => copy_on_write(ctx)?,
        kind => anonymous(ctx, kind == "anon_write")?,
    };
    let per_touch = faults.minor as f64 / faults.touches.max(1) as f64;
    ctx.prove("minor faults per touch", "0.98..1.02", per_touch, 0.98..=1.02);
    ctx.prove("major faults", "0", faults.major as f64, 0.0..=0.0);
    Ok(())
}

/// Touches, and the faults that the kernel counted for them.
#[derive(Default)]
struct Faults {
    touches: u64,
    minor: u64,
    major: u64,
}

impl Faults {
    /// Times `touch`, which touches so many pages, and nothing else.
    fn time(&mut self, touches: u64, watch: &mut Stopwatch<'_>, touch: impl FnOnce()) {
        let before = Usage::thread();
        watch.start();
        touch();
        watch.stop();
        let used = Usage::thread().since(&before);
        self.touches += touches;
        self.minor += used.minor_faults;
        self.major += used.major_faults;
    }
}

/// Writes to each page.
fn write_each(area: &mut [u8], value: u8) {
    for byte in area.iter_mut().step_by(page_size()) {
        *byte = value;
    }
}

/// Reads from each page.
fn read_each(area: &[u8]) {
    black_box(area.iter().step_by(page_size()).fold(0u8, |sum, byte| sum.wrapping_add(*byte)));
}

/// Goes through the pages of an area again and again.
struct Walk {
    next: usize,
    pages: usize,
}

impl Walk {
    fn through(area: &[u8]) -> Walk {
        Walk { next: 0, pages: area.len() / page_size() }
    }

    /// The bytes of the next pages; `None` when the area does not have so many any more and has to be made ready first.
    fn on(&mut self, pages: u64) -> Option<Range<usize>> {
        let from = self.next;
        let to = from + pages as usize;
        if to > self.pages {
            self.next = 0;
            return None;
        }
        self.next = to;
        Some(from * page_size()..to * page_size())
    }

    /// The same, where `ready` makes the whole area ready for the next walk through it.
    fn on_or(&mut self, pages: u64, ready: impl FnOnce() -> Outcome) -> Result<Range<usize>, Stop> {
        if let Some(range) = self.on(pages) {
            return Ok(range);
        }
        ready()?;
        self.on(pages).ok_or_else(|| Stop::Failed(format!("{pages} pages are more than there are")))
    }
}

fn anonymous(ctx: &mut Ctx, write: bool) -> Result<Faults, Stop> {
    let mut area = Map::anonymous(AREA, Policy::Base).doing("mapping memory")?;
    area.populate();
    area.drop_pages().doing("giving the pages back")?;
    let mut walk = Walk::through(&area);
    let mut faults = Faults::default();
    let most = walk.pages as u64;
    let touch = Arm::staged("", |iters, watch| {
        let range = walk.on_or(iters, || area.drop_pages().doing("giving the pages back"))?;
        let touched = &mut area[range];
        faults.time(iters, watch, || if write { write_each(touched, 1) } else { read_each(touched) });
        Ok(())
    });
    ctx.measure_arms(&mut [touch.max_iters(most)])?;
    Ok(faults)
}

fn file_minor(ctx: &mut Ctx) -> Result<Faults, Stop> {
    let scratch = Scratch::new(ctx)?;
    let file = scratch.random_file((2 * FILE_PAGES * page_size()) as u64, ctx)?;
    // Every other page of the file in a random order: no mapping continues its neighbour.
    let mut numbers: Vec<u64> = (0..FILE_PAGES as u64).map(|n| 2 * n).collect();
    ctx.rng().shuffle(&mut numbers);
    let mut area = FilePages::map(&file, &numbers).doing("mapping the pages of the file")?;
    read_each(&area);
    area.drop_pages().doing("giving the pages back")?;
    let mut walk = Walk::through(&area);
    let mut faults = Faults::default();
    let touch = Arm::staged("", |iters, watch| {
        let range = walk.on_or(iters, || area.drop_pages().doing("giving the pages back"))?;
        faults.time(iters, watch, || read_each(&area[range]));
        Ok(())
    });
    ctx.measure_arms(&mut [touch.max_iters(FILE_PAGES as u64)])?;
    Ok(faults)
}

fn copy_on_write(ctx: &mut Ctx) -> Result<Faults, Stop> {
    let mut area = Map::anonymous(AREA, Policy::Base).doing("mapping memory")?;
    area.populate();
    let mut lap = Lap::begin(&area)?;
    // The copies of the first lap are new to the host of a virtual machine; they are written untimed.
    write_each(&mut area, lap.value);
    let mut lost = u64::from(!lap.end()?);
    let mut forks = 2;
    lap = Lap::begin(&area)?;
    let mut walk = Walk::through(&area);
    let mut faults = Faults::default();
    let most = walk.pages as u64;
    let touch = Arm::staged("", |iters, watch| {
        let range = walk.on_or(iters, || {
            lost += u64::from(!lap.end()?);
            lap = Lap::begin(&area)?;
            forks += 1;
            Ok(())
        })?;
        let (touched, value) = (&mut area[range], lap.value);
        faults.time(iters, watch, || write_each(touched, value));
        Ok(())
    });
    ctx.measure_arms(&mut [touch.max_iters(most)])?;
    lost += u64::from(!lap.end()?);
    ctx.fact("cow.forks", forks);
    ctx.prove("children that were gone before their pages were copied", "0", lost as f64, 0.0..=0.0);
    Ok(faults)
}

/// A child that shares the memory, from its fork until it has been told to go.
struct Lap {
    child: Option<Child>,
    /// As long as this is open, the child sleeps.
    hold: Option<OwnedFd>,
    /// What the parent writes over the contents that the child knows.
    value: u8,
}

impl Lap {
    /// Forks the child and waits until it sleeps.
    fn begin(area: &Map) -> Result<Lap, Stop> {
        let (held, hold) = pipe().doing("making a pipe")?;
        let (ready, say_ready) = pipe().doing("making a pipe")?;
        let old = area[0];
        let child = fork::fork(|| {
            fork::close_copies(&[hold.as_fd()]);
            let told = write_full(say_ready.as_fd(), &[1]).and_then(|()| read(held.as_fd(), &mut [0]));
            i32::from(told.is_err() || area[0] != old)
        });
        let child = child.doing("forking a child to share pages with")?;
        drop(say_ready);
        read_full(ready.as_fd(), &mut [0]).doing("waiting for the child")?;
        Ok(Lap { child: Some(child), hold: Some(hold), value: old.wrapping_add(1) })
    }

    /// Lets the child go, and tells whether it was there until now and still had the old contents.
    fn end(&mut self) -> Result<bool, Stop> {
        let Some(mut child) = self.child.take() else { return Ok(false) };
        if child.poll().doing("looking after the child")?.is_some() {
            return Ok(false);
        }
        self.hold = None;
        Ok(child.wait().doing("waiting for the child")?.success())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::testing::Place;
    use groma_harness::testing::try_out;

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

    #[test]
    fn every_touch_is_a_fault() {
        for kind in ["anon_write", "zero_page", "file_minor", "cow"] {
            let place = Place::new();
            let tried = try_out(&BENCH, &[("kind", kind)], Some(place.path())).expect("memory");
            assert!(tried.samples("") >= 3, "{kind}");
            assert!(tried.proven("minor faults per touch") > 0.98, "{kind}");
            assert_eq!(tried.proven("major faults"), 0.0, "{kind}");
            if kind == "cow" {
                assert_eq!(tried.proven("children that were gone before their pages were copied"), 0.0);
            }
        }
    }
}
