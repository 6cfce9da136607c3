//! Changing the protection of memory, and changing it back.
//!
//! **Measures:** One `mprotect` over a whole mapping of private memory, as the mean of both
//! directions: from writable to read-only and back. With `pages=present` the kernel has a page
//! table entry to change for each page, and old translations to flush; with `pages=absent` there
//! are none.
//!
//! **Does not measure:** Interrupts to other CPUs (`vm.shootdown`), the faults of refused accesses
//! (`signal`), or calls that split a mapping.
//!
//! **Method:** The two calls are made by number in turn, again and again, in short intervals. The
//! mapping lies between inaccessible pages, so that the kernel neither splits nor merges mappings.
//!
//! **Calls:**
//! - `size=64K`: `mprotect(.., 65536, PROT_READ)`
//! - once `size=64K`: `madvise(.., 65536, MADV_POPULATE_WRITE)`
//!
//! **Proofs:** The answer of each call, which a child cut off from the kernel does not get; what
//! `/proc/self/maps` shows of the mapping after each of two last calls; and no faults meanwhile.
//!
//! **Pitfalls:**
//! - Next to other memory, a change of permissions merges and splits mappings.
//! - Transparent huge pages have 512 times fewer entries to change.
//! - Cost does not grow evenly with size. Kernels flush a few translations one by one (up to 33 on
//!   x86, which makes 64 KiB half as expensive as 1 MiB on a 2-vCPU KVM guest), and beyond that all
//!   of them at once.
//!
//! **Sources:** lmbench3 `lat_sig prot` makes this call before it starts its clock. See
//! docs/methods/operating-system.md#mappings.

use super::walk::Faults;
use crate::entry;
use crate::work::{self, Done};
use groma_harness::prelude::*;
use groma_harness::sys::mapping::permissions;
use groma_harness::sys::pages::Map;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Changing the protection of memory",
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
    // Both directions in each iteration: they cost differently, and an interval over much memory
    // holds few calls.
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

/// Memory and the protection last set for it.
struct Area {
    memory: Map,
    writable: bool,
    changes: Done,
}

impl Area {
    /// Makes `calls` calls, each for the opposite of the one before.
    fn toggle(&mut self, calls: u64) -> Outcome {
        for _ in 0..calls {
            self.writable = !self.writable;
            self.memory.protect(self.writable).context("mprotect")?;
            self.changes.add(1);
        }
        Ok(())
    }
}
