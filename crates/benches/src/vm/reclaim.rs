//! A page of the page cache for a group that has reached its limit of memory.
//!
//! **Measures:** A read of 4 KiB that needs a new page of the page cache while the control group of
//! the reader is at its limit: the kernel has to find pages that it can drop, drop them, and give
//! one to the reader. `.free` is the same read by a group far from its limit. Containers with a
//! limit of memory spend their life in this state.
//!
//! **Does not measure:** Pages that have to be written first, or swapped out (`vm.swap`), and the
//! disk: the file consists of holes.
//!
//! **Method:** A file without blocks is read in order without readahead. Within the limit of the
//! group fits a quarter of it. The other loop reads a part that was dropped from the cache before,
//! untimed, from the group above.
//!
//! **Proofs:** Every read is whole. After reading at the limit no more of the file is in memory
//! than the limit allows, and of the other part all is that was read.
//!
//! **Pitfalls:**
//! - A limit of an outer group may be reached first.
//! - The kernel drops 32 pages and more at a time: one read in 32 takes all the time.
//! - It takes the right to make control groups, and the memory controller.
//!
//! **Sources:** None of the earlier suites. See docs/methods/operating-system.md#page-faults.

use crate::control_groups::own_group;
use crate::scratch::Scratch;
use crate::work::{self, Done};
use groma_harness::prelude::*;
use groma_harness::sys::file_pages::no_readahead;
use groma_harness::sys::pages::{Map, page_size};
use std::fs::File;
use std::os::unix::fs::FileExt;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "A page of the page cache for a control group at its limit of memory",
        about: about!("reclaim.rs"),
        iteration: "a read of 4 KiB that needs a new page",
        outputs: &[Output::MAIN.series("limited"), Output::named("free", "the same read far from the limit")],
        scaling: Scaling::alone("a limit is of a whole group"),
        needs: &[Need::WorkDir],
        interference: Interference::Faults,
        target_half_width: 0.05,
        tier: Tier::Standard,
        ..Info::new("vm.reclaim")
    },
    run: Run::Here(run),
};

/// The limit of the group, and the bytes of each file.
const LIMIT: u64 = 16 << 20;
const LONG_FILE: u64 = 4 * LIMIT;
const SHORT_FILE: u64 = 4 << 20;
/// Bytes of a read.
const READ: usize = 4096;

/// A file of holes that is read again and again.
struct Holes {
    file: File,
    bytes: u64,
    at: u64,
    whole: Done,
}

impl Holes {
    fn new(scratch: &Scratch, ctx: &Ctx, bytes: u64) -> Result<Holes, BenchError> {
        let file = scratch.nameless(ctx)?;
        file.set_len(bytes).context("making a file of holes")?;
        no_readahead(&file).context("asking for no readahead")?;
        Ok(Holes { file, bytes, at: 0, whole: Done::new() })
    }

    /// Reads the next pages.
    #[inline]
    fn read(&mut self, iters: u64) -> Outcome {
        let mut room = [0; READ];
        let mut whole = 0;
        for _ in 0..iters {
            whole += u64::from(self.file.read_at(&mut room, self.at).context("reading a hole")? == READ);
            self.at = (self.at + READ as u64) % self.bytes;
        }
        self.whole.add(whole);
        if whole == iters { Ok(()) } else { Err(BenchError::Failed(format!("{whole} of {iters} reads were whole"))) }
    }

    /// Drops all its pages. Advice (POSIX_FADV_DONTNEED) leaves those that a CPU has not put into
    /// the kernel's lists yet.
    fn empty(&mut self) -> Outcome {
        self.at = 0;
        self.file.set_len(0).and_then(|()| self.file.set_len(self.bytes)).context("making a file of holes")
    }

    /// Bytes of it that are in memory.
    fn resident(&self) -> Result<u64, BenchError> {
        let map = Map::file_read(&self.file, self.bytes as usize, false).context("mapping the file")?;
        Ok((map.resident_pages().context("mincore")? * page_size()) as u64)
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let group = own_group(Some("memory"))?;
    group.limit_memory(LIMIT).context("limiting the memory of a control group")?;
    let scratch = Scratch::new(ctx)?;
    let (mut long, mut short) = (Holes::new(&scratch, ctx, LONG_FILE)?, Holes::new(&scratch, ctx, SHORT_FILE)?);
    let moved = |result: isize| {
        if result == 1 { Ok(()) } else { Err(BenchError::Denied("moving to a control group".to_owned())) }
    };
    // The group reaches its limit.
    moved(group.enter())?;
    let filled = long.read(LIMIT / READ as u64 + 1);
    moved(group.leave())?;
    filled?;
    let tried = long.whole.count();
    let (mut kept, mut read, mut most) = (0, 0, 0);
    let limited = Variant::staged("limited", |iters, watch| {
        moved(group.enter())?;
        watch.start();
        let done = long.read(iters);
        watch.stop();
        moved(group.leave())?;
        most = most.max(long.resident()?);
        done
    });
    let free = Variant::staged("free", |iters, watch| {
        if short.at + iters * READ as u64 >= SHORT_FILE {
            short.empty()?;
        }
        let before = short.resident()?;
        watch.start();
        let done = short.read(iters);
        watch.stop();
        kept += short.resident()? - before;
        read += iters * READ as u64;
        done
    });
    ctx.measure_variants(&mut [limited, free.max_iters(SHORT_FILE / READ as u64 - 1)])?;
    let credited = ctx.iterations_of("limited");
    work::once_each(ctx, "reads at the limit that were whole, per read", long.whole.count() - tried, credited);
    work::once_each(ctx, "reads without that were whole, per read", short.whole.count(), ctx.iterations_of("free"));
    ctx.prove("bytes in memory at the limit, of the limit", "0 to 1", most as f64 / LIMIT as f64, 0.1..=1.0);
    ctx.prove("bytes that stayed in memory without, of those read", "1", kept as f64 / read as f64, 0.98..=1.02);
    Ok(())
}
