//! Reading the clock that all benchmarks are timed with.
//!
//! **Measures:** One read of the harness's clock (CLOCK_MONOTONIC_RAW, or MONOTONIC where RAW is
//! slow) through the C library and, where the kernel offers it, the vDSO: what the two readings
//! around an interval add to it.
//!
//! **Does not measure:** The cycle counter (`clock.counter`).
//!
//! **Method:** Many reads back to back in one short interval. Each is compared with the one before:
//! a clock that runs backwards disqualifies all other results.
//!
//! **Pitfalls:**
//! - Where the kernel's clock source is no counter of the CPU (hpet, acpi_pm, old xen), each read
//!   is a system call and many times as expensive. The figure is then right, but every short
//!   interval is less accurate.
//! - Reads back to back overlap a little. A read that has to wait for the work before it costs
//!   more.
//!
//! **Sources:** CSE 221 "measurement overhead" (the cost of reading time, from 250,000 pairs);
//! lmbench3 `timing_o`. See docs/methods/processor.md#clock-read.

use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::clock::{Clock, Monotonic};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Reading the harness's own clock, back to back",
        about: about!("read.rs"),
        iteration: "one read of the clock",
        ..Info::new("clock.read")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let mut last = Monotonic.now_ns();
    let (mut moved, mut stood, mut backwards) = (0u64, 0u64, 0u64);
    ctx.measure(|iters| {
        for _ in 0..iters {
            let now = Monotonic.now_ns();
            moved += u64::from(now > last);
            stood += u64::from(now == last);
            backwards += u64::from(now < last);
            last = now;
        }
        Ok(())
    })?;
    super::prove_forwards(ctx, backwards);
    work::once_each(ctx, "readings compared, per read credited", moved + stood + backwards, ctx.iterations());
    // A clock whose step is longer than a read moves only once in as many reads as fit in a step.
    let least = 0.5 * (ctx.host().clock_cost_ns / ctx.host().clock_step_ns).min(1.0);
    let share = moved as f64 / ctx.iterations().max(1) as f64;
    ctx.prove("share of reads at which the clock had moved", &format!("{least:.1e} or more"), share, least..=1.0);
    Ok(())
}
