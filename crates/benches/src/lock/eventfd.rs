//! An event counter (eventfd) that one task writes and reads itself.
//!
//! **Measures:** A write and a read of an `eventfd`, through the C library, where neither waits.
//!
//! **Does not measure:** Waking another task (`ipc.eventfd_rtt`).
//!
//! **Method:** Many pairs in one short interval; each read must return the 1 that was added. The
//! proof is the same loop in a child cut off from the kernel.
//!
//! **Pitfalls:** will-it-scale `eventfd1` measures this and calls it communication.
//!
//! **Sources:** will-it-scale `eventfd1`. See docs/methods/operating-system.md#locks.

use crate::work::{Done, measure_calls};
use groma_harness::prelude::*;
use groma_harness::sys::io::{read_full, write_full};
use groma_harness::sys::kernel_objects;
use std::os::fd::AsFd;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Event counter (eventfd) that nobody waits for: write and read",
        about: about!("eventfd.rs"),
        iteration: "one write and one read",
        tier: Tier::Standard,
        ..Info::new("lock.eventfd")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let counter = kernel_objects::eventfd().context("making an event counter")?;
    let done = Done::new();
    measure_calls(ctx, "units taken from the counter, per iteration credited", &done, |iters| {
        let mut sum = 0;
        for _ in 0..iters {
            let mut count = [0; 8];
            write_full(counter.as_fd(), &1u64.to_ne_bytes()).context("adding to the counter")?;
            read_full(counter.as_fd(), &mut count).context("reading the counter")?;
            sum += u64::from_ne_bytes(count);
        }
        done.add(sum);
        if sum == iters {
            Ok(())
        } else {
            Err(BenchError::Failed(format!("the reads of the counter add up to {sum}, not {iters}")))
        }
    })
}
