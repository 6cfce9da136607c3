//! States a proof that does not hold: the round has to be `failed`, whatever its value.
//!
//! **Measures:** A short chain of additions, whose value does not matter.
//!
//! **Method:** After the measurement it states a proof that does not hold.
//!
//! **Sources:** See docs/methods/operating-system.md#self-tests.

use groma_harness::prelude::*;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Breaks its proof: must come back as failed, with the proof",
        about: about!("broken_proof.rs"),
        iteration: "one chain of additions",
        tier: Tier::Named,
        ..Info::new("selftest.broken_proof")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    ctx.measure(|iters| {
        super::filler(iters);
        Ok(())
    })?;
    ctx.prove("moons of the Earth", "2", 1.0, 2.0..=2.0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::model::State;
    use groma_harness::testing::{try_failing, try_out};

    #[test]
    fn has_samples_and_a_proof_that_does_not_hold() {
        let tried = try_failing(&BENCH, &[], None).expect("nothing can be missing");
        assert!(tried.samples("") >= 3);
        assert!(tried.result.output.proofs.iter().any(|p| p.name == "moons of the Earth" && !p.holds));
        let reason = "proof broken: moons of the Earth is 1, not 2";
        assert_eq!((tried.result.state, tried.result.reason.as_str()), (State::Failed, reason));
        assert_eq!(try_out(&BENCH, &[], None).err(), Some(BenchError::Failed(reason.to_owned())));
    }
}
