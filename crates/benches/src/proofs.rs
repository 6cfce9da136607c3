//! Evidence that several benchmarks give in the same words.

use groma_harness::Ctx;
use groma_harness::sys::affinity;
use groma_harness::sys::counters::{self, Usage};
use groma_harness::sys::process::Exit;

/// Whether both sides are on this CPU, by the placement or because there is no other.
pub(crate) fn on_one_cpu(ctx: &Ctx) -> bool {
    match ctx.peer_cpu() {
        Some(cpu) => cpu == counters::current_cpu(),
        None => affinity::allowed().is_ok_and(|cpus| cpus.len() == 1),
    }
}

/// [`switches`] where it has to hold: between two CPUs an answer can be there before this side has gone to sleep.
pub(crate) fn switches_on_one_cpu(ctx: &mut Ctx, before: &Usage, peer: &Exit) {
    if on_one_cpu(ctx) {
        switches(ctx, before, peer);
    }
}

/// Each side of a round trip goes to sleep once and is woken once; a peer that never slept was not talked to.
pub(crate) fn switches(ctx: &mut Ctx, before: &Usage, peer: &Exit) {
    let here = Usage::thread().since(before);
    let trips = ctx.iterations().max(1) as f64;
    let both = (here.voluntary + here.involuntary + peer.usage.voluntary + peer.usage.involuntary) as f64;
    ctx.prove("context switches per round trip, both sides", "1.8 or more", both / trips, 1.8..);
}

/// The other side left by itself and without complaint.
pub(crate) fn peer_ended_well(ctx: &mut Ctx, peer: &Exit) {
    ctx.prove("exit code of the other side", "0", f64::from(peer.code().unwrap_or(-1)), 0.0..=0.0);
}

/// The kernel has made at least one task per iteration since it counted `before`; others make some as well.
pub(crate) fn tasks_created(ctx: &mut Ctx, before: Option<u64>) {
    if let (Some(before), Some(after)) = (before, counters::tasks_created()) {
        let each = after.saturating_sub(before) as f64 / ctx.iterations().max(1) as f64;
        ctx.prove("tasks that the kernel made, per iteration", "1 or more", each, 1.0..);
    }
}

/// What the tests of round trips have in common.
#[cfg(test)]
pub(crate) mod testing {
    use groma_harness::prelude::*;
    use groma_harness::sys::{affinity, counters};
    use groma_harness::testing::{Tried, try_out};
    use std::path::Path;

    /// Tries it on one CPU, where every round trip takes two context switches, and sees that it did.
    pub(crate) fn try_on_one_cpu(
        bench: &Benchmark,
        chosen: &[(&str, &str)],
        dir: Option<&Path>,
    ) -> Result<Tried, Stop> {
        let allowed = affinity::allowed().expect("the CPUs that are allowed");
        affinity::pin(counters::current_cpu()).expect("pinning to the own CPU");
        let tried = try_out(bench, chosen, dir);
        affinity::restrict(&allowed).expect("all CPUs again");
        let tried = tried?;
        assert!(tried.samples("") >= 3);
        assert!(tried.proven("context switches per round trip, both sides") >= 1.8);
        Ok(tried)
    }
}
