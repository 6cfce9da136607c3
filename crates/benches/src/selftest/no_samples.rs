//! Ends without an error and without a measurement: the round has to be `failed`.
//!
//! **Measures:** Nothing.
//!
//! **Method:** It returns at once; a round without samples has no value.
//!
//! **Sources:** See docs/methods/operating-system.md#self-tests.

use groma_harness::prelude::*;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Measures nothing: must come back as failed",
        about: about!("no_samples.rs"),
        tier: Tier::Named,
        ..Info::new("selftest.no_samples")
    },
    run: Run::Here(|_| Ok(())),
};

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::model::State;
    use groma_harness::testing::{try_failing, try_out};

    #[test]
    fn has_no_samples_and_so_fails() {
        let tried = try_failing(&BENCH, &[], None).expect("nothing can go wrong").result;
        assert!(tried.output.series.is_empty());
        assert_eq!((tried.state, tried.reason.as_str()), (State::Failed, "took no samples"));
        assert_eq!(try_out(&BENCH, &[], None).err(), Some(BenchError::Failed("took no samples".to_owned())));
    }
}
