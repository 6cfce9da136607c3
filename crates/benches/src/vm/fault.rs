//! One page fault that needs no disk, by kind.
//!
//! **Measures:** The first touch of a page: the exception, the kernel's search for the mapping, the
//! page that it finds or makes, and the return.
//! - `anon_write`: the first write to fresh memory gets a zeroed page.
//! - `zero_page`: the first read gets the shared page of zeroes.
//! - `after_zero`: the first write to a page that was read before, a zeroed page instead of the
//!   shared one.
//! - `file_minor`: the first read of a page of a file that is in the page cache.
//! - `file_cow`: the first private write to such a page, hence a copy.
//! - `file_shared`: the first shared write to it, of which the file system is notified.
//! - `file_around`: what a program pays per page when it reads through an ordinary mapping of a
//!   file, where most touches are no fault at all.
//! - `secret`: the first write to memory that only its process can reach (`memfd_secret`). The
//!   kernel takes the page out of its own map of memory, which all CPUs have to learn.
//!
//! **Does not measure:** `mmap` and `munmap` (`vm.map`), pages shared with a child (`vm.cow`),
//! faults that read from a disk (`vm.fault_major`), or huge pages (`vm.fault_huge`).
//!
//! **Method:** The mapping is made once and touched page by page, over as many intervals as it
//! lasts. Then its pages are given back (`MADV_DONTNEED`), untimed, so that each touch faults
//! again. Huge pages are refused, so each fault brings one base page. All pages are touched once
//! before anything is timed, so that the host of a virtual machine has backed them; the time of
//! that first pass is a fact.
//!
//! Several threads at once (`-P 4 --threads`) fault in mappings of their own (`object=private`,
//! kept apart by inaccessible pages, or the kernel would merge them), or each in its part of one
//! mapping (`object=shared`). The two show what the locks of a process's memory and of one mapping
//! cost. With one member they are the same.
//!
//! **Calls:**
//! - `kind=file_minor`: `MAP_FIXED`, not `PROT_WRITE, MAP_PRIVATE|MAP_FIXED,`
//! - `kind=file_cow`: `PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_FIXED,`, not `MAP_SHARED|MAP_FIXED`
//! - `kind=file_shared`: `PROT_READ|PROT_WRITE, MAP_SHARED|MAP_FIXED`
//! - no trace of `kind`: pages are read or written to
//! - no trace of `object`: it applies to files, which the default kind does not use
//!
//! **Proofs:** Every touch is a fault and no fault waits for a disk, as the kernel counts them
//! within the timed stretches. For `file_around` the ratio is a fact. Another call of the kernel
//! cannot read memory that is `secret`.
//!
//! **Pitfalls:**
//! - A fault on an ordinary file mapping brings 16 pages or a large folio. lmbench divides by all
//!   pages and prints 0.15 us "per fault" where one costs ten times that. So every page of a file
//!   here is a mapping of its own, next to pages from elsewhere in the file.
//! - Memory that the host never backed takes milliseconds.
//! - With transparent huge pages, 512 touches are one fault.
//! - The pages that come back are those given back, so they may be warm in the cache. The area of
//!   16 MiB limits that, however short the intervals are; with 1 MiB a fault took a third less
//!   (2-vCPU KVM guest).
//! - `secret` splits the huge pages of the kernel's own map, most of which stay split until the
//!   next start: hence it runs by name only (`--param kind=secret`).
//!
//! **Sources:** lmbench3 `lat_pagefault`; CSE 221 "page fault service time" (its repeated runs,
//! 1446 ns, are soft faults). See docs/methods/operating-system.md#page-faults.

use super::walk::{AREA, Faults, Walk, read_each, write_each};
use crate::parts::{self, Composition, Shown};
use crate::scratch::Scratch;
use groma_harness::Rng;
use groma_harness::check_memory;
use groma_harness::prelude::*;
use groma_harness::sys::counters::Usage;
use groma_harness::sys::file_pages::{Access, FilePages};
use groma_harness::sys::pages::{Map, Part, page_size};
use groma_harness::sys::{other_memory, secret};
use std::ops::DerefMut;
use std::sync::Mutex;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Page fault that needs no disk, by kind",
        about: about!("fault.rs"),
        iteration: "one touch of a page that is not mapped (after_zero: not writable)",
        params: &[
            Param::word(
                "kind",
                "fresh memory written, read, or written after it was read; a cached file read, copied, written, \
                       or read through in order; memory that the kernel itself cannot reach",
                &[
                    "anon_write",
                    "zero_page",
                    "after_zero",
                    "file_minor",
                    "file_cow",
                    "file_shared",
                    "file_around",
                    "secret",
                ],
            )
            .quick(&["anon_write"])
            .standard(&["zero_page", "file_minor", "file_shared"])
            .named(&["secret"]),
            Param::word(
                "object",
                "anonymous memory of threads: a mapping for each, or a part of one",
                &["private", "shared"],
            )
            .quick(&["private"])
            .named(&["shared"]),
        ],
        composed_of: COMPOSED_OF,
        interference: Interference::Faults,
        target_half_width: 0.02,
        needs: &[Need::WorkDirFor { param: "kind", values: FILE_KINDS }],
        files: |params| {
            let is_file = params.word("kind").is_some_and(|kind| FILE_KINDS.contains(&kind));
            if is_file { (2 * FILE_PAGES * page_size()) as u64 } else { 0 }
        },
        ..Info::new("vm.fault")
    },
    run: Run::Here(run),
};

const COMPOSED_OF: &[Composition] = &[Composition {
    of: Shown::of("vm.fault", &[("kind", "anon_write"), ("object", "private")]),
    hardware: &[parts::ZEROES],
    parts: &[parts::FAULTED, parts::ZEROES],
    rest: "a free page taken, charged and entered in the kernel's lists; pages of 4 KiB are assumed",
}];

/// The kinds that fault in pages of a file in the work directory.
const FILE_KINDS: &[&str] = &["file_minor", "file_cow", "file_shared", "file_around"];

/// Pages of a file, each mapped by itself; a process may have 65530 mappings.
const FILE_PAGES: usize = 1024;
/// Pages of secret memory: the least that many intervals fit in, because each splits a huge page of
/// the kernel's map at worst. An ordinary user may lock 8 MiB by default.
const SECRET_PAGES: usize = 512;
/// The most memory that all members together touch, in bytes.
const TOTAL: usize = 1 << 30;

fn run(ctx: &mut Ctx) -> Outcome {
    sys::process::refuse_huge_pages();
    match ctx.word("kind") {
        "anon_write" => anonymous(ctx, |_| (), |pages| write_each(pages, 1)),
        "zero_page" => anonymous(ctx, |_| (), |pages| read_each(pages)),
        "after_zero" => anonymous(ctx, read_each, |pages| write_each(pages, 1)),
        "file_minor" => file(ctx, Access::Read, |pages| read_each(pages)),
        "file_cow" => file(ctx, Access::Private, |pages| write_each(pages, 1)),
        "file_shared" => file(ctx, Access::Shared, |pages| write_each(pages, 1)),
        "secret" => unreachable_by_others(ctx),
        _ => file_around(ctx),
    }
}

/// Measures touching the pages of an area again and again; `ready` makes them fault.
fn measure<T: DerefMut<Target = [u8]>>(
    ctx: &mut Ctx,
    area: &mut T,
    mut ready: impl FnMut(&mut T) -> Outcome,
    touch: impl Fn(&mut [u8]),
) -> Result<(Faults, Walk), BenchError> {
    ready(area)?;
    let mut walk = Walk::through(area);
    let mut faults = Faults::default();
    let most = walk.most();
    let body = Variant::staged("", |iters, watch| {
        let range = walk.on_or(iters, || ready(area))?;
        let pages = &mut area[range];
        faults.time(watch, || touch(pages));
        Ok(())
    });
    ctx.measure_variants(&mut [body.max_iters(most)])?;
    Ok((faults, walk))
}

fn anonymous(ctx: &mut Ctx, prepare: impl Fn(&[u8]), touch: impl Fn(&mut [u8])) -> Outcome {
    let mut area = memory(ctx)?;
    let before = ctx.now_ns();
    write_each(&mut area, 1);
    let first_ns = ctx.now_ns().saturating_sub(before) / (area.len() / page_size()) as u64;
    ctx.fact("first_pass.ns_per_page", first_ns);
    let (mut prepared, mut laps) = (Faults::default(), 0u64);
    let pages = (area.len() / page_size()) as u64;
    let ready = |area: &mut Part| {
        area.drop_pages().context("giving the pages back")?;
        let before = Usage::thread();
        prepare(area);
        prepared.add(&Usage::thread().since(&before));
        laps += 1;
        Ok(())
    };
    let (faults, walk) = measure(ctx, &mut area, ready, touch)?;
    faults.prove_each_minor(ctx, ctx.iterations());
    if ctx.word("kind") == "after_zero" {
        let each = prepared.per_touch(laps * pages);
        ctx.prove("minor faults of the reads before, per page", "0.98..1.02", each, 0.98..=1.02);
    }
    // Written pages get memory of their own; pages that are only read get the shared page of
    // zeroes.
    if ctx.workers() == 1 {
        let Some(own) = area.smaps_bytes("Anonymous") else {
            ctx.note("/proc/self/smaps does not tell whose the pages are");
            return Ok(());
        };
        let written = if ctx.word("kind") == "zero_page" { 0 } else { walk.gone_through() };
        let expected = format!("{written}");
        let own = own / page_size() as u64;
        ctx.prove("pages of its own that the memory has", &expected, own as f64, written as f64..=written as f64);
    }
    Ok(())
}

/// Parts of one mapping that no thread of the worker group has taken yet.
static PARTS: Mutex<Vec<Part>> = Mutex::new(Vec::new());

/// This member's memory: a mapping of its own, or its part of the one that all threads share.
fn memory(ctx: &Ctx) -> Result<Part, BenchError> {
    let members = ctx.workers() as usize;
    let bytes = AREA.min(TOTAL / members);
    check_memory((bytes * members) as u64)?;
    let parts = |n| Map::guarded(bytes * n).context("mapping memory").map(|map| map.split(n));
    let own = |part: Option<Part>| part.ok_or_else(|| BenchError::Failed("no part of the memory is left".to_owned()));
    if ctx.word("object") == "private" || members == 1 {
        return own(parts(1)?.pop());
    }
    if sys::thread::count() == 1 {
        return Err(BenchError::Unsupported("processes have no mapping in common: only with --threads".to_owned()));
    }
    let mut left = PARTS.lock().map_err(|_| BenchError::Failed("another thread panicked".to_owned()))?;
    // The first member maps for all. Each takes one part, so none is left.
    if left.is_empty() {
        *left = parts(members)?;
    }
    own(left.pop())
}

/// A cached file of which every other page is mapped, in random order, so that no mapping continues
/// its neighbour.
fn file(ctx: &mut Ctx, access: Access, touch: impl Fn(&mut [u8])) -> Outcome {
    only_private(ctx)?;
    let scratch = Scratch::new(ctx)?;
    let file = scratch.random_file((2 * FILE_PAGES * page_size()) as u64, ctx)?;
    let numbers = every_other(FILE_PAGES as u64, ctx.rng());
    let mut area = FilePages::map(&file, &numbers, access).context("mapping the pages of the file")?;
    touch(&mut area);
    check_touched(&area, access)?;
    let ready = |area: &mut FilePages| area.drop_pages().context("giving the pages back");
    measure(ctx, &mut area, ready, touch)?.0.prove_each_minor(ctx, ctx.iterations());
    Ok(())
}

/// The numbers of every other page of a file, in random order.
fn every_other(pages: u64, rng: &mut Rng) -> Vec<u64> {
    let mut numbers: Vec<u64> = (0..pages).map(|n| 2 * n).collect();
    rng.shuffle(&mut numbers);
    numbers
}

/// Fails unless the pages were written to where they may be, and only read elsewhere.
fn check_touched(area: &[u8], access: Access) -> Outcome {
    let written = area.iter().step_by(page_size()).filter(|byte| **byte == 1).count();
    let pages = area.len() / page_size();
    // Of random bytes one in 256 is the same.
    let as_expected = if access == Access::Read { written < pages } else { written == pages };
    if as_expected { Ok(()) } else { Err(BenchError::Failed(format!("{written} of {pages} pages were written to"))) }
}

/// A cached file, mapped as programs do it and read in order.
fn file_around(ctx: &mut Ctx) -> Outcome {
    only_private(ctx)?;
    let scratch = Scratch::new(ctx)?;
    let len = 2 * FILE_PAGES * page_size();
    let file = scratch.random_file(len as u64, ctx)?;
    let mut area = Map::file(&file, len, false).context("mapping the file")?;
    let ready = |area: &mut Map| area.drop_pages().context("giving the pages back");
    let (faults, _) = measure(ctx, &mut area, ready, |pages| read_each(pages))?;
    let per_touch = faults.per_touch(ctx.iterations());
    ctx.fact("faults_per_touch", format!("{per_touch:.4}"));
    ctx.prove("minor faults", "1 or more", faults.minor as f64, 1.0..);
    faults.prove_none_major(ctx);
    Ok(())
}

/// Memory that the kernel cannot reach. Its pages cannot be given back, so each lap has new memory.
fn unreachable_by_others(ctx: &mut Ctx) -> Outcome {
    only_private(ctx)?;
    let new = || -> Result<Map, BenchError> {
        let file = secret::file((SECRET_PAGES * page_size()) as u64)
            .map_err(|e| BenchError::Unsupported(format!("memory that the kernel cannot reach: {e}")))?;
        Map::file(&file, SECRET_PAGES * page_size(), true)
            .map_err(|e| BenchError::Denied(format!("locking memory (ulimit -l): {e}")))
    };
    let mut area = new()?;
    let ready = |area: &mut Map| {
        *area = new()?;
        Ok(())
    };
    let (faults, _) = measure(ctx, &mut area, ready, |pages| write_each(pages, 1))?;
    faults.prove_each_minor(ctx, ctx.iterations());
    // The same call reads ordinary memory, unless it is forbidden altogether.
    let (own, mut seen) = (std::process::id() as i32, [0]);
    let ordinary = [7u8];
    if other_memory::read(own, ordinary.as_ptr() as usize, &mut seen) == 1 {
        area[0] = 1;
        let read = other_memory::read(own, area.as_ptr() as usize, &mut seen).max(0);
        ctx.prove("bytes of it that process_vm_readv reads", "0", read as f64, 0.0..=0.0);
    } else {
        ctx.note("process_vm_readv is forbidden here, so it does not show that the memory is secret");
    }
    Ok(())
}

/// Each member maps its own files.
fn only_private(ctx: &Ctx) -> Outcome {
    if ctx.word("object") == "private" {
        return Ok(());
    }
    Err(BenchError::Unsupported("only anonymous memory is shared (object=private for files)".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::testing::Place;
    use groma_harness::model::WorkerKind;
    use groma_harness::sys::fork;
    use groma_harness::testing::{try_failing, try_group, try_out};

    #[test]
    fn no_mapping_of_a_page_continues_its_neighbour() {
        let mut numbers = every_other(100, &mut Rng::new(7));
        let rising = numbers.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!((25..75).contains(&rising), "{rising} of 100 follow the one before");
        numbers.sort_unstable();
        assert_eq!(numbers, (0..100).map(|n| 2 * n).collect::<Vec<u64>>());
    }

    #[test]
    fn what_may_be_written_to_is() {
        let mut pages = vec![1; 3 * page_size()];
        let outcomes =
            |pages: &[u8]| [Access::Read, Access::Private, Access::Shared].map(|a| check_touched(pages, a).is_ok());
        assert_eq!(outcomes(&pages), [false, true, true]);
        pages[page_size()] = 7;
        assert_eq!(outcomes(&pages), [true, false, false]);
    }

    /// A page that the host of a virtual machine has not backed takes many times as long.
    #[test]
    fn all_pages_are_touched_before_anything_is_timed() {
        let tried = try_failing(&BENCH, &[("kind", "zero_page")], None).expect("memory");
        let each: u64 = tried.result.fact("first_pass.ns_per_page").expect("stated").parse().expect("a number");
        // No fault takes less.
        assert!(each > 0);
    }

    #[test]
    fn an_ordinary_file_mapping_has_fewer_faults_than_touches() {
        let place = Place::new();
        let tried = try_out(&BENCH, &[("kind", "file_around")], Some(place.path())).expect("memory");
        let fact = tried.result.output.facts.iter().find(|f| f.key == "faults_per_touch").expect("stated");
        let ratio: f64 = fact.value.parse().expect("a number");
        assert!(ratio > 0.0 && ratio < 1.02, "{ratio}");
        assert!(tried.proven("minor faults") <= tried.iterations as f64 * 1.02);
    }

    #[test]
    fn secret_memory_is_read_by_nobody_else() {
        match try_out(&BENCH, &[("kind", "secret")], None) {
            Err(BenchError::Unsupported(why) | BenchError::Denied(why)) => println!("no secret memory here: {why}"),
            tried => {
                let tried = tried.expect("memory");
                assert_eq!(tried.proven("bytes of it that process_vm_readv reads"), 0.0);
            }
        }
    }

    #[test]
    fn threads_fault_in_one_mapping_or_in_their_own() {
        for object in ["private", "shared"] {
            let chosen = [("kind", "anon_write"), ("object", object)];
            let tried = try_group(&BENCH, &chosen, None, 2, WorkerKind::Threads).expect("memory");
            assert!(tried.proven("minor faults per touch") > 0.98, "{object}");
            assert!(PARTS.lock().expect("nobody panicked").is_empty());
        }
    }

    #[test]
    fn processes_share_no_mapping_and_files_none_at_all() {
        let why = try_out(&BENCH, &[("kind", "file_cow"), ("object", "shared")], None).map(|_| ());
        assert!(matches!(why, Err(BenchError::Unsupported(_))), "{why:?}");
        // In a process with one thread, like a worker.
        let child = fork::fork(|| {
            let why = try_group(&BENCH, &[("object", "shared")], None, 2, WorkerKind::Processes).map(|_| ());
            i32::from(!matches!(why, Err(BenchError::Unsupported(_))))
        });
        assert_eq!(child.expect("fork").wait().expect("wait").code(), Some(0));
    }
}
