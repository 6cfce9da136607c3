//! Creating a process with the system call `clone3`, bypassing libc.
//!
//! **Measures:** One child, from before the call to after the wait, in four kinds:
//! - `fork`: a plain copy of the process. What libc's `fork` adds to it (handlers and locks) is the
//!   difference to `proc.fork_exit`.
//! - `vm_vfork`: a child that borrows the parent's memory (`CLONE_VM | CLONE_VFORK`), as
//!   `posix_spawn` does.
//! - `pidfd`: a copy with a pidfd (`CLONE_PIDFD`). The parent waits with `waitid` on that
//!   descriptor and then closes it, as a service manager does.
//! - `into_group`: a copy that starts in another control group (`CLONE_INTO_CGROUP`), and so needs
//!   no move (`isolation.control_group`).
//!
//! **Does not measure:** Making the control group, or a child that runs another program
//! (`proc.exec`).
//!
//! **Method:** Each child is timed alone, on its parent's CPU; for `pidfd` the time includes
//! closing the descriptor. Proofs: the exit code of each child, and for `vm_vfork` a counter in the
//! shared memory that each child increments. Children of the other kinds only exit, as in
//! `proc.fork_exit`, because a write would copy one more page. One additional, untimed child of
//! these kinds increments its own copy of the counter, which must leave the parent's unchanged. The
//! CPU time that the kernel counts for the control group is that of the children.
//!
//! **Calls:**
//! - `kind=fork`: `clone3(`, not `CLONE_VM`
//! - `kind=vm_vfork`: `CLONE_VM|CLONE_VFORK`, not `CLONE_PIDFD`
//! - `kind=pidfd`: `CLONE_PIDFD`, not `CLONE_VM`
//! - timed `kind=fork`: `clock clone3 wait4 clock`; the wait is timed
//! - timed `kind=pidfd`: `clock clone3 waitid close clock`; the close is timed
//!
//! **Pitfalls:** Where a sandbox does not know `clone3`, libc silently falls back to `clone`; here
//! the result is `unsupported`. Older containers forbid the call with an error that means the same.
//!
//! **Sources:** No paper measures it. See docs/methods/operating-system.md#processes.

use super::{Children, GOOD, LEAVE, PROCESSES, no_child, state_parent};
use crate::control_groups::own_group;
use groma_harness::prelude::*;
use groma_harness::sys::control_group::ControlGroup;
use groma_harness::sys::counters::Usage;
use groma_harness::sys::spawn::{ChildAction, Stack, Task};
use groma_harness::sys::{clone, process};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "clone3, exit of the child, wait, without libc",
        about: about!("clone3.rs"),
        iteration: "one child: clone3, _exit, wait4 (pidfd: waitid and close)",
        timing: Timing::Each,
        params: &[Param::word(
            "kind",
            "a copy as by fork, shared memory as by vfork, a copy with a descriptor, or in another control group",
            &["fork", "vm_vfork", "pidfd", "into_group"],
        )
        .quick(&["pidfd"])
        .standard(&["into_group"])],
        scaling: PROCESSES,
        interference: Interference::Tasks,
        target_half_width: 0.03,
        tier: Tier::Standard,
        version: 2,
        ..Info::new("proc.clone3")
    },
    run: Run::Here(run),
};

/// Names of the proofs for children that share our memory, and for those that have a copy of it.
const COUNTED: &str = "children that counted in our memory, per iteration";
const COUNTED_IN_COPY: &str = "what a child that counted in its copy has changed in our memory";

fn run(ctx: &mut Ctx) -> Outcome {
    state_parent(ctx);
    let counter = AtomicU64::new(0);
    let counting = Task { code: GOOD, action: ChildAction::Count(&counter) };
    let kind = ctx.word("kind");
    let shares = kind == "vm_vfork";
    let group = if kind == "into_group" { Some(own_group(None)?) } else { None };
    let make = |task: &Task<'_>| match &group {
        Some(group) => clone::fork_into(group.directory(), task),
        None => clone::fork(task),
    };
    if !shares {
        let pid = make(&counting).map_err(|e| no_child("making a child", &e))?;
        process::wait(pid).context("waiting for the child")?;
    }
    let children = Children::new();
    let (used, counted) = (Usage::children(), group.as_ref().and_then(ControlGroup::cpu_ns));
    let mut stack = Stack::new().context("mapping a stack")?;
    ctx.measure_variants(&mut [match kind {
        "fork" | "into_group" => children.whole(|| make(&LEAVE), |_| Ok(())),
        "vm_vfork" => children.whole(|| clone::vfork(&counting, &mut stack), |_| Ok(())),
        _ => pidfd(&children, &LEAVE),
    }])?;
    children.prove(ctx);
    if let (Some(before), Some(after)) = (counted, group.as_ref().and_then(ControlGroup::cpu_ns)) {
        let used = Usage::children().since(&used);
        let share = (after - before) as f64 / (used.user_ns + used.system_ns).max(1) as f64;
        // The kernel rounds the time of each child to microseconds.
        ctx.prove("CPU time of the control group, of that of the children", "1", share, 0.9..=1.1);
    }
    let counted = counter.load(Ordering::Relaxed) as f64;
    if shares {
        ctx.prove(COUNTED, "exactly 1", counted / ctx.iterations() as f64, 1.0..=1.0);
    } else {
        ctx.prove(COUNTED_IN_COPY, "0", counted, 0.0..=0.0);
    }
    Ok(())
}

/// The variant that waits for each child through a pidfd.
fn pidfd<'a>(children: &'a Children, task: &'a Task<'a>) -> Variant<'a> {
    let life = || -> io::Result<Option<i32>> {
        let fd = clone::fork_pidfd(task)?;
        clone::wait_pidfd(&fd)
    };
    Variant::staged("", move |iters, watch| {
        for _ in 0..iters {
            watch.start();
            let code = life().map_err(|e| no_child("making a child, or waiting for it", &e))?;
            watch.stop();
            children.count_code(code)?;
        }
        Ok(())
    })
}
