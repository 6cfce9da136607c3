//! Resolution of the harness's clock.
//!
//! **Measures:** The step by which the clock advances, as seen by a program that reads it
//! repeatedly: the most frequent difference of successive readings that differ. Where a read takes
//! longer than the step, this is the time of a read: an upper bound, and safe for choosing how long
//! to time. The value describes the clock; smaller is not better.
//!
//! **Does not measure:** How long a read takes (`clock.read`), how accurate the clock's rate is
//! (`clock.rate`), or whether clocks of different CPUs agree (`clock.offset`).
//!
//! **Method:** 100,000 consecutive readings, and the mode of their increments. The claimed
//! resolution (`clock_getres`) is only a fact beside it.
//!
//! **Pitfalls:**
//! - The claim says 1 ns where clocks advance by 10 ns or 4 ms.
//! - A single odd reading ruins the smallest increment and the greatest common divisor of all.
//!
//! **Sources:** lmbench3 `enough`, which does the same for `gettimeofday`. See
//! docs/methods/processor.md#clock-step.

use groma_harness::clock_properties;
use groma_harness::prelude::*;
use groma_harness::sys::clock::{Monotonic, claimed_resolution_ns};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Resolution of the harness's own clock, from successive readings",
        about: about!("step.rs"),
        iteration: "100000 readings",
        better: Some(Better::Neither),
        timing: Timing::Stated,
        scaling: Scaling::alone("there is one clock, and it states a value instead of taking samples"),
        tier: Tier::Standard,
        ..Info::new("clock.step")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let seen =
        clock_properties::poll(&Monotonic).ok_or_else(|| BenchError::Failed("the clock stands still".to_owned()))?;
    ctx.state(seen.step_ns * 1e-9);
    ctx.fact("clock.getres_ns", claimed_resolution_ns());
    super::prove_forwards(ctx, seen.backwards);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    /// What it claims, and what a reading takes, are other numbers.
    #[test]
    fn the_step_is_that_between_readings() {
        let step = || clock_properties::poll(&Monotonic).expect("a clock").step_ns * 1e-9;
        let stated = || try_out(&BENCH, &[], None).expect("a clock").stated("").expect("stated");
        let ratios: Vec<f64> = (0..5).map(|_| stated() / step()).collect();
        assert!(ratios.iter().any(|ratio| (0.7..1.4).contains(ratio)), "{ratios:?}");
    }

    #[test]
    fn states_one_step_and_the_claim() {
        let tried = try_out(&BENCH, &[], None).expect("every system has a clock");
        let values = tried.result.series("").map(|s| s.values.clone()).unwrap_or_default();
        assert_eq!(values.len(), 1);
        // Whole nanoseconds, 1 at least and no more than a tick of a HZ=100 kernel.
        let ns = values[0] * 1e9;
        assert!((ns - ns.round()).abs() < 1e-6 && (1.0..=1e7).contains(&ns), "{ns}");
        assert_eq!(tried.proven("reads that ran backwards"), 0.0);
        assert!(tried.result.output.facts.iter().any(|f| f.key == "clock.getres_ns"));
    }
}
