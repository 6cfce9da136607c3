//! Ends well without having measured anything; the round has to be `failed`: took no samples.
//!
//! Measures nothing.
//!
//! Source: architecture.md, the selftest family.

use groma_harness::prelude::*;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Measures nothing: must come back as failed",
        about: about!("no_samples.rs"),
        default: false,
        ..Info::new("selftest.no_samples")
    },
    run: Run::Here(|_| Ok(())),
};

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn has_no_samples() {
        assert!(try_out(&BENCH, &[], None).expect("nothing can go wrong").result.series.is_empty());
    }
}
