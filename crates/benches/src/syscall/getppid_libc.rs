//! Entering the kernel as a C program does: `getppid` through libc's wrapper.
//!
//! Measures the wrapper and the call in it, against `syscall.getppid`, which is the call alone. The difference is what a
//! function around a system call costs: not the function itself, which takes a nanosecond or two, but its `ret`, for which
//! the processor's prediction of returns was lost in the kernel (117 against 164 ns on one machine, with the same difference
//! for one `ret` in assembly; nothing on another). Every program that calls the kernel through a library pays it.
//!
//! Method: as `syscall.getppid`. One wrapper and nothing else: the standard library's own function around it would add a
//! second `ret`. The proof is the same loop in a child cut off from the kernel: every one of its calls has to fail.
//!
//! Traps: tools that time the wrapper and call it the system call; C libraries that answered `getpid` from memory.
//!
//! Source: lmbench3 `lat_syscall null`, CSE 221 "system call", which both time the wrapper.

use crate::entry;
use crate::work::Done;
use groma_harness::prelude::*;
use groma_harness::sys::libc_calls;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Null system call through libc: getppid()",
        about: about!("getppid_libc.rs"),
        iteration: "one getppid",
        lineage: &["lmbench3:lat_syscall null", "cse221:system_call"],
        tier: Tier::Standard,
        ..Info::new("syscall.getppid_libc")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let parent = sys::process::parent_id();
    let done = Done::new();
    let mut body = |iters| {
        let mut right = 0;
        for _ in 0..iters {
            right += u64::from(libc_calls::getppid() == parent);
        }
        done.add(right);
        if right == iters { Ok(()) } else { Err(BenchError::Failed(format!("getppid did not always answer {parent}"))) }
    };
    ctx.measure(&mut body)?;
    done.prove(ctx, "calls answered as they should be, per call credited");
    entry::asks_the_kernel(ctx, body);
    Ok(())
}
