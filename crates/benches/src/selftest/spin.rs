//! Known truth: reads the clock until a given number of nanoseconds has passed.
//!
//! **Measures:** Only the harness: the value has to be the parameter, within 0.5 % or two steps of
//! the clock.
//!
//! **Method:** The ends of the iterations of one interval are computed in advance, one span apart.
//! If each iteration began at its own reading of the clock, each would be longer by half a reading,
//! which is more than 0.5 % of 1 us.
//!
//! **Pitfalls:** The clock must be the harness's own, or two clocks are compared.
//!
//! **Sources:** See docs/methods/operating-system.md#self-tests and
//! docs/methods/validation.md#guards.

use groma_harness::prelude::*;
use groma_harness::sys::clock::{Clock, Monotonic};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "A spin of known length, to check the harness",
        about: about!("spin.rs"),
        iteration: "one spin of that length",
        params: &[Param::count("span_ns", "nanoseconds that one iteration lasts")
            .quick(&["1000"])
            .standard(&["10000", "100000", "1000000"])],
        tier: Tier::Named,
        ..Info::new("selftest.spin")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let span_ns = ctx.int("span_ns");
    ctx.measure(|iters| {
        let mut end = Monotonic.now_ns();
        for _ in 0..iters {
            end += span_ns;
            while Monotonic.now_ns() < end {}
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn no_sample_is_shorter_than_its_spins() {
        for (typed, span_ns) in [("1000", 1000), ("100000", 100_000)] {
            let tried = try_out(&BENCH, &[("span_ns", typed)], None).expect("a clock");
            let series = tried.result.series("").expect("samples");
            assert!(series.samples.len() >= 3);
            for sample in &series.samples {
                assert!(sample.elapsed_ns >= sample.iters * span_ns, "{sample:?}");
            }
        }
    }
}
