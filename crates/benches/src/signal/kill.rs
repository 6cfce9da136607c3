//! Asking whether one may send a signal: `kill` of one's own process with signal 0, by number.
//!
//! Measures the entry into the kernel, the search for the process by its id, and the check of permission; nothing is sent.
//! It is the part of sending a signal that is there before any signal is (`signal.catch.check` is its like for a thread).
//!
//! Method: many calls in one short interval, each answer looked at. The proof is the same loop in a child cut off from the
//! kernel.
//!
//! Traps: lmbench takes it from what catching costs, in another run, and prints nothing when the rest is not positive; here
//! it is a metric of its own. A process group or -1 instead of a process makes the kernel walk over many.
//!
//! Source: lmbench3 `lat_sig catch`, whose baseline it is.

use crate::entry;
use crate::work::Done;
use groma_harness::prelude::*;
use groma_harness::sys::raw;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "System call: kill of oneself with signal 0, by number",
        about: about!("kill.rs"),
        iteration: "one kill",
        lineage: &["lmbench3:lat_sig catch"],
        tier: Tier::Standard,
        ..Info::new("signal.kill")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let own = sys::process::id();
    let done = Done::new();
    let mut body = |iters| {
        let (mut worst, mut right) = (0, 0);
        for _ in 0..iters {
            let answer = raw::kill_nothing(own);
            worst = answer.min(worst);
            right += u64::from(answer == 0);
        }
        done.add(right);
        if worst == 0 {
            Ok(())
        } else {
            Err(BenchError::from_io("kill", &std::io::Error::from_raw_os_error(-worst as i32)))
        }
    };
    ctx.measure(&mut body)?;
    done.prove(ctx, "calls answered as they should be, per call credited");
    entry::asks_the_kernel(ctx, body);
    Ok(())
}
