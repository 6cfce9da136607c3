//! The null system call of the older tables: `getpid` through libc.
//!
//! **Measures:** What the papers of 1990 and 2014 time: the wrapper, the entry into the kernel,
//! reading a number, and the return. Unlike in `syscall.getppid_libc`, the kernel need not look at
//! another task.
//!
//! **Does not measure:** The kernel's entry alone (`syscall.getppid`).
//!
//! **Method:** As `syscall.getppid_libc`; each answer must be this process's id. The proof is the
//! same loop in a child cut off from the kernel.
//!
//! **Pitfalls:** Libraries that answer from memory, as HP-UX did in 1990 and glibc before 2.25.
//! There the proof breaks, and the metric is `failed` instead of a fast system call.
//!
//! **Sources:** Ousterhout 1990 table 2. See
//! docs/methods/operating-system.md#calls-by-number.

use crate::entry;
use crate::work::{ANSWERED, Done, right_of};
use groma_harness::prelude::*;
use groma_harness::sys::libc_calls;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Null system call through libc: getpid()",
        about: about!("getpid_libc.rs"),
        iteration: "one getpid",
        tier: Tier::Standard,
        ..Info::new("syscall.getpid_libc")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let own = sys::process::id();
    let done = Done::new();
    ctx.measure(|iters| {
        let right = right_of(iters, || libc_calls::getpid() == own);
        done.add(right);
        if right == iters { Ok(()) } else { Err(BenchError::Failed(format!("getpid did not always return {own}"))) }
    })?;
    done.prove(ctx, ANSWERED);
    // The child has its own id; the check is only whether it gets one without the kernel.
    entry::asks_the_kernel(ctx, |_| {
        if libc_calls::getpid() > 0 { Ok(()) } else { Err(BenchError::Failed("getpid returned no id".to_owned())) }
    });
    Ok(())
}
