//! Panics in its measured loop: the round has to be `failed` and report the message.
//!
//! **Measures:** Nothing.
//!
//! **Method:** It panics in the first iteration. The other rounds and benchmarks of the run go on.
//!
//! **Sources:** See docs/methods/operating-system.md#self-tests.

use groma_harness::prelude::*;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Panics: must come back as failed, with the message",
        about: about!("panic.rs"),
        tier: Tier::Named,
        ..Info::new("selftest.panic")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    ctx.measure(|_| panic!("on purpose"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    #[should_panic(expected = "on purpose")]
    fn panics() {
        drop(try_out(&BENCH, &[], None));
    }
}
