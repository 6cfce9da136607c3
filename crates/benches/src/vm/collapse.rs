//! Turning base pages into a huge page.
//!
//! **Measures:** One `madvise(MADV_COLLAPSE)` (Linux 6.1) of memory that base pages fill: a huge
//! page is allocated, all of them are copied into it, the TLB entries of the old ones are removed
//! and the pages freed. khugepaged does the same in the background. A program that does it itself
//! decides when.
//!
//! **Does not measure:** What the huge page then saves (`mem.latency pages=huge`), or one that
//! comes with the first touch (`vm.fault_huge`).
//!
//! **Method:** Before each call the memory is filled with base pages, untimed. Only the call is
//! timed.
//!
//! **Proofs:** No huge page backs the memory before the calls and one does after each, by
//! `/proc/self/smaps`; its bytes are the old ones.
//!
//! **Pitfalls:**
//! - Where memory is fragmented the kernel first moves other pages.
//! - Where something else holds one of the pages the kernel asks to call again. Both calls are then
//!   in the value, and the fact collapse.again counts them.
//!
//! **Sources:** None of the earlier suites. See docs/methods/operating-system.md#page-faults.

use super::walk::write_each;
use crate::work::Done;
use groma_harness::prelude::*;
use groma_harness::sys::pages::{
    MADV_COLLAPSE, MADV_HUGEPAGE, MADV_NOHUGEPAGE, Map, Policy, huge_page_size, page_size,
};
use groma_harness::sys::process;
use std::io;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Turning the base pages of memory into a huge page",
        about: about!("collapse.rs"),
        iteration: "one madvise over the base pages of a huge page",
        interference: Interference::Faults,
        timing: Timing::Each,
        target_half_width: 0.02,
        tier: Tier::Standard,
        ..Info::new("vm.collapse")
    },
    run: Run::Here(run),
};

/// How often a call is made that the kernel asks to make again (EAGAIN).
const MAX_TRIES: u32 = 100;

fn run(ctx: &mut Ctx) -> Outcome {
    let huge = huge_page_size().ok_or_else(|| BenchError::Unsupported("no transparent huge pages here".to_owned()))?;
    process::allow_huge_pages();
    let mut area = Map::anonymous(huge, Policy::Transparent)
        .map_err(|e| BenchError::Unsupported(format!("asking for huge pages: {e}")))?;
    let mut mark = 0u8;
    let (collapsed, mut wrong, mut blind) = (Done::new(), 0u64, false);
    let (mut before, mut again) = (0, 0u64);
    ctx.measure_staged(|iters, watch| {
        for _ in 0..iters {
            area.drop_pages().context("giving the page back")?;
            // The first touch would bring a huge page at once; the call below is not refused.
            area.advise(MADV_NOHUGEPAGE).context("asking for base pages")?;
            mark = mark.wrapping_add(1);
            write_each(&mut area, mark);
            before += area.huge_bytes().unwrap_or(0);
            area.advise(MADV_HUGEPAGE).context("allowing a huge page")?;
            let mut tries = 0;
            loop {
                watch.start();
                let done = area.advise(MADV_COLLAPSE);
                watch.stop();
                tries += 1;
                match done {
                    Ok(()) => break,
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock && tries < MAX_TRIES => again += 1,
                    Err(e) => return Err(BenchError::Unsupported(format!("madvise(MADV_COLLAPSE): {e}"))),
                }
            }
            match area.huge_bytes() {
                Some(bytes) => collapsed.add(u64::from(bytes == huge as u64)),
                None => blind = true,
            }
            wrong += area.iter().step_by(page_size()).filter(|byte| **byte != mark).count() as u64;
        }
        Ok(())
    })?;
    if blind {
        return Err(BenchError::Unsupported("/proc/self/smaps does not tell huge pages here".to_owned()));
    }
    ctx.fact("collapse.again", again);
    collapsed.prove(ctx, "huge pages made, per call credited");
    ctx.prove("bytes in huge pages before the calls", "0", before as f64, 0.0..=0.0);
    ctx.prove("base pages whose content was lost", "0", wrong as f64, 0.0..=0.0);
    Ok(())
}
