//! Forks with a second thread: the fork must be refused and the round `failed`, with the reason.
//!
//! **Measures:** Nothing.
//!
//! **Method:** It starts a thread and then forks. A lock that another thread holds during a fork
//! stays locked in the child for ever, so a worker that has started a thread must not fork any
//! more. The rule is enforced in workers, not in unit tests.
//!
//! **Sources:** See docs/methods/operating-system.md#self-tests.

use groma_harness::prelude::*;
use groma_harness::sys::thread;
use std::sync::mpsc;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Forks with two threads: must be refused and come back as failed",
        about: about!("fork_after_thread.rs"),
        tier: Tier::Named,
        ..Info::new("selftest.fork_after_thread")
    },
    run: Run::Here(run),
};

/// Enough to wait for a message.
const STACK: usize = 128 << 10;

fn run(ctx: &mut Ctx) -> Outcome {
    // The thread ends when the sender is dropped.
    let (_sender, receiver) = mpsc::channel::<()>();
    thread::spawn(STACK, move || receiver.recv()).context("starting a thread")?;
    ctx.fork_peer(&[], || 0)?.wait().context("waiting for a child that should not exist")?;
    Err(BenchError::Failed("the fork was not refused".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn says_so_where_the_rule_is_off() {
        let stop = try_out(&BENCH, &[], None).expect_err("it never measures");
        assert_eq!(stop, BenchError::Failed("the fork was not refused".to_owned()));
    }
}
