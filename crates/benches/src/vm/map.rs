//! Mapping memory and unmapping it.
//!
//! **Measures:** The pair of `mmap` and `munmap`, and each of them alone.
//! - `touch=all` touches a byte of each page in between (files are read, other memory is written).
//!   The pair then includes that, and `munmap` has pages to give back.
//! - `touch=populate` has the kernel make all pages present within `mmap`.
//! - `touch=tenth` stores a byte every 16 KiB of the first tenth, as lmbench's `lat_mmap` does;
//!   into a file, too.
//! - `anon` is private memory, `shmem` a file that exists in memory only, `file` a file in the work
//!   directory (both are mapped shared), `hugetlb` reserved huge pages.
//!
//! **Does not measure:** The faults by themselves (`vm.fault`).
//!
//! **Method:** Both calls are made by number, again and again, in short intervals. For `map` and
//! `unmap` the stopwatch runs during that call only; the sampler takes off what reading the clock
//! adds (docs/methods/timing.md#overhead-and-controls).
//!
//! **Calls:**
//! - `size=64K backing=anon touch=none`: `mmap(NULL, 65536, ..MAP_PRIVATE|MAP_ANONYMOUS, -1`, not
//!   `MAP_POPULATE`
//! - `size=64K backing=file touch=populate`: `MAP_SHARED|MAP_POPULATE`
//! - `size=64K backing=shmem touch=none`: `MAP_SHARED,`, not `MAP_POPULATE`
//! - timed `size=64K backing=anon touch=none`: `clock mmap clock`; mmap is timed alone
//! - timed `size=64K backing=anon touch=none`: `clock munmap clock`; munmap is timed alone
//! - timed `size=1M backing=anon touch=all`: `mmap page_faults clock munmap clock`; touches are not
//!   timed
//! - `size=1M backing=file touch=tenth`: `MAP_SHARED,`, not `MAP_POPULATE`
//!
//! **Proofs:** The answer of each call, which a child cut off from the kernel does not get; the
//! faults that the kernel counts (none without a touch, one per page of private memory with it);
//! what the last stores of `tenth` left in a file; and a last mapping, made in the same way, that
//! `/proc/self/maps` shows as its own and that has all its pages resident until it is unmapped.
//!
//! **Pitfalls:**
//! - lmbench's `lat_mmap` writes into the user's file and prints one total, which is the main value
//!   of `backing=file touch=tenth`. Here the file is a scratch file.
//! - The kernel merges anonymous memory with neighbouring anonymous memory, which is another
//!   operation: such neighbours are fenced off first.
//! - Threads that map at the same time are each other's neighbours.
//!
//! **Sources:** lmbench3 `lat_mmap`. See docs/methods/operating-system.md#mappings.

use super::walk::Faults;
use crate::entry;
use crate::scratch::Scratch;
use crate::work::Done;
use groma_harness::model::Params;
use groma_harness::prelude::*;
use groma_harness::sys::mapping::{Backing, Mapping, memory_file, permissions};
use groma_harness::sys::pages::{huge_page_size, page_size};
use std::cell::{Cell, RefCell};
use std::os::fd::AsFd;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Mapping memory and unmapping it",
        about: about!("map.rs"),
        iteration: "one mmap, any touches, one munmap",
        outputs: &[Output::MAIN, Output::named("map", "Mapping memory"), Output::named("unmap", "Unmapping memory")],
        params: &[
            Param::size("size", "bytes mapped")
                .takes(Memory::PerMember(1))
                .quick(&["64K"])
                .standard(&["1M"])
                .full(&["4K", "16M", "1G"]),
            Param::word(
                "backing",
                "private memory, a file in memory, a file, or reserved huge pages",
                &["anon", "shmem", "file", "hugetlb"],
            )
            .quick(&["anon"])
            .standard(&["file"]),
            Param::word(
                "touch",
                "between the two calls: nothing, a touch of each page, all pages populated by mmap, or \
                 a store every 16 KiB of the first tenth",
                &["none", "all", "populate", "tenth"],
            )
            .quick(&["none"])
            .standard(&["all"]),
        ],
        combination_tier,
        interference: Interference::Faults,
        target_half_width: 0.02,
        needs: &[Need::WorkDirFor { param: "backing", values: &["file"] }],
        files,
        // 2: what reading the clock adds is taken off by the sampler, and its control is gone.
        version: 2,
        ..Info::new("vm.map")
    },
    run: Run::Here(run),
};

/// Without `--full`: 64 KiB of private memory, untouched and touched, and a file as lmbench maps it
/// (1 MiB, touched).
fn combination_tier(params: &Params) -> Tier {
    match (params.word("backing"), params.int("size"), params.word("touch")) {
        (Some("file"), Some(0x10_0000), Some("all")) => Tier::Quick,
        (Some("file"), ..) => Tier::Full,
        (_, Some(0x1_0000), _) => Tier::Quick,
        _ => Tier::Full,
    }
}

/// A file that is read is written first; the others are holes, of which stores fill a part.
fn files(params: &Params) -> u64 {
    let size = params.int("size").unwrap_or(0);
    match (params.word("backing"), params.word("touch")) {
        (Some("file"), Some("all" | "populate")) => size,
        (Some("file"), Some("tenth")) => size / TENTH as u64,
        _ => 0,
    }
}

/// Of `touch=tenth`: the share that is stored into, and the bytes between two stores (lmbench's
/// `lat_mmap`).
const TENTH: usize = 10;
const STEP: usize = 16 << 10;

/// Where `touch=tenth` stores: no page twice.
fn stores(size: usize, page: usize) -> impl ExactSizeIterator<Item = usize> {
    (0..size / TENTH).step_by(STEP.max(page))
}

/// The most memory that is touched. 4 MiB take 1.1 ms, and a round has four loops that do it some
/// hundred times; with 16 MiB a round took 7 s on a 2-vCPU KVM guest, and more on a busy machine.
const MAX_TOUCHED_BYTES: usize = 4 << 20;
/// The most neighbours that are fenced off.
const FENCES: usize = 16;

#[expect(clippy::too_many_lines, reason = "one mapping timed in three ways: the loops differ in where the watch runs")]
fn run(ctx: &mut Ctx) -> Outcome {
    sys::process::refuse_huge_pages();
    let (size, kind, touch) = (ctx.int("size") as usize, ctx.word("backing"), ctx.word("touch"));
    let page = match kind {
        "hugetlb" => huge_page_size().ok_or_else(|| BenchError::Unsupported("no huge pages here".to_owned()))?,
        _ => page_size(),
    };
    if !size.is_multiple_of(page) {
        return Err(BenchError::Unsupported(format!("{size} bytes are not a multiple of the page size, {page}")));
    }
    let touched = if touch == "tenth" { stores(size, page).len() * page } else { size };
    if touch != "none" && touched > MAX_TOUCHED_BYTES {
        return Err(BenchError::Unsupported(format!("no more than {} MiB are touched", MAX_TOUCHED_BYTES >> 20)));
    }
    let scratch;
    let file;
    let backing = match kind {
        "anon" => Backing::Anonymous,
        "hugetlb" => Backing::Reserved,
        kind => {
            if kind == "shmem" {
                file = memory_file(size as u64).context("making a file in memory")?;
            } else {
                scratch = Scratch::new(ctx)?;
                // A file that is not read need not be written.
                let is_read = matches!(touch, "all" | "populate");
                file = scratch.random_file(if is_read { size as u64 } else { 0 }, ctx)?;
                file.set_len(size as u64).context("sizing the file")?;
            }
            Backing::File(file.as_fd())
        }
    };
    let map = || Mapping::new(size, backing, touch == "populate").context("mmap");
    // The sum of the touched bytes of a file.
    let seen = Cell::new(0u64);
    // What the last stores of a tenth wrote.
    let stored = Cell::new(0u8);
    let touch_pages = |map: &mut Mapping<'_>| match touch {
        "all" => touch_each(map, page, kind, &seen),
        "tenth" => {
            stored.set(stored.get().wrapping_add(1));
            stores(size, page).for_each(|at| map[at] = stored.get());
        }
        _ => {}
    };
    // A first attempt, which fails where the machine does not have that much memory.
    let mut probe = map().map_err(|why| match (&why, kind) {
        (BenchError::Failed(why), "hugetlb") => BenchError::Unsupported(format!("{why} (are huge pages reserved?)")),
        _ => why,
    })?;
    let mut fences = Vec::new();
    while permissions(&probe).is_none() && fences.len() < FENCES {
        fences.push(probe.into_fence().context("fencing off a neighbour")?);
        probe = map()?;
    }
    // The first stores into a hole make its blocks, and wait for the disk.
    if touch == "tenth" {
        touch_pages(&mut probe);
    }
    drop(probe);

    let pages = if touch == "none" { 1 } else { (touched / page) as u64 };
    let faults = RefCell::new(Faults::default());
    let turns = [(); 3].map(|()| Done::new());
    let [done, done_map, done_unmap] = &turns;
    let whole = |iters| {
        for _ in 0..iters {
            let mut map = map()?;
            touch_pages(&mut map);
            map.unmap().context("munmap")?;
            done.add(1);
        }
        Ok(())
    };
    ctx.measure_variants(&mut [
        Variant::staged("", |iters, watch| faults.borrow_mut().time(watch, || whole(iters))),
        Variant::staged("map", |iters, watch| {
            faults.borrow_mut().during(|| {
                for _ in 0..iters {
                    watch.start();
                    let mapped = map();
                    watch.stop();
                    let mut mapped = mapped?;
                    touch_pages(&mut mapped);
                    mapped.unmap().context("munmap")?;
                    done_map.add(1);
                }
                Ok(())
            })
        }),
        Variant::staged("unmap", |iters, watch| {
            faults.borrow_mut().during(|| {
                for _ in 0..iters {
                    let mut map = map()?;
                    touch_pages(&mut map);
                    watch.start();
                    let unmapped = map.unmap();
                    watch.stop();
                    unmapped.context("munmap")?;
                    done_unmap.add(1);
                }
                Ok(())
            })
        }),
    ])?;
    ctx.fact("fences", fences.len());
    for (name, done) in ["", "map", "unmap"].into_iter().zip(&turns) {
        let what =
            format!("mappings made and removed per one credited{}{name}", if name.is_empty() { "" } else { ", " });
        done.prove_of(ctx, name, &what);
    }
    let touches = ctx.iterations() * pages;
    prove_faults(ctx, &faults.into_inner(), touches);
    if let (Backing::File(_), "file", "all") = (backing, kind, touch) {
        let of_one = map()?.iter().step_by(page).map(|byte| u64::from(*byte)).sum::<u64>();
        let mapped: u64 = turns.iter().map(Done::count).sum();
        let same = f64::from(u8::from(seen.get() == mapped.wrapping_mul(of_one)));
        ctx.prove("the bytes touched add up to one of each page, every time", "1", same, 1.0..=1.0);
    }
    if let (Backing::File(_), "tenth") = (backing, touch) {
        let (last, left) = (stored.get(), map()?);
        let arrived = stores(size, page).filter(|at| left[*at] == last).count() as f64;
        let all = stores(size, page).len();
        ctx.prove("bytes of the last stores in the file", &all.to_string(), arrived, all as f64..=all as f64);
    }
    prove_one(ctx, map()?, touch_pages, touched)?;
    entry::asks_the_kernel(ctx, whole);
    Ok(())
}

/// Touches a byte of each page: of a file it is read and added to what was seen before, other
/// memory is written to.
#[inline]
fn touch_each(memory: &mut [u8], page: usize, kind: &str, seen: &Cell<u64>) {
    for at in (0..memory.len()).step_by(page) {
        if kind == "file" {
            seen.set(seen.get().wrapping_add(u64::from(memory[at])));
        } else {
            memory[at] = 1;
        }
    }
}

/// Proves as many faults as the touches must bring; one fault on a file brings several pages.
fn prove_faults(ctx: &mut Ctx, faults: &Faults, touches: u64) {
    match (ctx.word("touch"), ctx.word("backing")) {
        ("none", _) => faults.prove_none(ctx, touches),
        ("all" | "tenth", "anon" | "hugetlb") => faults.prove_each_minor(ctx, touches),
        // A fault on a file brings several pages, and kernels differ in whether they count the
        // pages that they populate themselves.
        (touch, _) => {
            ctx.fact("faults_per_page", format!("{:.4}", faults.per_touch(touches)));
            let least = if touch == "populate" { 0.0 } else { 1.0 };
            ctx.prove("minor faults", "1 or more (populate: any)", faults.minor as f64, least..);
            faults.prove_none_major(ctx);
        }
    }
}

/// Proves that a last mapping, made like all the others, has the requested properties.
fn prove_one(ctx: &mut Ctx, mut map: Mapping<'_>, touch: impl Fn(&mut Mapping<'_>), touched: usize) -> Outcome {
    touch(&mut map);
    if ctx.word("touch") != "none" {
        let (resident, pages) = (map.resident_pages().context("mincore")? as f64, (touched / page_size()) as f64);
        // The kernel reads ahead, in a hole too.
        if ctx.word("touch") == "tenth" {
            ctx.prove("resident pages, at least those touched", &pages.to_string(), resident, pages..);
        } else {
            ctx.prove("resident pages of those touched", &pages.to_string(), resident, pages..=pages);
        }
    }
    // Members of a worker group that are threads may be neighbours.
    match permissions(&map) {
        Some(seen) => {
            let writable = f64::from(u8::from(seen.starts_with("rw-")));
            ctx.prove("the mapping as /proc/self/maps shows it is writable", "1", writable, 1.0..=1.0);
        }
        None => ctx.note("/proc/self/maps does not show the mapping by itself"),
    }
    map.unmap().context("munmap")
}

#[cfg(test)]
mod tests {
    use super::*;

    use groma_harness::testing::{assert_exceeds, try_failing, try_out};

    #[test]
    fn only_files_are_not_written_to() {
        for kind in ["anon", "shmem", "file", "hugetlb"] {
            let (mut memory, seen) = ([3, 4, 5, 6, 7, 8, 9], Cell::new(10));
            touch_each(&mut memory, 3, kind, &seen);
            let expected = if kind == "file" { ([3, 4, 5, 6, 7, 8, 9], 28) } else { ([1, 4, 5, 1, 7, 8, 1], 10) };
            assert_eq!((memory, seen.get()), expected, "{kind}");
        }
    }

    /// Making a mapping is the same work whatever is touched later; its end gives 256 pages back.
    #[test]
    fn pages_that_were_touched_are_given_back_by_the_unmapping() {
        assert_exceeds(2.0, || {
            let tried = try_failing(&BENCH, &[("size", "1M"), ("touch", "all")], None).expect("memory");
            tried.least_ns("unmap") / tried.least_ns("map")
        });
    }

    /// As many as lmbench's `lat_mmap` stores, of the smallest size that it takes to 64 MiB.
    #[test]
    fn a_tenth_has_the_stores_of_lmbench() {
        assert_eq!([320 << 10, 1 << 20, 64 << 20].map(|size| stores(size, 4096).len()), [2, 7, 410]);
        assert_eq!(stores(1 << 20, 64 << 10).collect::<Vec<_>>(), [0, 64 << 10]);
    }

    #[test]
    fn what_cannot_be_mapped_is_said() {
        for (size, backing, touch) in [("100", "anon", "none"), ("1G", "anon", "all"), ("4K", "hugetlb", "none")] {
            let tried = try_out(&BENCH, &[("size", size), ("backing", backing), ("touch", touch)], None).map(|_| ());
            assert!(matches!(tried, Err(BenchError::Unsupported(_))), "{size} {backing}: {tried:?}");
        }
    }

    #[test]
    fn a_standard_run_takes_three_points() {
        let points = BENCH.info.points(Tier::Standard);
        let texts: Vec<String> = points.iter().map(Params::to_string).collect();
        let expected = ["size=65536 backing=anon touch=none", "size=65536 backing=anon touch=all"];
        assert_eq!(texts[..2], expected);
        assert_eq!(texts[2..], ["size=1048576 backing=file touch=all"]);
    }
}
