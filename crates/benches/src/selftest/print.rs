//! Prints to standard output, in the very words of a worker's result; the round has to be `ok` and its value its own.
//!
//! Measures a short arithmetic chain, of no interest.
//!
//! Source: architecture.md, the selftest family.

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

/// A complete result, if anybody took standard output for the protocol.
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
