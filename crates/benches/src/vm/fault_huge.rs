//! One page fault that brings a transparent huge page.
//!
//! **Measures:** The first write to each huge page (2 MiB on most machines) of fresh memory that
//! asked for them: the exception, a huge page, its zeroing, and the return. Most of it is the
//! zeroing: compare it with the same amount of base pages in `vm.fault kind=anon_write`.
//!
//! **Does not measure:** Reserved huge pages, the kernel's search for one in fragmented memory, or
//! later work of khugepaged.
//!
//! **Method:** A few huge pages are made present once, so that the host of a virtual machine has
//! backed them. Then they are given back and written to one after the other. Only the write is
//! timed.
//!
//! **Calls:**
//! - timed: `madvise getrusage clock clock getrusage`; pages are freed before the clock is read
//!
//! **Proofs:** Each touch is one fault, as counted by the kernel, and each brings the whole huge
//! page: `mincore` finds all its base pages resident although only one byte was written. Without
//! this proof a kernel that falls back to a base page would look 100 times as fast.
//!
//! **Pitfalls:**
//! - will-it-scale's `page_fault1` counts 512 touches for one fault where huge pages are always on.
//! - With the setting `never` the result is `unsupported`.
//! - Memory that the host never backed takes milliseconds per page.
//!
//! **Sources:** lmbench has no counterpart. See docs/methods/operating-system.md#page-faults.

use super::walk::{Faults, Walk};
use crate::parts::{self, Composition, Part, Shown, Times};
use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::pages::{Map, Policy, huge_page_size, page_size};
use groma_harness::sys::process;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Page fault that brings a transparent huge page",
        about: about!("fault_huge.rs"),
        iteration: "one touch of a huge page that is not mapped",
        composed_of: COMPOSED_OF,
        interference: Interference::Faults,
        target_half_width: 0.02,
        tier: Tier::Standard,
        ..Info::new("vm.fault_huge")
    },
    run: Run::Here(run),
};

const COMPOSED_OF: &[Composition] = &[Composition {
    of: Shown::of("vm.fault_huge", &[]),
    hardware: &[ZEROES],
    parts: &[parts::FAULTED, ZEROES],
    rest: "512 pages in one piece found and entered; huge pages of 2 MiB are assumed",
}];

/// A huge page cleared.
const ZEROES: Part = Part { times: Times::Fixed(2_097_152.0), ..parts::ZEROES };

/// Huge pages that are touched in turn: few, since a host may take milliseconds to back each one in
/// the first pass.
pub(super) const PAGES: usize = 4;
/// The largest huge page of which a round takes several, in bytes. Larger ones (512 MiB with base
/// pages of 64 KiB) take much memory and time.
pub(super) const MAX_HUGE_PAGE: usize = 64 << 20;

fn run(ctx: &mut Ctx) -> Outcome {
    let huge = huge_page_size().ok_or_else(|| BenchError::Unsupported("no transparent huge pages here".to_owned()))?;
    if huge > MAX_HUGE_PAGE {
        return Err(BenchError::Unsupported(format!("a huge page has {} MiB here: too much for a round", huge >> 20)));
    }
    // The refusal of huge pages is inherited from the parent process.
    process::allow_huge_pages();
    let mut area = Map::anonymous(PAGES * huge, Policy::Transparent)
        .map_err(|e| BenchError::Unsupported(format!("asking for huge pages: {e}")))?;
    let before = ctx.now_ns();
    area.populate();
    ctx.fact("first_pass.ns_per_page", ctx.now_ns().saturating_sub(before) / PAGES as u64);
    ctx.fact("huge_page", huge);
    let got = area.huge_bytes();
    if got.is_some_and(|bytes| bytes < (PAGES * huge) as u64) {
        let setting = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
        return Err(BenchError::Unsupported(format!(
            "{} of {PAGES} huge pages came: the setting is '{}', or memory is fragmented",
            got.unwrap_or(0) / huge as u64,
            setting.trim()
        )));
    }
    area.drop_pages().context("giving the pages back")?;
    touch_each(ctx, &mut area, huge)?;
    if process::huge_pages_refused() {
        return Err(BenchError::Unsupported("this process has refused huge pages meanwhile".to_owned()));
    }
    Ok(())
}

/// Times the first write to each page of `huge` bytes of an area that has none, and proves that
/// each is one fault and brings the whole page.
pub(super) fn touch_each(ctx: &mut Ctx, area: &mut Map, huge: usize) -> Outcome {
    let mut walk = Walk::by(huge, area);
    let (mut faults, mut resident, mut touched) = (Faults::default(), 0, 0);
    let mut written = 0;
    let most = walk.most();
    let touch = Variant::staged("", |iters, watch| {
        let range = walk.on_or(iters, || area.drop_pages().context("giving the pages back"))?;
        let pages = &mut area[range.clone()];
        faults.time(watch, || {
            for byte in pages.iter_mut().step_by(huge) {
                *byte = 1;
            }
        });
        written += pages.iter().step_by(page_size()).filter(|byte| **byte != 0).count();
        let there = area.residency().context("mincore")?;
        let these = &there[range.start / page_size()..range.end / page_size()];
        resident += these.iter().filter(|there| **there).count();
        touched += these.len();
        Ok(())
    });
    ctx.measure_variants(&mut [touch.max_iters(most)])?;
    faults.prove_each_minor(ctx, ctx.iterations());
    work::once_each(ctx, "base pages that were written to, per touch credited", written as u64, ctx.iterations());
    let expected = (huge / page_size()) as f64;
    let whole = resident as f64 / touched.max(1) as f64 * expected;
    // One in fifty may have met fragmented memory: that does not move the median.
    let range = 0.98 * expected..=expected;
    ctx.prove("base pages that each fault brought", &format!("{expected} (0.98 of it or more)"), whole, range);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn each_fault_brings_a_whole_huge_page() {
        let mut why_not = String::new();
        // Other tests refuse huge pages for the whole process, which also runs this one.
        for _ in 0..20 {
            match try_out(&BENCH, &[], None) {
                Ok(tried) => {
                    assert!(tried.samples("") >= 3);
                    assert!(tried.proven("minor faults per touch") > 0.98);
                    assert!(tried.proven("base pages that each fault brought") >= 2.0);
                    return;
                }
                Err(BenchError::Unsupported(why)) => why_not = why,
                Err(why) => panic!("{why}"),
            }
        }
        // If huge pages are allowed, not getting a single one in 20 attempts is our mistake.
        assert!(why_not.contains("[never]") || !why_not.starts_with("0 of"), "{why_not}");
        eprintln!("skipped: {why_not}");
    }
}
