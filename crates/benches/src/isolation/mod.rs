//! What containers and sandboxes cost: namespaces, control groups, mounts, filters of system calls,
//! supervisors, and probes that watch them. See docs/methods/operating-system.md#isolation.

use crate::work::Done;
use groma_harness::model::Family;
use groma_harness::model::family::{Figure, Say, first, first_with};
use groma_harness::prelude::*;

mod namespace;
mod filter;
mod supervisor;
mod container;
mod control_group;
mod landlock;
mod enter;
mod mount;
mod veth;
mod tracepoint;
mod uprobe;

pub(crate) static ABOUT: Family = Family {
    name: "isolation",
    summary: "Namespaces, control groups, filters and probes: what containers are made of",
    says: Say::Each(&[
        Say::Text(
            "a network namespace costs {}",
            &[Figure::Value(first_with("isolation.namespace", &[("kind", "net")]))],
        ),
        Say::Text("a supervised system call {}", &[Figure::Value(first("isolation.supervisor"))]),
    ]),
    rows: &[],
};

pub(crate) const ALL: &[&Benchmark] = listed!("isolation");

/// Measures what makes something and what removes it, as the series of these names, in turns and
/// each call alone. `there` says whether it is there.
fn toggle(
    ctx: &mut Ctx,
    [made, removed]: [&'static str; 2],
    make: impl Fn() -> Outcome,
    remove: impl Fn() -> Outcome,
    there: impl Fn() -> Result<bool, BenchError>,
) -> Outcome {
    let (done_made, done_removed) = (Done::new(), Done::new());
    let seen = |done: &Done, wanted: bool| -> Outcome {
        done.add(u64::from(there()? == wanted));
        Ok(())
    };
    ctx.measure_variants(&mut [
        Variant::staged(made, |iters, watch| {
            for _ in 0..iters {
                watch.start();
                make()?;
                watch.stop();
                seen(&done_made, true)?;
                remove()?;
            }
            Ok(())
        }),
        Variant::staged(removed, |iters, watch| {
            for _ in 0..iters {
                make()?;
                watch.start();
                remove()?;
                watch.stop();
                seen(&done_removed, false)?;
            }
            Ok(())
        }),
    ])?;
    done_made.prove_of(ctx, made, "there after each call that makes, per call credited");
    done_removed.prove_of(ctx, removed, "gone after each call that removes, per call credited");
    Ok(())
}
