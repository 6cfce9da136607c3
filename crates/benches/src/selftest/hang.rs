//! Never returns from its measured loop: the round has to end at its deadline as `timeout`.
//!
//! **Measures:** Nothing.
//!
//! **Method:** It sleeps for ever rather than spin on a CPU.
//!
//! **Sources:** See docs/methods/operating-system.md#self-tests.

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
