//! Entering a namespace that exists.
//!
//! **Measures:** One `setns` of the calling thread: what a container engine does to run a command
//! in a container, and a network agent to look after its interfaces.
//!
//! **Does not measure:** Making a namespace (`isolation.namespace`).
//!
//! **Method:** The worker has made a second namespace of the kind and goes there and back, many
//! times in one short interval. The value is one call.
//!
//! **Proofs:** Every call was answered with 0; after the first of the last pair of each interval
//! the thread is in the other namespace, by its number below `/proc`, and afterwards in its own.
//!
//! **Pitfalls:** It takes CAP_SYS_ADMIN over both namespaces: `denied` to an ordinary user.
//!
//! **Sources:** None of the earlier suites. See docs/methods/operating-system.md#isolation.

use crate::work::{self, Done};
use groma_harness::prelude::*;
use groma_harness::sys::namespaces::Crossing;
use std::io;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Entering a namespace that exists: setns",
        about: about!("enter.rs"),
        iteration: "two setns: there and back",
        params: &[Param::word("kind", "the namespace that is entered", &["net", "uts", "ipc", "cgroup"])
            .quick(&["net"])
            .full(&["uts", "ipc", "cgroup"])],
        scaling: Scaling::processes("each copy makes a namespace of its own"),
        interference: Interference::Tasks,
        target_half_width: 0.02,
        tier: Tier::Standard,
        ..Info::new("isolation.enter")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let kind = ctx.word("kind");
    let crossing = Crossing::new(kind).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => BenchError::Unsupported(format!("this kernel has no {kind} namespaces")),
        _ => BenchError::from_io("making a second namespace", &error),
    })?;
    let (crossed, mut seen, mut intervals) = (Done::new(), 0u64, 0u64);
    ctx.measure_variants(&mut [Variant::staged("", |iters, watch| {
        let mut right = 0;
        watch.start();
        for _ in 1..iters {
            right += u64::from(crossing.there() == 0) + u64::from(crossing.back() == 0);
        }
        right += u64::from(crossing.there() == 0);
        watch.stop();
        let there = crossing.is_there().context("looking at the namespace")?;
        watch.start();
        right += u64::from(crossing.back() == 0);
        watch.stop();
        let here = !crossing.is_there().context("looking at the namespace")?;
        seen += u64::from(there && here);
        intervals += 1;
        crossed.add(right);
        if right == 2 * iters {
            return Ok(());
        }
        Err(BenchError::Failed(format!("{right} of {} calls of setns succeeded", 2 * iters)))
    })
    .per_iter(2.0)])?;
    work::once_each(ctx, "calls of setns answered, per call credited", crossed.count(), 2 * ctx.iterations());
    work::once_each(ctx, "intervals whose last pair went there and back", seen, intervals);
    Ok(())
}
