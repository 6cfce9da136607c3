//! Asking the kernel which pages of a stretch of memory are present.
//!
//! **Measures:** The question for 1024 base pages of which every other one is present, per page:
//! - `pagemap`: a read of `/proc/self/pagemap`, 8 bytes for each page.
//! - `scan`: one `PAGEMAP_SCAN` (Linux 6.7), which answers with the ranges that match, and is what
//!   tools that save a process or look for changed pages use.
//! - `mincore`: a byte for each page, without the rights that the others may need.
//!
//! **Does not measure:** Finding the pages that were written to since the last look, which also
//! protects them again.
//!
//! **Method:** Many calls in one short interval, over the same memory.
//!
//! **Proofs:** Each answer says that half of the pages are present, and that they are those that
//! were written to; every call enters the kernel.
//!
//! **Pitfalls:** One range instead of 512 would make `scan` look better than it is.
//!
//! **Sources:** None of the earlier suites. See docs/methods/operating-system.md#mappings.

use crate::work::{self, ANSWERED, Done};
use groma_harness::prelude::*;
use groma_harness::sys::pagemap::{PageMap, Present};
use groma_harness::sys::pages::{Map, page_size};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Asking which pages of memory are present, per page",
        about: about!("scan.rs"),
        iteration: "one question about 1024 pages; the value is for one page",
        params: &[Param::word("by", "the way of asking", &["pagemap", "scan", "mincore"])
            .quick(&["pagemap"])
            .standard(&["scan"])
            .full(&["mincore"])],
        target_half_width: 0.02,
        tier: Tier::Standard,
        ..Info::new("vm.scan")
    },
    run: Run::Here(run),
};

/// Pages that are asked about.
const PAGES: usize = 1024;

fn run(ctx: &mut Ctx) -> Outcome {
    let mut area = Map::guarded(PAGES * page_size()).context("mapping memory")?;
    for byte in area.iter_mut().step_by(2 * page_size()) {
        *byte = 1;
    }
    let by = match ctx.word("by") {
        "scan" => Present::Scan,
        "mincore" => Present::Mincore,
        _ => Present::Pagemap,
    };
    let mut map = PageMap::of(PAGES).context("opening /proc/self/pagemap")?;
    // The first answer says whether the kernel knows the question, and is the right one.
    let first =
        map.ask(by, &area).map_err(|e| BenchError::Unsupported(format!("asking by {}: {e}", ctx.word("by"))))?;
    let right = first == PAGES / 2 && map.every_other();
    ctx.prove("the pages present are those written to", "1", f64::from(u8::from(right)), 1.0..=1.0);
    let asked = Done::new();
    let mut body = |iters| {
        let mut right = 0;
        for _ in 0..iters {
            right += u64::from(map.ask(by, &area).context("asking for pages")? == PAGES / 2);
        }
        asked.add(right);
        if right == iters { Ok(()) } else { Err(BenchError::Failed("pages came or went".to_owned())) }
    };
    ctx.measure_per(PAGES as f64, &mut body)?;
    work::once_each(ctx, ANSWERED, asked.count(), ctx.iterations());
    crate::entry::asks_the_kernel(ctx, body);
    Ok(())
}
