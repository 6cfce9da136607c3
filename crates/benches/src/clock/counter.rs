//! Reading the CPU's time counter: `tsc` on x86-64, `cntvct_el0` on aarch64, `time` on riscv64.
//!
//! **Measures:** One read with the fences around it that keep the timed work on its side of the
//! reading: the overhead of the shortest measurements.
//!
//! **Does not measure:** The counter's step, or core cycles: this counter ticks at a constant rate,
//! whatever the core clock does.
//!
//! **Method:** Many reads back to back in one short interval. Each is compared with the one before,
//! and the counter's rate over the whole measurement with its rate at the start of the run. That
//! detects a virtual machine that was migrated in between, and a counter that stops in sleep
//! states.
//!
//! **Pitfalls:**
//! - Without fences, neighbouring reads overlap each other and the work.
//! - A counter whose rate follows the core clock is no clock. The benchmark is then unsupported,
//!   with the reason.
//!
//! **Sources:** The counter replaces lmbench's `gettimeofday`. See
//! docs/methods/processor.md#counter-read.

use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::arch::{COUNTER_NAME, counter_start, counter_usable};
use groma_harness::sys::clock::{Clock, Monotonic};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Reading the CPU's time counter, between fences",
        about: about!("counter.rs"),
        iteration: "one read between fences",
        tier: Tier::Standard,
        ..Info::new("clock.counter")
    },
    run: Run::Here(run),
};

/// How far the rate may be from that of the preflight. Both are accurate to a few ppm; a faulty
/// counter is off by more than this.
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

/// The counter, and the clock at the middle of reading it. Of 16 tries, the one with the narrowest
/// bracket, in which nothing interrupted the reads.
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
