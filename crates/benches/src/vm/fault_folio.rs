//! One page fault that brings several pages in one piece, of a size between the base page and the
//! huge page.
//!
//! **Measures:** The first write to each piece (a *folio* to the kernel, multi-size THP to its
//! administrator; Linux 6.8) of fresh memory: one exception, one allocation of `size` bytes, its
//! zeroing, and the return. Per byte it is cheaper than base pages, and it wastes less than a huge
//! page.
//!
//! **Does not measure:** Base pages (`vm.fault kind=anon_write`) or huge ones (`vm.fault_huge`).
//!
//! **Method:** That of `vm.fault_huge`, in memory that contains no whole huge page, so that none
//! comes. Only the write is timed.
//!
//! **Proofs:** Each touch is one fault by the kernel's count, and by `mincore` it brought exactly
//! the pages of its piece although only one byte was written.
//!
//! **Pitfalls:**
//! - Each size has a switch: `unsupported` names it. An administrator turns one on by
//!   `echo madvise > /sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled`.
//! - Where a larger size is on as well, the kernel takes that one. The result is `unsupported`, and
//!   says so.
//!
//! **Sources:** None of the earlier suites. See docs/methods/operating-system.md#page-faults.

use super::walk::{Faults, Walk};
use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::pages::{Map, page_size};
use groma_harness::sys::process;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Page fault that brings several pages in one piece",
        about: about!("fault_folio.rs"),
        iteration: "one touch of a piece that is not mapped",
        params: &[Param::size("size", "bytes of a piece: a power of two")
            .takes(Memory::PerMember(2))
            .quick(&["64K"])
            .full(&["16K", "32K", "128K", "256K", "512K", "1M"])],
        interference: Interference::Faults,
        target_half_width: 0.02,
        tier: Tier::Standard,
        ..Info::new("vm.fault_folio")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let size = ctx.int("size") as usize;
    process::allow_huge_pages();
    let mut area = Map::without_huge_page().map_err(|e| BenchError::Unsupported(format!("asking for folios: {e}")))?;
    if !size.is_power_of_two() || size <= page_size() || size > area.len() / 2 {
        let (least, most) = (2 * page_size() / 1024, area.len() / 2048);
        return Err(BenchError::Unsupported(format!("a piece has {least} to {most} KiB here, by powers of two")));
    }
    let switch = format!("/sys/kernel/mm/transparent_hugepage/hugepages-{}kB/enabled", size >> 10);
    match std::fs::read_to_string(&switch) {
        Ok(setting) if setting.contains("[never]") => {
            return Err(BenchError::Unsupported(format!("pieces of this size are off: {switch} is 'never'")));
        }
        Ok(_) => {}
        Err(error) => {
            return Err(BenchError::Unsupported(format!("this kernel has no pieces of this size: {switch}: {error}")));
        }
    }
    let base = size / page_size();
    let mut walk = Walk::by(size, &area);
    let most = walk.most();
    let (mut faults, mut pieces, mut whole) = (Faults::default(), 0u64, 0u64);
    area.populate();
    area.drop_pages().context("giving the pages back")?;
    let touch = Variant::staged("", |iters, watch| {
        let range = walk.on_or(iters, || area.drop_pages().context("giving the pages back"))?;
        let first = range.start / page_size();
        let there = area.residency().context("mincore")?;
        if there[first..].iter().any(|there| *there) {
            return Err(BenchError::Unsupported(
                "a larger size is on as well, and the kernel takes that one".to_owned(),
            ));
        }
        let piece = &mut area[range.clone()];
        faults.time(watch, || {
            for byte in piece.iter_mut().step_by(size) {
                *byte = 1;
            }
        });
        let there = area.residency().context("mincore")?;
        let these = &there[first..range.end / page_size()];
        whole += these.chunks_exact(base).filter(|piece| piece.iter().all(|there| *there)).count() as u64;
        pieces += iters;
        Ok(())
    });
    ctx.measure_variants(&mut [touch.max_iters(most)])?;
    faults.prove_each_minor(ctx, ctx.iterations());
    work::once_each(ctx, "pieces touched, per touch credited", pieces, ctx.iterations());
    // One in fifty may have met fragmented memory: that does not move the median.
    let share = whole as f64 / pieces.max(1) as f64;
    ctx.prove("pieces that came whole, per touch", "0.98 or more", share, 0.98..=1.0);
    Ok(())
}
