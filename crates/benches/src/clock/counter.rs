//! Reading the CPU's own counter of time: `tsc` on x86-64, `cntvct_el0` on aarch64, `time` on riscv64.
//!
//! Measures one read with the fences around it that keep the work to be timed on its side of the reading: what the
//! shortest measurements pay. Not the counter's step, and not cycles of the core: this counter ticks at one rate whatever
//! the core's clock does.
//!
//! Method: many reads back to back in one short interval. Each is compared with the one before, and the rate that the
//! whole measurement shows with the rate that the run began with: a virtual machine that was moved in between, or a
//! counter that stops in sleep, shows itself here.
//!
//! Traps: without fences neighbouring reads overlap each other and the work; a counter whose rate changes with the core's
//! clock is no clock (then this is unsupported, with the reason).
//!
//! Source: CSE 221 "measurement overhead"; the counter replaces lmbench's `gettimeofday`.

use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::arch::{COUNTER_NAME, counter_start, counter_usable};
use groma_harness::sys::clock::{Clock, Monotonic};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Reading the CPU's counter of time, between fences",
        about: about!("counter.rs"),
        iteration: "one read between fences",
        lineage: &["cse221:measurement_overhead"],
        tier: Tier::Standard,
        ..Info::new("clock.counter")
    },
    run: Run::Here(run),
};

/// How far the rate may be from that of the preflight. Both are good to a few millionths; a wrong counter is off by more
/// than this.
const RATE_ERROR: f64 = 500e-6;

fn run(ctx: &mut Ctx) -> Outcome {
    counter_usable().map_err(BenchError::Unsupported)?;
    let begin = counter_and_clock();
    let (mut last, mut backwards) = (begin.0, 0u64);
    let mut forwards = 0;
    ctx.measure(|iters| {
        for _ in 0..iters {
            let now = counter_start();
            backwards += u64::from(now < last);
            forwards += u64::from(now >= last);
            last = now;
        }
        Ok(())
    })?;
    let end = counter_and_clock();
    super::prove_forwards(ctx, backwards);
    work::once_each(ctx, "readings that were not before the last, per reading credited", forwards, ctx.iterations());
    let rate = end.0.saturating_sub(begin.0) as f64 / (end.1 - begin.1) * 1e9;
    ctx.fact("counter", COUNTER_NAME);
    ctx.fact("counter.hz", rate);
    if let Some(expected) = ctx.host().counter_hz {
        let range = 1.0 - RATE_ERROR..=1.0 + RATE_ERROR;
        ctx.prove("rate of the counter over that before the run", "1 within 0.05 %", rate / expected, range);
    }
    Ok(())
}

/// The counter, and the clock in the middle of reading it: of several tries the one that nothing came between.
fn counter_and_clock() -> (u64, f64) {
    let tries = (0..16).map(|_| {
        let before = Monotonic.now_ns();
        let counter = counter_start();
        let after = Monotonic.now_ns();
        (after.saturating_sub(before), counter, before as f64 + after.saturating_sub(before) as f64 / 2.0)
    });
    tries.min_by_key(|(width, ..)| *width).map_or((0, 0.0), |(_, counter, clock)| (counter, clock))
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn counts_forwards_at_a_rate() {
        let tried = match try_out(&BENCH, &[], None) {
            Ok(tried) => tried,
            Err(BenchError::Unsupported(why)) => return assert!(!why.is_empty()),
            Err(stop) => panic!("{stop}"),
        };
        assert!(tried.iterations > 1000);
        assert_eq!(tried.proven("reads that ran backwards"), 0.0);
        let hz = tried.result.fact("counter.hz").and_then(|v| v.parse::<f64>().ok());
        // Boards count at 1 MHz and more, no machine above 10 GHz.
        assert!(hz.is_some_and(|hz| (1e6..1e10).contains(&hz)), "{hz:?}");
    }
}
