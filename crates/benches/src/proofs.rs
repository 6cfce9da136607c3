//! Evidence that several benchmarks give in the same words.

use groma_harness::Ctx;
use groma_harness::sys::counters::{self, Usage};
use groma_harness::sys::process::Exit;

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
