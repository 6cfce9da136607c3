//! A child that borrows its parent's memory, its `_exit`, and the wait for its end.
//!
//! **Measures:** What `vfork` does, as `clone(CLONE_VM | CLONE_VFORK)` with a separate stack for
//! the child: the kernel creates a task, the parent sleeps until the child has exited, and nothing
//! of the address space is copied. It is `proc.fork_exit` without the copy, and the part of
//! `proc.exec` that is not `execve` and the target.
//!
//! **Does not measure:** Copying an address space (`proc.fork_exit`), or the execution of another
//! program (`proc.exec`).
//!
//! **Method:** Each child is timed alone, on its parent's CPU. `first`, with children of its own,
//! ends with the stamp that the child leaves when it starts to run. The return of the call in the
//! parent is not timed: the child has exited by then.
//!
//! **Calls:**
//! - `CLONE_VM|CLONE_VFORK`, not `CLONE_CHILD_CLEARTID`
//!
//! **Proofs:** The exit code of each child, and a counter that the child increments. A kernel that
//! answers `vfork` with a copy of the memory would leave the parent's counter and stamp unchanged.
//!
//! **Pitfalls:**
//! - In a compiled language, the child of libc's `vfork` returns into its parent's frame, hence the
//!   separate stack.
//! - The cost still grows with the parent's mappings (22 us with none added, 41 us with 1000, on a
//!   2-vCPU KVM guest), so the parent's size is stated as facts.
//!
//! **Sources:** libMicro and stress-ng; no paper measures it. See
//! docs/methods/operating-system.md#processes.

use super::{Children, FIRST, GOOD, PROCESSES, state_parent};
use groma_harness::prelude::*;
use groma_harness::sys::spawn::{ChildAction, Stack, Task, vfork_exit};
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "vfork, exit of the child, wait: no copy of the memory",
        about: about!("vfork_exit.rs"),
        iteration: "one child: clone(CLONE_VM | CLONE_VFORK), _exit, wait4",
        timing: Timing::Each,
        outputs: &[Output::MAIN, FIRST],
        scaling: PROCESSES,
        interference: Interference::Tasks,
        target_half_width: 0.03,
        version: 2,
        ..Info::new("proc.vfork_exit")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    state_parent(ctx);
    let stack = RefCell::new(Stack::new().context("mapping a stack")?);
    let (counter, stamp) = (AtomicU64::new(0), AtomicU64::new(0));
    let counting = Task { code: GOOD, action: ChildAction::Count(&counter) };
    let stamping = Task { code: GOOD, action: ChildAction::Stamp(&stamp) };
    let (children, counted) = (Children::new(), Cell::new(0));
    let make = |task: &Task<'_>| vfork_exit(task, &mut stack.borrow_mut());
    let count = |_| {
        counted.set(counted.get() + 1);
        if counter.load(Ordering::Relaxed) == counted.get() {
            return Ok(());
        }
        Err(BenchError::Failed("a child did not count in the memory of its parent".to_owned()))
    };
    ctx.measure_variants(&mut [children.whole(|| make(&counting), count), children.first(&stamp, || make(&stamping))])?;
    children.prove(ctx);
    let each = counter.load(Ordering::Relaxed) as f64 / counted.get() as f64;
    ctx.prove("children that counted in our memory, per child that was to", "exactly 1", each, 1.0..=1.0);
    Ok(())
}
