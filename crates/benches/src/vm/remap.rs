//! Moving memory to other addresses, or making it longer where it is.
//!
//! Measures `mremap`. `move`: all pages of private memory go from one range of addresses to another, which is what a
//! `realloc` of a large block does instead of a copy; an empty mapping stays behind and is replaced when the pages come back
//! (`MREMAP_DONTUNMAP`: the addresses remain the benchmark's own), so a call holds the removal of an empty mapping as well.
//! `grow`: the mapping takes in the page behind it, and gives it up with the next call; the value is the pair. Does not
//! measure the faults of what is new.
//!
//! Method: the calls by number, over and over, in short intervals. The ranges lie between pages that nobody may touch.
//!
//! The proofs are the address that each call returns, which a child without a kernel does not get; a byte of each page that
//! is found again after all the moves; and that no fault was taken meanwhile.
//!
//! Traps: tables of pages are moved as a whole where both ranges are aligned to 2 MiB (here they are not, nor are they in
//! most programs); moves of memory that has no pages.
//!
//! Source: os-methods 2.13.

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
    if size == 0 || !size.is_multiple_of(page_size()) {
        return Err(BenchError::Unsupported(format!("{size} bytes are not a number of pages of {}", page_size())));
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
    // A kernel that cannot do it at all says so here.
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
