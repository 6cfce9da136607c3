//! Checking whether a signal may be sent: `kill` of the own process with signal 0, by number.
//!
//! **Measures:** The entry into the kernel, the lookup of the process by its id, and the permission
//! check; nothing is sent. It is the part of sending that precedes any signal (`signal.catch.check`
//! is its counterpart for a thread).
//!
//! **Does not measure:** Sending or delivering a signal (`signal.catch`), or a signal to another
//! process (`signal.rtt`).
//!
//! **Method:** Many calls in one short interval, each answer checked. The proof is the same loop in
//! a child cut off from the kernel.
//!
//! **Pitfalls:**
//! - lmbench subtracts it, from another run, from the cost of catching, and prints nothing when the
//!   rest is not positive. Here it is its own metric.
//! - A process group or -1 instead of a process makes the kernel walk over many.
//!
//! **Sources:** lmbench3 `lat_sig catch`, whose baseline it is. See
//! docs/methods/operating-system.md#signals.

use crate::work::{self, ANSWERED};
use groma_harness::prelude::*;
use groma_harness::sys::raw;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "System call: kill of oneself with signal 0, by number",
        about: about!("kill.rs"),
        iteration: "one kill",
        tier: Tier::Standard,
        ..Info::new("signal.kill")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let own = sys::process::id();
    work::calls::<0>(ctx, "kill", ANSWERED, || raw::kill_nothing(own))
}
