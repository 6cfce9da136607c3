//! Arming a timer and disarming it: what a time-out costs that does not happen.
//!
//! **Measures:** Two calls of `timerfd_settime`: one starts a timer, the next stops it. Servers do
//! this for each request that has a deadline. By `length`:
//! - `100us` is before whatever else the CPU waits for, so the kernel programs the hardware's
//!   timer, and again when the timer is stopped. In a virtual machine each of these may be an exit.
//! - `10s` is behind other timers: the kernel only keeps it.
//!
//! **Does not measure:** Making a timer, or how late one ends (`timer.sleep`).
//!
//! **Method:** Many pairs in one short interval. Stopping a timer tells what was left of it.
//!
//! **Proofs:** Of each timer something was left when it was stopped, and not more than it was
//! started with, but for those that ended meanwhile (a fact says how many); every call enters the
//! kernel.
//!
//! **Pitfalls:**
//! - With `100us`, a round in which the CPU already waits for something earlier has the cost of
//!   `10s`: values of both kinds are mixed (0.7 and 10 us on a guest of a guest).
//! - A task that is interrupted for longer than the timer lasts lets it end; such samples do not
//!   count.
//! - `slack` does not apply: a timer of a descriptor is exact.
//!
//! **Sources:** None of the earlier suites. See docs/methods/operating-system.md#sleep.

use crate::entry;
use crate::work::{self, Done};
use groma_harness::prelude::*;
use groma_harness::sys::raw;
use groma_harness::sys::ready::timer;
use std::cell::Cell;
use std::os::fd::AsFd;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Arming a timer, and disarming it before it ends",
        about: about!("arm.rs"),
        iteration: "two timerfd_settime: start and stop",
        params: &[Param::time("length", "how far away the timer's end is").quick(&["10s"]).standard(&["100us"])],
        tier: Tier::Standard,
        ..Info::new("timer.arm")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let length = ctx.int("length");
    let timer = timer().context("making a timer")?;
    let (stopped, ended) = (Done::new(), Cell::new(0u64));
    let mut body = |iters| {
        let (mut left, mut over) = (0, 0);
        for _ in 0..iters {
            match raw::arm_and_disarm(timer.as_fd(), length) {
                error @ ..0 => {
                    return Err(BenchError::from_io(
                        "timerfd_settime",
                        &std::io::Error::from_raw_os_error(-error as i32),
                    ));
                }
                0 => over += 1,
                rest => left += u64::from(rest as u64 <= length),
            }
        }
        stopped.add(left + over);
        ended.set(ended.get() + over);
        Ok(())
    };
    ctx.measure(&mut body)?;
    let share = ended.get() as f64 / ctx.iterations() as f64;
    work::once_each(ctx, "timers stopped per timer credited", stopped.count(), ctx.iterations());
    ctx.fact("timer.ended_percent", format!("{:.2}", 100.0 * share));
    entry::asks_the_kernel(ctx, body);
    Ok(())
}
