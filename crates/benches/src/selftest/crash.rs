//! Reads forbidden memory: the round has to be `failed` and report the signal.
//!
//! **Measures:** Nothing.
//!
//! **Method:** It makes a real bad access, because a raised SIGSEGV does not end a Rust process. No
//! core file is written.
//!
//! **Sources:** See docs/methods/operating-system.md#self-tests.

use groma_harness::prelude::*;
use groma_harness::sys::{process, trap};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Crashes: must come back as failed, with the signal",
        about: about!("crash.rs"),
        tier: Tier::Named,
        ..Info::new("selftest.crash")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    process::no_core_file();
    ctx.measure(|_| trap::read_forbidden_page().context("crashing"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::sys::fork;
    use groma_harness::testing::try_out;

    #[test]
    fn is_ended_by_a_signal() {
        /// SIGSEGV on every architecture of Linux.
        const BAD_ACCESS: i32 = 11;
        let child = fork::fork(|| i32::from(try_out(&BENCH, &[], None).is_ok())).expect("fork");
        assert_eq!(child.wait().expect("wait").signal(), Some(BAD_ACCESS));
    }
}
