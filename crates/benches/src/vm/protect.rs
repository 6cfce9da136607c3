//! Changing what may be done to memory, and changing it back.
//!
//! Measures one `mprotect` over a whole mapping of private memory: from writable to read-only and back again, the mean of
//! the two. With `pages=present` the kernel has an entry of the page table to change for each page, and old translations to
//! forget; with `pages=absent` there are none. Does not measure what other CPUs are interrupted for (`vm.shootdown`), the
//! faults that a forbidden access brings (`signal`), or mappings that the call cuts in pieces.
//!
//! Method: the two calls by number in turn, over and over, in short intervals. The mapping lies between pages that nobody may
//! touch, so that the kernel neither splits nor merges anything.
//!
//! The proofs are the answer of each call, which a child without a kernel does not get; what `/proc/self/maps` shows of the
//! mapping after each of two last calls; and that no fault was taken meanwhile.
//!
//! Traps: memory next to other memory, which a change of permissions merges and splits; transparent huge pages, of which
//! there are 512 times fewer to change. Cost does not grow evenly with size: kernels forget a few translations one by one (up
//! to 33 on x86, which makes 64 KiB half as dear as 1 MiB here) and beyond that all of them at once.
//!
//! Source: os-methods 2.13; the call that lmbench3 `lat_sig prot` makes before it is timed.

use super::walk::Faults;
use crate::entry;
use crate::work::{self, Done};
use groma_harness::prelude::*;
use groma_harness::sys::mapping::permissions;
use groma_harness::sys::pages::Map;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Forbidding or allowing to write to memory",
        about: about!("protect.rs"),
        iteration: "two mprotect: to read-only and back to writable; the value is for one of them",
        params: &[
            Param::size("size", "bytes of the mapping")
                .takes(Memory::PerMember(1))
                .quick(&["4K"])
                .standard(&["1M"])
                .full(&["64K", "64M"]),
            super::PAGES,
        ],
        interference: Interference::Cpu,
        target_half_width: 0.02,
        tier: Tier::Standard,
        ..Info::new("vm.protect")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let size = ctx.int("size") as usize;
    let mut memory = Map::guarded(size).context("mapping memory")?;
    if ctx.word("pages") == "present" {
        memory.populate();
    }
    let mut faults = Faults::default();
    let mut area = Area { memory, writable: true, changes: Done::new() };
    // Both ways in each iteration: they cost differently, and an interval over much memory holds few calls.
    let both = Variant::staged("", |iters, watch| faults.time(watch, || area.toggle(2 * iters)));
    ctx.measure_variants(&mut [both.per_iter(2.0)])?;
    work::once_each(ctx, "changes of protection made per change credited", area.changes.count(), 2 * ctx.iterations());
    entry::asks_the_kernel(ctx, |iters| area.toggle(iters));
    faults.prove_none(ctx, ctx.iterations());
    let mut shown = 0.0;
    for _ in 0..2 {
        area.toggle(1)?;
        let Some(seen) = permissions(&area.memory) else {
            ctx.note("/proc/self/maps does not show the mapping");
            return Ok(());
        };
        shown += f64::from(u8::from(seen == if area.writable { "rw-p" } else { "r--p" }));
    }
    ctx.prove("changes that /proc/self/maps shows, of 2", "2", shown, 2.0..=2.0);
    Ok(())
}

/// Memory, and what was last asked for it.
struct Area {
    memory: Map,
    writable: bool,
    changes: Done,
}

impl Area {
    /// So many calls, each for the opposite of the one before.
    fn toggle(&mut self, calls: u64) -> Outcome {
        for _ in 0..calls {
            self.writable = !self.writable;
            self.memory.protect(self.writable).context("mprotect")?;
            self.changes.add(1);
        }
        Ok(())
    }
}
