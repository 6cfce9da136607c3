//! Evidence of whether a loop enters the kernel: it is run in a child that is cut off from the kernel.
//!
//! Exact where the share of CPU time in the kernel is not: that is counted by ticks of 4 ms on most kernels, and over the
//! 20 ms of a round one in twenty loops of nothing but system calls shows less than a fifth of it.

use groma_harness::prelude::*;
use groma_harness::sys::filter::cut_off;

/// Iterations that the child runs, each by itself; fits into an exit code and differs from that of a panic.
const TRIES: i32 = 100;
/// The child's exit code where the kernel has no filters.
const NO_FILTER: i32 = 255;
/// What is proven.
const NAME: &str = "calls of 100 that the kernel was asked for";

/// Every iteration of the measured body asks the kernel: without the kernel it fails.
pub(crate) fn asks_the_kernel(ctx: &mut Ctx, body: impl FnMut(u64) -> Outcome) {
    if let Some(asked) = asked(ctx, body) {
        ctx.prove(NAME, "100", f64::from(asked), 100.0..=100.0);
    }
}

/// The opposite: no iteration does; `Unsupported` where one does.
pub(crate) fn never_asks_the_kernel(ctx: &mut Ctx, body: impl FnMut(u64) -> Outcome) -> Outcome {
    if let Some(asked) = asked(ctx, body) {
        // More than were tried is a panic: no reason, and no proof.
        if (1..=TRIES).contains(&asked) {
            return Err(BenchError::Unsupported(
                "the kernel is entered for it here, by the C library or a missing vDSO".into(),
            ));
        }
        ctx.prove(NAME, "0", f64::from(asked), 0.0..=0.0);
    }
    Ok(())
}

/// How many iterations failed without the kernel; `None`, and a remark, where it cannot be tried.
fn asked(ctx: &mut Ctx, mut body: impl FnMut(u64) -> Outcome) -> Option<i32> {
    // A member of a worker group runs the same code as a worker alone; and threads must not fork.
    if ctx.workers() > 1 {
        return None;
    }
    let child = ctx.fork_peer(&[], || match cut_off() {
        Err(_) => NO_FILTER,
        Ok(()) => (0..TRIES).map(|_| i32::from(body(1).is_err())).sum(),
    });
    let why = match child.and_then(|child| Ok(child.wait()?)) {
        Ok(exit) => match exit.code() {
            Some(NO_FILTER) => "it has no filters of system calls".to_owned(),
            Some(asked) => return Some(asked),
            None => format!("the child {exit}"),
        },
        Err(stop) => stop.to_string(),
    };
    ctx.note(format!("not tried whether the kernel is entered: {why}"));
    None
}
