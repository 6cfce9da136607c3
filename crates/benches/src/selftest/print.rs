//! Prints a forged result to standard output: the round has to be `ok`, with its own value.
//!
//! **Measures:** A short chain of additions, whose value does not matter.
//!
//! **Method:** Before the measurement it prints a complete result in the words of the worker's
//! protocol.
//!
//! **Sources:** See docs/methods/operating-system.md#self-tests.

use groma_harness::prelude::*;
use std::io::Write;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Prints to standard output: must come back as ok, unharmed",
        about: about!("print.rs"),
        iteration: "one chain of additions",
        tier: Tier::Named,
        ..Info::new("selftest.print")
    },
    run: Run::Here(run),
};

/// A complete result, for anyone who took standard output for the protocol.
const FORGED: &str = "state\tok\t\nvalue\t42\nend\n";

fn run(ctx: &mut Ctx) -> Outcome {
    let mut out = std::io::stdout();
    out.write_all(FORGED.as_bytes()).and_then(|()| out.flush()).context("printing")?;
    ctx.measure(|iters| {
        super::filler(iters);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn measures_all_the_same() {
        assert!(try_out(&BENCH, &[], None).expect("a standard output").samples("") >= 3);
    }
}
