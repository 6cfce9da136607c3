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
//! memory that it shares, or those of the others in their copies: nothing.
//!
//! Traps: sandboxes that know no `clone3` send libc back to `clone` without a word: here it is `unsupported`; in older
//! containers it is forbidden with an error that says the same.
//!
//! Source: os-methods.md 2.3; none of the papers has it.

use super::{Children, GOOD, PROCESSES, no_child, state_parent};
use groma_harness::prelude::*;
use groma_harness::sys::clone;
use groma_harness::sys::spawn::{Deed, Stack, Task};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "clone3, exit of the child, wait, without libc",
        about: about!("clone3.rs"),
        iteration: "one child: clone3, _exit, wait4 (pidfd: waitid and close)",
        timing: Timing::Each,
        params: &[Param {
            name: "kind",
            help: "a copy as by fork, shared memory as by vfork, or a copy with a descriptor",
            kind: ParamKind::Word(&["fork", "vm_vfork", "pidfd"]),
            quick: &[],
            default: &["pidfd"],
            full: &["fork", "vm_vfork", "pidfd"],
        }],
        scaling: PROCESSES,
        interference: Interference::Tasks,
        width: 0.03,
        ..Info::new("proc.clone3")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    state_parent(ctx);
    let counter = AtomicU64::new(0);
    let task = Task { code: GOOD, deed: Deed::Count(&counter) };
    let children = Children::new();
    let kind = ctx.word("kind");
    let mut stack = Stack::new().doing("mapping a stack")?;
    ctx.measure_arms(&mut [match kind {
        "fork" => children.whole(|| clone::fork(&task), |_| Ok(())),
        "vm_vfork" => children.whole(|| clone::vfork(&task, &mut stack), |_| Ok(())),
        _ => pidfd(&children, &task),
    }])?;
    children.prove(ctx);
    let each = counter.load(Ordering::Relaxed) as f64 / ctx.iterations() as f64;
    let expected = f64::from(u8::from(kind == "vm_vfork"));
    let text = if kind == "vm_vfork" { "exactly 1" } else { "0: in a copy" };
    ctx.prove("children that counted in our memory, per iteration", text, each, expected..=expected);
    Ok(())
}

/// Children behind descriptors.
fn pidfd<'a>(children: &'a Children, task: &'a Task<'a>) -> Arm<'a> {
    let life = || -> io::Result<Option<i32>> {
        let fd = clone::fork_pidfd(task)?;
        clone::wait_pidfd(&fd)
    };
    Arm::staged("", move |iters, watch| {
        for _ in 0..iters {
            watch.start();
            let code = life().map_err(|e| no_child("making a child, or waiting for it", &e))?;
            watch.stop();
            children.left(code)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn every_kind_leaves_with_its_code_and_counts_where_it_should() {
        for kind in ["fork", "vm_vfork", "pidfd"] {
            let tried = match try_out(&BENCH, &[("kind", kind)], None) {
                Err(Stop::Unsupported(why) | Stop::Denied(why)) => {
                    eprintln!("not tried: {why}");
                    continue;
                }
                tried => tried.expect("clone3"),
            };
            assert!(tried.samples("") >= 3);
            assert_eq!(tried.proven("children that left with code 42, per iteration"), 1.0);
            let counted = tried.proven("children that counted in our memory, per iteration");
            assert_eq!(counted, f64::from(u8::from(kind == "vm_vfork")));
        }
    }
}
