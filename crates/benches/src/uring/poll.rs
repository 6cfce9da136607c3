//! Polling through io_uring a pipe that is already readable.
//!
//! **Measures:** One `poll_add` operation from submission to completion: the rings, entering the
//! pipe's wait queue, polling the pipe, and leaving the queue. Compared with `ready.poll count=1
//! ready=all` it shows what the rings add; compared with `uring.nop batch=1`, what the polling
//! costs.
//!
//! **Does not measure:** Waiting or waking.
//!
//! **Method:** Many operations in one short interval, one at a time, by number. Each completion
//! must carry the number of its operation and report the pipe as readable. The proof is the same
//! loop in a child cut off from the kernel.
//!
//! **Pitfalls:** Where io_uring is missing, the reason is reported (`uring.nop`).
//!
//! **Sources:** See docs/methods/operating-system.md#io_uring.

use crate::entry;
use crate::rings::rings;
use crate::work::Done;
use groma_harness::prelude::*;
use groma_harness::sys::io::{pipe, write_full};
use std::os::fd::AsFd;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "io_uring: poll of a pipe that can be read",
        about: about!("poll.rs"),
        iteration: "one poll_add, submitted and completed",
        tier: Tier::Standard,
        ..Info::new("uring.poll")
    },
    run: Run::Here(run),
};

/// `POLLIN`, the same on every architecture.
const READABLE: i32 = 1;

fn run(ctx: &mut Ctx) -> Outcome {
    let mut ring = rings(1)?;
    let (near, far) = pipe().context("making a pipe")?;
    write_full(far.as_fd(), &[1]).context("writing to the pipe")?;
    let mut number = 0u64;
    let done = Done::new();
    let mut body = |iters| {
        let mut right = 0;
        for _ in 0..iters {
            number += 1;
            ring.push_poll(near.as_fd(), number);
            ring.enter(1);
            right +=
                u64::from(ring.pop().is_some_and(|c| c.data == number && c.result >= 0 && c.result & READABLE == 1));
        }
        done.add(right);
        if right == iters {
            Ok(())
        } else {
            Err(BenchError::Failed(format!("the pipe was ready {right} times of {iters}")))
        }
    };
    ctx.measure(&mut body)?;
    done.prove(ctx, "completions that told the pipe ready, per poll credited");
    entry::asks_the_kernel(ctx, body);
    Ok(())
}
