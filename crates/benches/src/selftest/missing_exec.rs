//! Executes a program that does not exist: the round has to be `failed`, without a value.
//!
//! **Measures:** Nothing.
//!
//! **Method:** It forks and executes, and checks the child's exit code every time. A fork whose
//! child cannot execute its program is faster than one whose child can: lmbench `lat_proc exec`
//! printed 343 us instead of 809 us without its program.
//!
//! **Sources:** See docs/methods/pitfalls.md#numbers-from-failures and
//! docs/methods/operating-system.md#self-tests.

use groma_harness::prelude::*;
use groma_harness::sys::process;
use groma_harness::sys::spawn::{Command, EXEC_FAILED};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Executes a missing program: must come back as failed, not as a time",
        about: about!("missing_exec.rs"),
        iteration: "one fork, exec and wait",
        timing: Timing::Each,
        scaling: Scaling::processes("it forks, which a process with threads must not"),
        interference: Interference::Tasks,
        tier: Tier::Named,
        ..Info::new("selftest.missing_exec")
    },
    run: Run::Here(run),
};

const MISSING: &str = "/nonexistent/groma-selftest";

fn run(ctx: &mut Ctx) -> Outcome {
    let command = Command::new(MISSING, &["groma-selftest"]).context("laying out the command")?;
    ctx.measure(|iters| {
        for _ in 0..iters {
            let child = command.fork_exec().context("forking")?;
            let exit = process::wait(child).context("waiting for the program")?;
            match exit.code() {
                Some(0) => {}
                Some(EXEC_FAILED) => return Err(BenchError::Failed(format!("{MISSING} could not be executed"))),
                _ => return Err(BenchError::Failed(format!("{MISSING} {exit}"))),
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn is_no_time() {
        let stop = try_out(&BENCH, &[], None).expect_err("the program is missing");
        assert_eq!(stop, BenchError::Failed("/nonexistent/groma-selftest could not be executed".to_owned()));
    }
}
