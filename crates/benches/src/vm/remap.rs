//! Moving memory to other addresses, or extending it in place.
//!
//! **Measures:** `mremap`, in two kinds:
//! - `move`: all pages of private memory move from one address range to another, which is what
//!   `realloc` of a large block does instead of a copy. An empty mapping stays behind
//!   (`MREMAP_DONTUNMAP`, so that the addresses remain the benchmark's own) and is replaced when
//!   the pages come back. So a call includes the removal of an empty mapping.
//! - `grow`: the mapping takes in the page behind it, and gives it up with the next call. The value
//!   is the pair.
//!
//! **Does not measure:** The faults of new pages.
//!
//! **Method:** The calls are made by number, again and again, in short intervals. The ranges lie
//! between inaccessible pages.
//!
//! **Calls:**
//! - `kind=move size=64K`: `mremap(.., 65536, 65536, ..MREMAP_FIXED`
//! - `kind=grow size=64K`: `mremap(`, not `MREMAP_FIXED`
//! - no trace of `pages`: pages are written to or not
//!
//! **Proofs:** The address that each call returns, which a child cut off from the kernel does not
//! get; a byte of each page, which must still be there after all the moves; and no faults
//! meanwhile.
//!
//! **Pitfalls:**
//! - Where both ranges are aligned to 2 MiB, the kernel moves whole page tables. Here they are not,
//!   nor are they in most programs.
//! - Memory that has no pages moves none (`pages=absent`).
//!
//! **Sources:** See docs/methods/operating-system.md#mappings.

use super::walk::{Faults, write_each};
use crate::entry;
use crate::work::Done;
use groma_harness::prelude::*;
use groma_harness::sys::mapping::{Grower, Mover};
use groma_harness::sys::pages::page_size;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Moving or growing a mapping",
        about: about!("remap.rs"),
        iteration: "one mremap to other addresses; grow: two, longer by a page and back",
        params: &[
            Param::word("kind", "move to another address, or grow by a page and shrink again", &["move", "grow"])
                .quick(&["move"]),
            Param::size("size", "bytes of the mapping")
                .takes(Memory::PerMember(2))
                .quick(&["1M"])
                .full(&["4K", "64K", "64M"]),
            super::PAGES,
        ],
        scaling: Scaling::processes("another thread may map something into the room to grow"),
        interference: Interference::Cpu,
        target_half_width: 0.02,
        tier: Tier::Standard,
        ..Info::new("vm.remap")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let size = ctx.int("size") as usize;
    if !size.is_multiple_of(page_size()) {
        return Err(BenchError::Unsupported(format!(
            "{size} bytes are not a multiple of the page size, {}",
            page_size()
        )));
    }
    if ctx.word("kind") == "move" {
        let memory = Mover::new(size).context("mapping memory")?;
        measure(ctx, memory, |memory| memory.go().context("mremap to other addresses"))
    } else {
        let memory = Grower::new(size, page_size()).context("mapping memory")?;
        measure(ctx, memory, |memory| memory.grow_and_shrink().context("mremap to another length"))
    }
}

fn measure<M: std::ops::DerefMut<Target = [u8]>>(
    ctx: &mut Ctx,
    mut memory: M,
    call: impl Fn(&mut M) -> Outcome,
) -> Outcome {
    const MARK: u8 = 0x5a;
    let present = ctx.word("pages") == "present";
    if present {
        write_each(&mut memory, MARK);
    }
    // A kernel that does not support the call fails here.
    call(&mut memory).map_err(|why| BenchError::Unsupported(why.to_string()))?;
    let mut faults = Faults::default();
    let done = Done::new();
    let mut calls = |iters| {
        for _ in 0..iters {
            call(&mut memory)?;
            done.add(1);
        }
        Ok(())
    };
    ctx.measure_variants(&mut [Variant::staged("", |iters, watch| faults.time(watch, || calls(iters)))])?;
    done.prove(ctx, "calls of mremap that worked, per call credited");
    entry::asks_the_kernel(ctx, &mut calls);
    faults.prove_none(ctx, ctx.iterations());
    if present {
        let lost = memory.iter().step_by(page_size()).filter(|byte| **byte != MARK).count();
        ctx.prove("pages that did not come along", "0", lost as f64, 0.0..=0.0);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::sys::raw;
    use groma_harness::testing::{try_failing, try_out};

    const PAGES: usize = 8;

    /// Counts the pages that were written to when the first call is made, in memory of our own.
    fn look_at_the_memory(ctx: &mut Ctx) -> Outcome {
        let seen = std::cell::Cell::new(None);
        let memory = vec![0u8; PAGES * page_size()];
        measure(ctx, memory, |memory| {
            if seen.get().is_none() {
                seen.set(Some(memory.iter().step_by(page_size()).filter(|byte| **byte != 0).count()));
            }
            if raw::getppid() >= 0 { Ok(()) } else { Err(BenchError::Failed("no kernel".to_owned())) }
        })?;
        ctx.fact("written", seen.get().unwrap_or(usize::MAX));
        Ok(())
    }

    /// Memory that nobody has written to has no pages to move.
    #[test]
    fn pages_are_there_when_they_are_to_be_and_else_they_are_not() {
        let bench = Benchmark { info: BENCH.info, run: Run::Here(look_at_the_memory) };
        for (pages, written) in [("present", "8"), ("absent", "0")] {
            let tried = try_failing(&bench, &[("pages", pages)], None).expect("memory");
            assert_eq!(tried.result.fact("written"), Some(written), "{pages}");
        }
    }

    #[test]
    fn what_is_no_whole_number_of_pages_is_refused() {
        for kind in ["move", "grow"] {
            let refused = try_out(&BENCH, &[("kind", kind), ("size", "1000")], None).map(|_| ());
            assert!(matches!(refused, Err(BenchError::Unsupported(_))), "{kind}: {refused:?}");
        }
    }
}
