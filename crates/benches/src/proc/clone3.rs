//! Processes made by the system call `clone3` itself, without libc.
//!
//! Measures the call as programs do that know it: `fork` is the plain copy (what libc's `fork` adds to it, handlers and
//! locks, is the difference to `proc.fork_exit`), `vm_vfork` borrows the parent's memory as `posix_spawn` does
//! (`CLONE_VM | CLONE_VFORK`), `pidfd` is the copy with a descriptor that stands for it (`CLONE_PIDFD`), waited for by
//! `waitid` on that descriptor and then closed: what a service manager does. Does not measure a child made within another
//! control group (`CLONE_INTO_CGROUP`): to have one would be to change the system.
//!
//! Method: each child is timed alone, on its parent's CPU, from before the call to after the wait, and for `pidfd` to after
//! the descriptor is closed. Proof: the code that each child left with, and what each child of `vm_vfork` counts in the
//! memory that it shares. The others only leave, as those of `proc.fork_exit` do: to write would copy a page more. One child
//! more, not timed, counts in its copy: nothing.
//!
//! Traps: sandboxes that know no `clone3` send libc back to `clone` without a word: here it is `unsupported`; in older
//! containers it is forbidden with an error that says the same.
//!
//! Source: os-methods.md 2.3; none of the papers has it.

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
        ..Info::new("proc.clone3")
    },
    run: Run::Here(run),
};

/// What is proven of the memory of children that borrow ours, and of those that have a copy.
const COUNTED: &str = "children that counted in our memory, per iteration";
const COUNTED_IN_COPY: &str = "what a child that counted in its copy has changed in our memory";

fn run(ctx: &mut Ctx) -> Outcome {
    state_parent(ctx);
    let counter = AtomicU64::new(0);
    let counting = Task { code: GOOD, deed: ChildAction::Count(&counter) };
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

/// Children behind descriptors.
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
