//! One page fault that reads its page from a disk.
//!
//! **Measures:** The first read of a page of a mapped file that is not in memory: the exception, a
//! page of the cache, the request to the device, the sleep until it completes, and the return.
//!
//! **Does not measure:** Bandwidth or readahead, which is switched off. The host of a virtual
//! machine may have the page in its own memory.
//!
//! **Method:** A scratch file is written and synced, and the kernel is asked to drop it from the
//! cache. The pages that `mincore` then shows absent are touched in random order, each fault timed
//! alone. This repeats until the time is over.
//!
//! **Proofs:** Each touch is a major fault, as the kernel counts them for this thread, and each
//! byte read is the one that was written.
//!
//! **Pitfalls:**
//! - `msync(MS_INVALIDATE)`, with which lmbench's `lat_pagefault` tries to evict its file, evicts
//!   nothing.
//! - Fault-around would bring other pages as well; `MADV_RANDOM` prevents it.
//! - File systems in memory have nothing to read from: they are `unsupported`.
//!
//! **Sources:** lmbench3 `lat_pagefault`, which was meant to measure this; CSE 221 "page fault
//! service time" (its first runs, 16.6 us). See docs/methods/operating-system.md#page-faults.

use super::walk::Faults;
use crate::scratch::Scratch;
use groma_harness::prelude::*;
use groma_harness::sys::counters::Usage;
use groma_harness::sys::file_pages::forget_cached;
use groma_harness::sys::pages::{MADV_RANDOM, Map, page_size};
use std::hint::black_box;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Page fault that reads its page from a disk",
        about: about!("fault_major.rs"),
        iteration: "one touch of a page of a file that is not in memory",
        timing: Timing::Stated,
        scaling: Scaling::alone("the disk has one queue: several at once measure that"),
        needs: &[Need::WorkDir],
        files: |_| (PAGES * page_size()) as u64,
        interference: Interference::Blocking,
        target_half_width: 0.05,
        // It has to sync a file, and the blocks that it frees may disturb what comes after it.
        tier: Tier::Named,
        ..Info::new("vm.fault_major")
    },
    run: Run::Here(run),
};

/// Pages of the file.
const PAGES: usize = 256;
/// The fewest faults in a round, however slow the disk is, and the most.
const MIN_FAULTS: u64 = 8;
const MAX_FAULTS: u64 = 1024;

fn run(ctx: &mut Ctx) -> Outcome {
    let scratch = Scratch::new(ctx)?;
    let file = scratch.random_file((PAGES * page_size()) as u64, ctx)?;
    let mut area = Map::file(&file, PAGES * page_size(), false).context("mapping the file")?;
    let contents: Vec<u8> = area.iter().step_by(page_size()).copied().collect();
    file.sync_all().context("syncing the file")?;
    area.advise(MADV_RANDOM).context("asking for no readahead")?;

    let (mut faults, mut touches, mut wrong) = (Faults::default(), 0u64, 0u64);
    let end = ctx.now_ns() + ctx.time_limit_ns();
    loop {
        // The kernel does not drop mapped pages.
        area.drop_pages().context("giving the pages back")?;
        forget_cached(&file).context("asking the kernel to forget the file")?;
        let there = area.residency().context("mincore")?;
        let mut absent: Vec<usize> = (0..PAGES).filter(|n| !there[*n]).collect();
        if absent.is_empty() {
            let why = "the file stays in memory although it was synced and dropped: the file system has no disk";
            return Err(BenchError::Unsupported(why.to_owned()));
        }
        ctx.rng().shuffle(&mut absent);
        for n in absent {
            let before = Usage::thread();
            let start = ctx.now_ns();
            let byte = black_box(area[n * page_size()]);
            let took = ctx.now_ns().saturating_sub(start);
            faults.add(&Usage::thread().since(&before));
            touches += 1;
            wrong += u64::from(byte != contents[n]);
            ctx.state(took as f64 * 1e-9);
            if touches >= MAX_FAULTS || (touches >= MIN_FAULTS && ctx.now_ns() >= end) {
                return proofs(ctx, &faults, touches, wrong);
            }
        }
    }
}

fn proofs(ctx: &mut Ctx, faults: &Faults, touches: u64, wrong: u64) -> Outcome {
    let per_touch = faults.major as f64 / touches as f64;
    ctx.prove("major faults per touch", "0.98..1.02", per_touch, 0.98..=1.02);
    ctx.prove("bytes that were not those written", "0", wrong as f64, 0.0..=0.0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::testing::Place;
    use groma_harness::testing::try_out;

    #[test]
    fn every_touch_reads_from_the_disk() {
        let place = Place::new();
        match try_out(&BENCH, &[], Some(place.path())) {
            Ok(tried) => {
                assert!(tried.proven("major faults per touch") > 0.98);
                assert_eq!(tried.proven("bytes that were not those written"), 0.0);
                let stated = tried.result.series("").map_or(0, |s| s.values.len() as u64);
                assert!((MIN_FAULTS..=MAX_FAULTS).contains(&stated), "{stated}");
            }
            Err(BenchError::Unsupported(why)) => {
                let facts = sys::facts::work_dir_facts(place.path());
                let on_disk = |(key, kind): &(String, String)| key == "work_dir.fs" && kind.starts_with("ext");
                assert!(!facts.iter().any(on_disk), "{why}");
                eprintln!("skipped: {why}");
            }
            Err(why) => panic!("{why}"),
        }
    }

    #[test]
    fn a_file_system_in_memory_has_no_major_faults() {
        let shm = std::path::Path::new("/dev/shm");
        let Ok(mounts) = std::fs::read_to_string("/proc/self/mounts") else { return };
        let place = shm.join(format!("groma-benches-major-{}", std::process::id()));
        if !mounts.contains(" /dev/shm tmpfs ") || std::fs::create_dir(&place).is_err() {
            return;
        }
        let tried = try_out(&BENCH, &[], Some(&place)).map(|_| ());
        std::fs::remove_dir(&place).expect("nothing is left behind");
        assert!(matches!(tried, Err(BenchError::Unsupported(_))), "{tried:?}");
    }
}
