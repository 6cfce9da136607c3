//! Entering the kernel and leaving it again: `getppid`, the cheapest call that does real work.
//!
//! Measures one system call by number, through the architecture's own instruction, with nothing of libc around it: the
//! first `ret` after a system call alone can cost 47 ns where the return predictor is flushed on the way. What a C program
//! pays is a separate metric. `getppid` and not `getpid`, which C libraries have cached.
//!
//! Method: many calls in one short interval, so that a preempted interval is one bad sample of many and not a share of
//! every sample. The proofs: each call answers with the parent's id, and the same loop run in a child that a filter cuts off
//! from the kernel fails every time. (The share of CPU time in the kernel proves nothing over a round of 20 ms: most
//! kernels sample it at ticks.)
//!
//! Traps: long intervals on a busy machine report preemptions (lmbench 737 ns and perf bench 558 ns where this gives 115
//! at the same minute); seccomp filters, audit rules and tracers change the path.
//!
//! Source: lmbench 1996 table 7 (there `write` to /dev/null), lmbench3 `lat_syscall null`, Ousterhout 1990 table 2
//! (`getpid`), CSE 221 "system call".

use crate::entry;
use crate::work::Done;
use groma_harness::prelude::*;
use groma_harness::sys::raw;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Null system call: getppid, by number",
        about: about!("getppid.rs"),
        iteration: "one getppid",
        lineage: &[
            "lmbench1996:table7",
            "lmbench3:lat_syscall null",
            "ousterhout1990:table2",
            "cse221:system_call",
            "perf_bench:syscall basic",
        ],
        ..Info::new("syscall.getppid")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let parent = sys::process::parent_id() as isize;
    let done = Done::new();
    let mut body = |iters| {
        let mut right = 0;
        for _ in 0..iters {
            right += u64::from(raw::getppid() == parent);
        }
        done.add(right);
        if right == iters {
            Ok(())
        } else {
            Err(BenchError::Failed(format!("{} of {iters} answers were not the parent's id", iters - right)))
        }
    };
    ctx.measure(&mut body)?;
    done.prove(ctx, "calls answered as they should be, per call credited");
    entry::asks_the_kernel(ctx, body);
    Ok(())
}
