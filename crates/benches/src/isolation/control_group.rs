//! Making and removing a control group, and moving a process.
//!
//! **Measures:** A group made and removed again: what each container, service or job of a batch
//! system costs beside its process. `.move` is one move of the calling process to another group,
//! by writing to `cgroup.procs`. By `controller`, the hierarchy: the unified one of version 2, or
//! that of a controller of version 1 where the system has it mounted (on others they are the same
//! one).
//!
//! **Does not measure:** Limits at work (`vm.reclaim`), or a process that is started in a group.
//!
//! **Method:** The groups are below the one that the worker is in, or, where only the unified
//! hierarchy has the controller, below the nearest one that enables it for its children. The two
//! are timed in turns, each in batches. A group that owns the others is removed at the end by a
//! process that survives the worker.
//!
//! **Proofs:** Every group could be made where there was none and removed where there was one;
//! after the moves of an interval the process is in the group that it was moved to.
//!
//! **Pitfalls:**
//! - The kernel finishes the removal in the background.
//! - A move waits until all CPUs have seen it, unless the hierarchy is mounted with `favordynmods`:
//!   milliseconds where the others are busy.
//! - As an ordinary user, or in a container without a group of its own, it is `denied`.
//!
//! **Sources:** None of the earlier suites. See docs/methods/operating-system.md#isolation.

use crate::control_groups::own_group;
use crate::work::{self, Done};
use groma_harness::prelude::*;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Making and removing a control group; moving a process to one",
        about: about!("control_group.rs"),
        iteration: "a group made and removed, or two moves: there and back",
        outputs: &[Output::MAIN.series("group"), Output::named("move", "the calling process moved to another group")],
        params: &[Param::word(
            "controller",
            "the hierarchy: the unified one, or one that has this controller",
            &["unified", "cpu", "memory", "pids"],
        )
        .quick(&["unified"])
        .full(&["cpu", "memory", "pids"])],
        scaling: Scaling::processes("a move is of the whole process"),
        interference: Interference::Tasks,
        target_half_width: 0.05,
        tier: Tier::Standard,
        ..Info::new("isolation.control_group")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let controller = Some(ctx.word("controller")).filter(|word| *word != "unified");
    let group = own_group(controller)?;
    let (made, moved) = (Done::new(), Done::new());
    let both = |iters| {
        for _ in 0..iters {
            group.make_inner().context("making a control group")?;
            group.remove_inner().context("removing a control group")?;
            made.add(1);
        }
        Ok(())
    };
    let mut inside = 0u64;
    let mut intervals = 0u64;
    let moves = Variant::staged("move", |iters, watch| {
        let mut right = 0;
        watch.start();
        for _ in 1..iters {
            right += u64::from(group.enter() == 1) + u64::from(group.leave() == 1);
        }
        right += u64::from(group.enter() == 1);
        watch.stop();
        inside += group.members().context("asking for the members")? as u64;
        intervals += 1;
        watch.start();
        right += u64::from(group.leave() == 1);
        watch.stop();
        moved.add(right);
        if right == 2 * iters {
            return Ok(());
        }
        Err(BenchError::Denied(format!("{right} of {} moves to a control group were allowed", 2 * iters)))
    });
    ctx.measure_variants(&mut [Variant::new("group", both), moves.per_iter(2.0)])?;
    made.prove_of(ctx, "group", "groups made and removed, per one credited");
    work::once_each(ctx, "moves answered, per move credited", moved.count(), 2 * ctx.iterations_of("move"));
    work::once_each(ctx, "processes in the group after the last move to it", inside, intervals);
    let left = f64::from(u8::from(group.has_inner()));
    ctx.prove("groups left", "0", left, 0.0..=0.0);
    Ok(())
}
