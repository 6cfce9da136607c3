//! Evidence that several benchmarks give in the same words.

use groma_harness::Ctx;
use groma_harness::sys::counters::{self, Usage};
use groma_harness::sys::process::Exit;

/// CPU time below which the split between user and kernel proves nothing: most kernels sample it at ticks of 1 to 10 ms, and
/// round it by what few ticks saw (seen here: 0 % of 3 ms of system calls).
const ENOUGH_CPU_NS: u64 = 100_000_000;

/// Every call returned what it has to: the operation happened. `wrong` counts those that did not.
pub(crate) fn returned_right(ctx: &mut Ctx, wrong: u64) {
    ctx.prove("calls that returned something else", "0", wrong as f64, 0.0..=0.0);
}

/// The share of the thread's CPU time since `before` that was spent in the kernel: a system call spends most of it there, a
/// call that a library answers spends none.
pub(crate) fn kernel_time(ctx: &mut Ctx, before: &Usage) {
    let used = Usage::thread().since(before);
    if used.user_ns + used.system_ns < ENOUGH_CPU_NS {
        return;
    }
    if let Some(share) = used.system_share() {
        ctx.prove("share of CPU time in the kernel", "above 0.2", share, 0.2..);
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
