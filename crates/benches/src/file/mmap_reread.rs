//! Reading a file again that the kernel still holds in memory, where it lies.
//!
//! Measures how fast the program adds up the bytes of the file in a shared mapping of it. `mapped`: all pages are
//! present. `open_close`: the file is opened, mapped and closed, read by faults, and unmapped. `populate`: the same
//! with all pages mapped in advance by `MAP_POPULATE` instead of by faults. Does not measure a disk; what one fault
//! costs is `vm.fault`.
//!
//! Method: an iteration is one block of 64 KiB, or the whole file where that is opened. Every sum has to be that of the
//! block when it was written. The file and its proofs are those of `file.reread`; that the pages of a mapping came by
//! faults, or without, is proven by the kernel's count of these.
//!
//! Traps: a fault brings up to 16 pages or a large folio, so a kernel with these takes few faults for many pages;
//! private writable mappings, which `MAP_POPULATE` fills with copies. With large sizes the last-level cache of a
//! virtual machine is what its neighbours leave.
//!
//! Source: lmbench 1996 table 5 (mmap), lmbench3 `bw_mmap_rd` (`mmap_only`, `open2close`).

use super::cached::{BLOCK, Cached, SIZE, same, sum};
use super::{OBJECT, WHERE};
use crate::work::{self, Done};
use groma_harness::prelude::*;
use groma_harness::sys::counters::Usage;
use groma_harness::sys::pages::{Map, page_size};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Reading a file again that is in memory, in a mapping",
        about: about!("mmap_reread.rs"),
        quantity: Quantity::Bandwidth,
        iteration: "one block of 64 KiB (open_close, populate: the whole file)",
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
        lineage: &["lmbench1996:table5", "lmbench3:bw_mmap_rd"],
        interference: Interference::Faults,
        target_half_width: 0.03,
        tier: Tier::Standard,
        ..Info::new("file.mmap_reread")
    },
    run: Run::Here(run),
};

/// What is proven.
const READ: &str = "bytes read per byte credited";

fn run(ctx: &mut Ctx) -> Outcome {
    let mode = ctx.word("mode");
    let cached = Cached::new(ctx, mode != "mapped")?;
    let size = cached.map.len();
    let pages = (size / page_size()) as f64;
    let done = Done::new();
    if mode == "mapped" {
        let mut blocks = cached.map.chunks_exact(BLOCK).zip(&cached.sums).cycle();
        let before = Usage::thread();
        ctx.measure_per(BLOCK as f64, |iters| {
            for (block, written) in blocks.by_ref().take(iters as usize) {
                same(sum(block), *written)?;
                done.add(BLOCK as u64);
            }
            Ok(())
        })?;
        let faults = Usage::thread().since(&before).minor_faults as f64 / ctx.iterations() as f64;
        work::once_each(ctx, READ, done.count(), ctx.iterations() * BLOCK as u64);
        // Those are the harness's own.
        ctx.prove("minor faults in an iteration", "less than 0.5", faults, 0.0..0.5);
    } else {
        let map = || Map::file_read(&cached.reopen()?, size, mode == "populate").context("mapping the file");
        let read = |map: &Map| {
            map.chunks_exact(BLOCK).zip(&cached.sums).try_for_each(|(block, written)| {
                done.add(BLOCK as u64);
                same(sum(block), *written)
            })
        };
        // The kernel counts the pages that it maps in advance as faults as well; the program then takes none of its
        // own.
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
