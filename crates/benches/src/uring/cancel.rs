//! Starting an operation of io_uring that waits, and cancelling it before it is over.
//!
//! **Measures:** Two operations by one `io_uring_enter`: one begins to wait, the next cancels it.
//! Servers do this for each request that has a deadline and is in time.
//! - `timeout`: a time-out of 10 s.
//! - `poll`: data in a pipe that has none.
//!
//! **Does not measure:** How late a time-out ends (`timer.sleep`), or a receive that is cancelled
//! while data arrive.
//!
//! **Method:** Many pairs in one short interval, by number. Compare `timer.arm length=10s`, which
//! does the same by two system calls.
//!
//! **Calls:**
//! - no trace of `kind`: the kernel reads the operations from memory
//!
//! **Proofs:** The operation that waited ends with ECANCELED, and the one that cancelled it with 0;
//! every pair enters the kernel.
//!
//! **Pitfalls:** The kernel finds what is to be cancelled by its data: with thousands of operations
//! under way the search takes longer.
//!
//! **Sources:** The kernel's documentation of `io_uring_enter`. See
//! docs/methods/operating-system.md#io_uring.

use crate::rings::rings;
use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::io::pipe;
use groma_harness::sys::uring::Awaited;
use std::os::fd::AsFd;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "io_uring: an operation that waits, started and cancelled",
        about: about!("cancel.rs"),
        iteration: "one io_uring_enter that starts an operation and cancels it",
        params: &[Param::word("kind", "what the operation waits for", &["timeout", "poll"])
            .quick(&["timeout"])
            .standard(&["poll"])],
        tier: Tier::Standard,
        ..Info::new("uring.cancel")
    },
    run: Run::Here(run),
};

/// Longer than any round: the time-out never ends by itself.
const TIMEOUT_NS: u64 = 10_000_000_000;

fn run(ctx: &mut Ctx) -> Outcome {
    let mut ring = rings(2)?;
    let (out, _into) = pipe().context("making a pipe")?;
    let awaited = match ctx.word("kind") {
        "poll" => Awaited::Readable(out.as_fd()),
        _ => Awaited::Timeout(TIMEOUT_NS),
    };
    // The first one says whether the kernel knows both operations.
    ring.start_and_cancel(awaited).context("io_uring_enter")?;
    work::checked_calls(ctx, "cancelling an operation", "operations cancelled per operation credited", || {
        ring.start_and_cancel(awaited).is_ok_and(|cancelled| cancelled)
    })
}
