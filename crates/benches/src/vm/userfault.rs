//! Page faults that the program itself resolves.
//!
//! **Measures:** One touch of a page whose fault another thread resolves (`userfaultfd`): the
//! kernel stops the task, the handler reads the event, does its part, and the task goes on. Virtual
//! machines that are restored or moved while they run get their pages in this way; collectors of
//! garbage and snapshots learn what is written.
//! - `copy`: a missing page becomes a copy of one that the handler has.
//! - `zero`: it becomes a page of zeroes.
//! - `unprotect`: a write to a protected page, which becomes writable (Linux 5.7).
//! - `continue`: a page of shared memory that is there already is mapped (Linux 5.14), as when
//!   another process has brought it.
//!
//! **Does not measure:** Where a handler gets its page from.
//!
//! **Method:** The handler is a thread on the CPU that the placement gives, and blocks in `read`.
//! Between the intervals the pages are given back, or protected again.
//!
//! **Proofs:** Each page holds what it should: the handler's mark, zero, or what was there before.
//! The handler has resolved as many faults.
//!
//! **Pitfalls:**
//! - It is two wake-ups, so the placement matters more than the page.
//! - `vm.unprivileged_userfaultfd` may forbid it; faults of user mode alone are always allowed
//!   since Linux 5.11.
//!
//! **Sources:** stress-ng (`--userfaultfd`) counts such faults. See
//! docs/methods/operating-system.md#page-faults.

use crate::work::{self, Done};
use groma_harness::prelude::*;
use groma_harness::sys::pages::{Map, Policy, page_size};
use groma_harness::sys::thread;
use groma_harness::sys::userfault::{Faults, Resolve};
use std::hint::black_box;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "A page fault that another thread of the program resolves",
        about: about!("userfault.rs"),
        iteration: "one touch of a page",
        timing: Timing::Each,
        params: &[Param::word("resolve", "what the thread does", &["copy", "zero", "unprotect", "continue"])
            .quick(&["copy"])
            .standard(&["unprotect"])
            .full(&["zero", "continue"])],
        scaling: Scaling::processes("each copy has a thread of its own"),
        placements: &Placement::TWO_SIDED,
        // Both tasks switch and fault: all of it is what is measured.
        interference: Interference::Tasks,
        target_half_width: 0.05,
        tier: Tier::Standard,
        ..Info::new("vm.userfault")
    },
    run: Run::Here(run),
};

/// Pages that are touched before they are given back.
const PAGES: usize = 256;
/// What the handler's page holds, and what pages hold that are there already.
const MARK: u8 = 0x5a;
/// The stack of the handler, in bytes.
const STACK: usize = 128 << 10;

fn run(ctx: &mut Ctx) -> Outcome {
    let (resolve, expected) = match ctx.word("resolve") {
        "zero" => (Resolve::Zero, 0),
        "unprotect" => (Resolve::Unprotect, MARK),
        "continue" => (Resolve::Continue, MARK),
        _ => (Resolve::Copy, MARK),
    };
    let size = page_size();
    let memory = match resolve {
        Resolve::Continue => Map::shared((PAGES + 1) * size),
        _ => Map::anonymous((PAGES + 1) * size, Policy::Base),
    };
    let mut memory = memory.context("mapping pages")?;
    if matches!(resolve, Resolve::Unprotect | Resolve::Continue) {
        memory.fill(MARK);
    }
    let faults = Faults::of(&mut memory, resolve).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => {
            BenchError::Unsupported(format!("this kernel cannot {} pages so", ctx.word("resolve")))
        }
        _ => BenchError::from_io("userfaultfd", &error),
    })?;
    // The page behind those that are measured: with it, the handler leaves.
    let last = memory.as_ptr().addr() + PAGES * size;
    let handling = Arc::new((faults, AtomicU64::new(0)));
    let (shared, place) = (Arc::clone(&handling), ctx.peer_place()?);
    let handler = thread::spawn(STACK, move || {
        let (faults, resolved) = &*shared;
        let page = vec![MARK; size];
        place.occupy(|| {
            while faults.resolve_one(&page)? != last {
                resolved.fetch_add(1, SeqCst);
            }
            Ok(())
        })?
    })
    .context("starting the handler")?;
    let (faults, resolved) = &*handling;
    let touched = Done::new();
    let (mut next, mut lap) = (PAGES, 0u8);
    let measured = ctx.measure_staged(|iters, watch| {
        for _ in 0..iters {
            if next == PAGES {
                make_faulting(&mut memory, faults, resolve).context("making pages fault again")?;
                // A protected page keeps what the last lap has written.
                (next, lap) = (0, if resolve == Resolve::Unprotect { lap.wrapping_add(1) } else { 1 });
            }
            let byte = &mut memory[next * size];
            watch.start();
            let seen = touch(byte, resolve);
            watch.stop();
            touched.add(u64::from(seen == expected.wrapping_add(lap.wrapping_sub(1))));
            next += 1;
        }
        Ok(())
    });
    let credited = ctx.iterations();
    make_faulting(&mut memory, faults, resolve).context("making pages fault again")?;
    touch(&mut memory[PAGES * size], resolve);
    let ended = handler.join().map_err(|_| BenchError::Failed("the handler panicked".to_owned()))?;
    measured?;
    ended.context("resolving a fault")?;
    work::once_each(ctx, "pages that held what they should, per touch credited", touched.count(), credited);
    work::once_each(ctx, "faults that the handler resolved, per touch credited", resolved.load(SeqCst), credited);
    Ok(())
}

/// Reads a byte of a missing page; adds 1 to that of a protected one. Returns what it held.
#[inline]
fn touch(byte: &mut u8, resolve: Resolve) -> u8 {
    let seen = black_box(*byte);
    if resolve == Resolve::Unprotect {
        *byte = black_box(seen.wrapping_add(1));
    }
    seen
}

/// Gives the pages back, or protects them again.
fn make_faulting(memory: &mut Map, faults: &Faults, resolve: Resolve) -> io::Result<()> {
    if resolve != Resolve::Unprotect {
        return memory.drop_pages();
    }
    faults.protect(memory)
}
