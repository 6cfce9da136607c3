//! Creating a process with the system call `clone3`, bypassing libc.
//!
//! **Measures:** One child, from before the call to after the wait, in three kinds:
//! - `fork`: a plain copy of the process. What libc's `fork` adds to it (handlers and locks) is the
//!   difference to `proc.fork_exit`.
//! - `vm_vfork`: a child that borrows the parent's memory (`CLONE_VM | CLONE_VFORK`), as
//!   `posix_spawn` does.
//! - `pidfd`: a copy with a pidfd (`CLONE_PIDFD`). The parent waits with `waitid` on that
//!   descriptor and then closes it, as a service manager does.
//!
//! **Does not measure:** A child in another control group (`CLONE_INTO_CGROUP`): creating a control
//! group would change the system.
//!
//! **Method:** Each child is timed alone, on its parent's CPU; for `pidfd` the time includes
//! closing the descriptor. Proofs: the exit code of each child, and for `vm_vfork` a counter in the
//! shared memory that each child increments. Children of the other kinds only exit, as in
//! `proc.fork_exit`, because a write would copy one more page. One additional, untimed child of
//! these kinds increments its own copy of the counter, which must leave the parent's unchanged.
//!
//! **Pitfalls:** Where a sandbox does not know `clone3`, libc silently falls back to `clone`; here
//! the result is `unsupported`. Older containers forbid the call with an error that means the same.
//!
//! **Sources:** No paper measures it. See docs/methods/operating-system.md#processes.

use super::{Children, GOOD, LEAVE, PROCESSES, no_child, state_parent};
use groma_harness::prelude::*;
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
            "a copy as by fork, shared memory as by vfork, or a copy with a descriptor",
            &["fork", "vm_vfork", "pidfd"],
        )
        .quick(&["pidfd"])],
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
    if !shares {
        let pid = clone::fork(&counting).map_err(|e| no_child("making a child", &e))?;
        process::wait(pid).context("waiting for the child")?;
    }
    let children = Children::new();
    let mut stack = Stack::new().context("mapping a stack")?;
    ctx.measure_variants(&mut [match kind {
        "fork" => children.whole(|| clone::fork(&LEAVE), |_| Ok(())),
        "vm_vfork" => children.whole(|| clone::vfork(&counting, &mut stack), |_| Ok(())),
        _ => pidfd(&children, &LEAVE),
    }])?;
    children.prove(ctx);
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
            children.left(code)?;
        }
        Ok(())
    })
}
