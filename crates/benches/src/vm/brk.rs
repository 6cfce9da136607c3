//! Growing the heap with `brk`, and shrinking it again.
//!
//! **Measures:** Two `brk` calls: the end of the heap goes up and comes back. With `pages=present`
//! a byte of each new page is written in between, so that the pair also holds the faults and the
//! return of the pages.
//!
//! **Does not measure:** An allocator, which asks for memory rarely and keeps it.
//!
//! **Method:** The calls are made by number, again and again, in short intervals, each of which
//! begins with one more call that asks for the end of the heap. Nothing else moves the break
//! meanwhile: the process has one thread, and the loop allocates nothing.
//!
//! **Calls:**
//! - no trace of `size`: the end of the heap is an address
//! - no trace of `pages`: pages are written to or not
//!
//! **Proofs:** The answer of each call, which a child cut off from the kernel does not get; and the
//! faults that the kernel counts: one for each page written, none without writes.
//!
//! **Pitfalls:**
//! - `sbrk` of the C library remembers the break and need not enter the kernel.
//! - A break that does not move looks like a fast call unless its answer is checked.
//!
//! **Sources:** See docs/methods/operating-system.md#mappings.

use super::walk::Faults;
use crate::entry;
use crate::work::Done;
use groma_harness::prelude::*;
use groma_harness::sys::mapping::Break;
use groma_harness::sys::pages::page_size;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Growing the heap and shrinking it again",
        about: about!("brk.rs"),
        iteration: "two brk: up and down again, with any touches in between",
        params: &[
            Param::size("size", "bytes that the heap grows by, in whole pages")
                .takes(Memory::PerMember(1))
                .quick(&["64K"])
                .full(&["4K", "1M"]),
            super::PAGES.quick(&["absent"]),
        ],
        scaling: Scaling::processes("the threads of a process have one heap's end"),
        interference: Interference::Faults,
        target_half_width: 0.02,
        tier: Tier::Standard,
        ..Info::new("vm.brk")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    sys::process::refuse_huge_pages();
    let size = ctx.int("size") as usize;
    if !size.is_multiple_of(page_size()) {
        return Err(BenchError::Unsupported(format!(
            "{size} bytes are not a multiple of the page size, {}",
            page_size()
        )));
    }
    let touch = ctx.word("pages") == "present";
    let mut heap = Break::alone().map_err(|e| BenchError::Unsupported(e.to_string()))?;
    heap.up_and_down(size, touch, 1).map_err(|e| BenchError::Unsupported(format!("moving the break: {e}")))?;
    let mut faults = Faults::default();
    let pages = (size / page_size()) as u64;
    let done = Done::new();
    let mut calls = |iters| {
        done.add(heap.up_and_down(size, touch, iters).context("moving the break")?);
        Ok(())
    };
    ctx.measure_variants(&mut [Variant::staged("", |iters, watch| faults.time(watch, || calls(iters)))])?;
    done.prove(ctx, "turns of the break, per turn credited");
    entry::asks_the_kernel(ctx, &mut calls);
    if touch {
        faults.prove_each_minor(ctx, ctx.iterations() * pages)
    } else {
        faults.prove_none(ctx, ctx.iterations() * pages)
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::sys::thread;
    use groma_harness::testing::try_out;

    #[test]
    fn a_process_with_threads_has_no_heap_of_its_own() {
        let other = thread::spawn(256 << 10, || try_out(&BENCH, &[], None).map(|_| ())).expect("a thread");
        let tried = other.join();
        assert!(matches!(tried, Ok(Err(BenchError::Unsupported(_)))), "{tried:?}");
    }
}
