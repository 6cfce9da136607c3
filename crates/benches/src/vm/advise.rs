//! Telling the kernel about memory: that it is not needed, not soon, or wanted now.
//!
//! Measures one `madvise` over private memory, per base page. `dontneed`: present pages are given back at once. `free`: they
//! may be taken while nobody writes to them. `cold`: they are the first to be taken when memory is short. `populate_write`:
//! absent pages are made present and writable, many faults' work without the faults. Does not measure the touches that
//! follow (`vm.fault`), or what reclaim later does.
//!
//! Method: before each call the memory is made ready, untimed: all pages written to, or given back. Only the call is timed.
//! Base pages: huge ones are refused. A first call is untimed.
//!
//! The proof is what became of the pages of the very calls that were timed: `mincore` finds none, or all, resident after
//! `dontneed` and `populate_write`; the kernel's account of the mapping (`/proc/self/smaps`) counts them as free for the
//! taking after `free`, and as not referenced after `cold`.
//!
//! Traps: advice over pages that are not there, which costs nothing; `free`d pages are only free until they are written to.
//!
//! Source: os-methods 2.13.

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

/// Calls of one interval at most: getting ready takes ten times as long as they do.
const MOST_CALLS: u64 = 16;

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
        // The last call of the interval speaks for the others.
        match heeded_pages(&memory, word)? {
            Some(n) => heeded += n,
            None => blind = true,
        }
        looked_at += pages;
        Ok(())
    });
    ctx.measure_variants(&mut [call.per_iter(pages as f64).max_iters(MOST_CALLS)])?;
    advised.prove(ctx, "advice given, per call credited");
    if blind {
        ctx.note("/proc/self/smaps does not tell what became of the pages");
    } else {
        let share = heeded as f64 / looked_at.max(1) as f64;
        // A page of another CPU's batch may be passed over.
        ctx.prove("pages for which the advice was taken, of all", "1 (0.9 or more)", share, 0.9..=1.0);
    }
    Ok(())
}

/// How many pages show that the advice was taken; `None` where the kernel does not tell.
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
