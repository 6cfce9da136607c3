//! Never comes back from its measured loop; the round has to be ended at its deadline and be `timeout`.
//!
//! Measures nothing, and sleeps for ever rather than burning a CPU.
//!
//! Source: architecture.md, the selftest family.

use groma_harness::prelude::*;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Hangs: must come back as timeout",
        about: about!("hang.rs"),
        tier: Tier::Named,
        ..Info::new("selftest.hang")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    ctx.measure(|_| {
        loop {
            std::thread::park();
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::sys::fork;
    use groma_harness::testing::try_out;
    use std::time::Duration;

    #[test]
    fn is_still_there_after_a_while() {
        let mut child = fork::fork(|| i32::from(try_out(&BENCH, &[], None).is_ok())).expect("fork");
        std::thread::sleep(Duration::from_millis(100));
        assert!(child.poll().expect("wait").is_none());
        assert_eq!(child.stop().expect("wait").code(), None);
    }
}
