//! Waiting through io_uring for a pipe that can be read already.
//!
//! Measures one operation `poll_add` from submission to completion: the ring's own way, the place on the pipe's queue of
//! waiters, the look at the pipe, and the leaving of the queue. Beside `ready.poll count=1 ready=all` it says what the rings
//! add; beside `uring.nop batch=1` what the polling is. Does not measure waiting, nor waking.
//!
//! Method: many operations in one short interval, one at a time, by number. Each completion has to carry the number of its
//! operation and say that the pipe can be read. The proof is the same loop in a child cut off from the kernel.
//!
//! Traps: where io_uring is not there, the reason is told (`uring.nop`).
//!
//! Source: os-methods 2.20.

use super::rings;
use crate::entry;
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

/// `POLLIN`, on every architecture.
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
