//! Installing a signal handler: `rt_sigaction`, by number.
//!
//! **Measures:** One system call that reads a new action and writes back the old one, as
//! `sigaction` with both arguments does, without libc's copies between its own structure and the
//! kernel's. No signal is sent.
//!
//! **Does not measure:** Sending or catching a signal (`signal.catch`), or libc's `sigaction` and
//! `signal`.
//!
//! **Method:** Two actions replace each other, many times in one short interval. The proof is that
//! the kernel reports the other of the two as replaced, every time.
//!
//! **Pitfalls:** libc's wrapper is a separate cost, and `signal` is yet another one; sandboxes may
//! keep their own table of handlers.
//!
//! **Sources:** lmbench 1996 table 8; lmbench3 `lat_sig install`. See
//! docs/methods/operating-system.md#signals.

use super::PROCESSES;
use groma_harness::prelude::*;
use groma_harness::sys::signals::{Swap, USER_2};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Installing a signal handler: rt_sigaction, by number",
        about: about!("install.rs"),
        iteration: "one rt_sigaction that installs an action and returns the old one",
        scaling: PROCESSES,
        ..Info::new("signal.install")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let mut swap = Swap::new(USER_2).context("installing a handler")?;
    let mut replaced = 0u64;
    ctx.measure(|iters| {
        for _ in 0..iters {
            replaced += u64::from(swap.turn());
        }
        Ok(())
    })?;
    let each = replaced as f64 / ctx.iterations() as f64;
    ctx.prove("calls that replaced the other handler, per call", "exactly 1", each, 1.0..=1.0);
    Ok(())
}
