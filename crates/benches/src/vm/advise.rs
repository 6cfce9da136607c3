//! Memory advice: pages are not needed, not needed soon, or wanted now.
//!
//! **Measures:** One `madvise` over private memory, per base page:
//! - `dontneed`: present pages are given back at once.
//! - `free`: the kernel may take them as long as nobody writes to them.
//! - `cold`: they are the first to be reclaimed when memory is short.
//! - `populate_write`: absent pages are made present and writable, the work of many faults without
//!   the faults.
//!
//! **Does not measure:** The touches that follow (`vm.fault`), or what reclaim does later.
//!
//! **Method:** Before each call the memory is prepared untimed: all pages are written to, or given
//! back. Only the call is timed. The first call is untimed. Huge pages are refused.
//!
//! **Calls:**
//! - `advice=dontneed size=64K`: `madvise(.., 65536, MADV_DONTNEED`, not `MADV_FREE`
//! - `advice=free`: `MADV_FREE`, not `MADV_COLD`
//! - `advice=cold`: `MADV_COLD`, not `MADV_FREE`
//! - `advice=populate_write`: `MADV_POPULATE_WRITE`, not `MADV_COLD`
//! - timed `advice=dontneed`: `clock madvise clock`; pages are touched before the clock is read
//!
//! **Proofs:** What became of the pages of the very calls that were timed. `mincore` finds none
//! resident after `dontneed`, and all after `populate_write`. In `/proc/self/smaps` the kernel
//! counts them as lazily freed after `free`, and as not referenced after `cold`.
//!
//! **Pitfalls:**
//! - Advice over pages that are not present costs nothing.
//! - Pages given to `free` can be taken only until they are written to.
//!
//! **Sources:** See docs/methods/operating-system.md#mappings.

use super::walk::write_each;
use crate::work::Done;
use groma_harness::prelude::*;
use groma_harness::sys::pages::{MADV_COLD, MADV_DONTNEED, MADV_FREE, MADV_POPULATE_WRITE, Map, page_size};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Advice about memory, per page",
        about: about!("advise.rs"),
        iteration: "one madvise over the memory; the value is for one page of it",
        params: &[
            Param::word(
                "advice",
                "the advice: MADV_DONTNEED, MADV_FREE, MADV_COLD or MADV_POPULATE_WRITE",
                &["dontneed", "free", "cold", "populate_write"],
            )
            .quick(&["dontneed"])
            .standard(&["populate_write"]),
            Param::size("size", "bytes of memory advised")
                .takes(Memory::PerMember(1))
                .quick(&["256K"])
                .full(&["4K", "4M", "64M"]),
        ],
        interference: Interference::Faults,
        target_half_width: 0.02,
        tier: Tier::Standard,
        ..Info::new("vm.advise")
    },
    run: Run::Here(run),
};

/// The most calls in one interval: preparing the memory takes ten times as long as a call.
const MAX_CALLS: u64 = 16;

fn run(ctx: &mut Ctx) -> Outcome {
    let mut memory = Map::guarded(ctx.int("size") as usize).context("mapping memory")?;
    let pages = memory.len() / page_size();
    let word = ctx.word("advice");
    let advice = match word {
        "dontneed" => MADV_DONTNEED,
        "free" => MADV_FREE,
        "cold" => MADV_COLD,
        _ => MADV_POPULATE_WRITE,
    };
    let ready = |memory: &mut Map| {
        if word == "populate_write" {
            return memory.drop_pages().context("giving the pages back");
        }
        write_each(memory, 1);
        Ok(())
    };
    ready(&mut memory)?;
    memory.advise(advice).map_err(|e| BenchError::Unsupported(format!("madvise: {e}")))?;
    let (mut heeded, mut looked_at, mut blind) = (0, 0, false);
    let advised = Done::new();
    let call = Variant::staged("", |iters, watch| {
        for _ in 0..iters {
            ready(&mut memory)?;
            watch.start();
            let done = memory.advise(advice);
            watch.stop();
            done.context("madvise")?;
            advised.add(1);
        }
        // The last call of the interval is a sample of the others.
        match heeded_pages(&memory, word)? {
            Some(n) => heeded += n,
            None => blind = true,
        }
        looked_at += pages;
        Ok(())
    });
    ctx.measure_variants(&mut [call.per_iter(pages as f64).max_iters(MAX_CALLS)])?;
    advised.prove(ctx, "advice given, per call credited");
    if blind {
        ctx.note("/proc/self/smaps does not tell what became of the pages");
    } else {
        let share = heeded as f64 / looked_at.max(1) as f64;
        // The kernel may skip pages that are still in another CPU's batch.
        ctx.prove("pages for which the advice was taken, of all", "1 (0.9 or more)", share, 0.9..=1.0);
    }
    Ok(())
}

/// The number of pages that show the effect of the advice; `None` where the kernel does not tell.
fn heeded_pages(memory: &Map, word: &str) -> Result<Option<usize>, BenchError> {
    let pages = memory.len() / page_size();
    let bytes = |name| memory.smaps_bytes(name).map(|bytes| bytes as usize / page_size());
    Ok(match word {
        "dontneed" => Some(pages - memory.resident_pages().context("mincore")?),
        "populate_write" => Some(memory.resident_pages().context("mincore")?),
        "free" => bytes("LazyFree"),
        _ => bytes("Referenced").map(|referenced| pages.saturating_sub(referenced)),
    })
}
