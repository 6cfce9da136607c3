//! Reading a cached file again, through a mapping.
//!
//! **Measures:** How fast the program adds up the bytes of the file in a shared mapping:
//! - `mapped`: all pages are present.
//! - `open_close`: the file is opened, mapped and closed, read by faults, and unmapped.
//! - `populate`: the same, but `MAP_POPULATE` maps all pages in advance instead of faults.
//!
//! **Does not measure:** A disk. `vm.fault` measures one fault.
//!
//! **Method:** An iteration is one block of 64 KiB, of a smaller file as many passes as make that
//! many bytes, or the whole file where that is opened. Every sum has to be that of the block when
//! it was written. The file and its proofs are those of `file.reread`. Whether the pages of a
//! mapping came by faults is proven by the kernel's count of faults.
//!
//! **Calls:**
//! - `mode=populate size=1M`: `MAP_SHARED|MAP_POPULATE`
//!
//! **Pitfalls:**
//! - A fault brings up to 16 pages or a large folio, so a kernel with these takes few faults for
//!   many pages.
//! - `MAP_POPULATE` fills private writable mappings with copies.
//! - With large sizes, a virtual machine has as much of the last-level cache as its neighbours
//!   leave.
//!
//! **Sources:** lmbench 1996 table 5 (mmap); lmbench3 `bw_mmap_rd` (`mmap_only`, `open2close`). See
//! docs/methods/operating-system.md#cached-reads.

use super::cached::{BLOCK, Cached, SIZE, same, sum};
use super::{OBJECT, WHERE};
use crate::work::{self, Done};
use groma_harness::prelude::*;
use groma_harness::sys::counters::Usage;
use groma_harness::sys::pages::{Map, page_size};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Reading a cached file again, in a mapping",
        about: about!("mmap_reread.rs"),
        quantity: Quantity::Bandwidth,
        iteration: "64 KiB: one block, or a smaller file again and again (open_close, populate: the whole file)",
        params: &[
            Param::word(
                "mode",
                "through an existing mapping, or opened, mapped (by faults or populated), summed and closed",
                &["mapped", "open_close", "populate"],
            )
            .quick(&["mapped"])
            .standard(&["open_close"]),
            SIZE,
            WHERE,
            OBJECT,
        ],
        needs: &[Need::WorkDir],
        interference: Interference::Faults,
        target_half_width: 0.03,
        tier: Tier::Standard,
        ..Info::new("file.mmap_reread")
    },
    run: Run::Here(run),
};

/// The name of the proof.
const READ: &str = "bytes read per byte credited";

fn run(ctx: &mut Ctx) -> Outcome {
    let mode = ctx.word("mode");
    // A smaller file is one block.
    let block = BLOCK.min(ctx.int("size") as usize);
    let cached = Cached::of_blocks(ctx, mode != "mapped", block)?;
    let size = cached.map.len();
    let pages = size.div_ceil(page_size()) as f64;
    let done = Done::new();
    if mode == "mapped" {
        let mut blocks = cached.map.chunks_exact(block).zip(&cached.sums).cycle();
        // An iteration of a few hundred bytes would be shorter than the floor for benchmarks that
        // fault (docs/methods/timing.md#evidence-floors).
        let passes = BLOCK.div_ceil(block);
        let bytes = (passes * block) as u64;
        let before = Usage::thread();
        ctx.measure_per(bytes as f64, |iters| {
            for (bytes, written) in blocks.by_ref().take(iters as usize * passes) {
                same(sum(bytes), *written)?;
                done.add(block as u64);
            }
            Ok(())
        })?;
        let faults = Usage::thread().since(&before).minor_faults as f64 / ctx.iterations() as f64;
        work::once_each(ctx, READ, done.count(), ctx.iterations() * bytes);
        // These are the harness's own faults.
        ctx.prove("minor faults in an iteration", "less than 0.5", faults, 0.0..0.5);
    } else {
        let map = || Map::file_read(&cached.reopen()?, size, mode == "populate").context("mapping the file");
        let read = |map: &Map| {
            map.chunks_exact(block).zip(&cached.sums).try_for_each(|(bytes, written)| {
                done.add(block as u64);
                same(sum(bytes), *written)
            })
        };
        // The kernel also counts the pages that it maps in advance as faults; the program then
        // takes none.
        let once = map()?;
        let before = Usage::thread();
        read(&once)?;
        let faults = Usage::thread().since(&before).minor_faults as f64;
        drop(once);
        let once = done.count();
        if mode == "populate" {
            ctx.prove("minor faults while all is read", "1 % of the pages or less", faults, 0.0..=pages / 100.0);
        } else {
            ctx.prove("minor faults while all is read", "1 or more, at most one a page", faults, 1.0..=pages);
        }
        ctx.measure_per(size as f64, |iters| (0..iters).try_for_each(|_| read(&map()?)))?;
        work::once_each(ctx, READ, done.count() - once, ctx.iterations() * size as u64);
    }
    cached.prove(ctx)
}
