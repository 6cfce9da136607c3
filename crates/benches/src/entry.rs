//! Evidence of whether a loop enters the kernel.
//!
//! The loop's body runs in a child behind a filter that refuses every system call. This is exact
//! where the share of CPU time in the kernel is not. Most kernels account that share by ticks of 4
//! ms, and over the 20 ms of a round one in twenty loops of nothing but system calls shows less
//! than a fifth of it. See docs/methods/operating-system.md#kernel-entry.

use groma_harness::prelude::*;
use groma_harness::sys::filter::cut_off;

/// Iterations that the child runs, each by itself. The number of failures is its exit code, so it
/// must differ from [`NO_FILTER`] and from the exit code of a panic.
const TRIES: i32 = 100;
/// The child's exit code where the kernel has no system call filters.
const NO_FILTER: i32 = 255;
/// The name of the proof.
const NAME: &str = "calls of 100 that the kernel was asked for";

/// Proves that every iteration of the measured body enters the kernel: without the kernel it fails.
pub(crate) fn asks_the_kernel(ctx: &mut Ctx, body: impl FnMut(u64) -> Outcome) {
    if let Some(asked) = failures_without_kernel(ctx, body) {
        ctx.prove(NAME, "100", f64::from(asked), 100.0..=100.0);
    }
}

/// Proves that no iteration enters the kernel; `Unsupported` where one does.
pub(crate) fn never_asks_the_kernel(ctx: &mut Ctx, body: impl FnMut(u64) -> Outcome) -> Outcome {
    if let Some(asked) = failures_without_kernel(ctx, body) {
        // More failures than tries means a panic: not a reason, and the proof breaks.
        if (1..=TRIES).contains(&asked) {
            return Err(BenchError::Unsupported(
                "the kernel is entered here, through the C library, or for want of a vDSO or of a clock that it can \
                 read"
                    .into(),
            ));
        }
        ctx.prove(NAME, "0", f64::from(asked), 0.0..=0.0);
    }
    Ok(())
}

/// How many iterations failed without the kernel; `None` and a remark where that cannot be tried.
fn failures_without_kernel(ctx: &mut Ctx, mut body: impl FnMut(u64) -> Outcome) -> Option<i32> {
    // A member of a worker group runs the same code as a lone worker, and threads must not fork.
    if ctx.workers() > 1 {
        return None;
    }
    let child = ctx.fork_peer(&[], || match cut_off() {
        Err(_) => NO_FILTER,
        Ok(()) => (0..TRIES).map(|_| i32::from(body(1).is_err())).sum(),
    });
    let why = match child.and_then(|child| Ok(child.wait()?)) {
        Ok(exit) => match exit.code() {
            Some(NO_FILTER) => "the kernel has no system call filters".to_owned(),
            Some(asked) => return Some(asked),
            None => format!("the child {exit}"),
        },
        Err(stop) => stop.to_string(),
    };
    ctx.note(format!("kernel entry was not checked: {why}"));
    None
}

/// For tests of the system calls that a benchmark makes.
#[cfg(test)]
pub(crate) mod testing {
    use groma_harness::sys::{filter, thread, trace};
    use std::ffi::c_long;

    /// Runs `body` in a thread for which, and for whose children, the kernel refuses these calls
    /// with this error number; `None` where the kernel has no filters.
    pub(crate) fn without<T: Send + 'static>(
        names: &[&str],
        error: i32,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let is_named = |number: &u64| trace::call_name(*number).is_some_and(|name| names.contains(&name));
        let numbers: Vec<c_long> = (0..1000).filter(is_named).map(|number| number as c_long).collect();
        assert_eq!(numbers.len(), names.len(), "{names:?}");
        let denied = thread::spawn(1 << 20, move || filter::deny(&numbers, error).ok().map(|()| body()));
        denied.expect("a thread").join().expect("no panic")
    }
}
