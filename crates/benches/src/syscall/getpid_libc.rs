//! The null system call of the tables: `getpid` through the C library.
//!
//! Measures what the papers of 1990 and 2014 time: the wrapper, the entry into the kernel, a number, the way back. Beside
//! `syscall.getppid_libc` the kernel spares itself a look at another task.
//!
//! Method: as `syscall.getppid_libc`; each answer has to be this process's id. The proof is the same loop in a child cut off
//! from the kernel.
//!
//! Traps: libraries that answer from memory, as HP-UX did in 1990 and glibc did before 2.25: there the proof breaks, and the
//! result is no fast system call but a failed one.
//!
//! Source: Ousterhout 1990 table 2, CSE 221 "system call".

use crate::entry;
use crate::work::Done;
use groma_harness::prelude::*;
use groma_harness::sys::libc_calls;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Null system call through libc: getpid()",
        about: about!("getpid_libc.rs"),
        iteration: "one getpid",
        lineage: &["ousterhout1990:table2", "cse221:system_call"],
        tier: Tier::Standard,
        ..Info::new("syscall.getpid_libc")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let own = sys::process::id();
    let done = Done::new();
    let mut body = |iters| {
        let mut right = 0;
        for _ in 0..iters {
            right += u64::from(libc_calls::getpid() == own);
        }
        done.add(right);
        if right == iters { Ok(()) } else { Err(BenchError::Failed(format!("getpid did not always answer {own}"))) }
    };
    ctx.measure(&mut body)?;
    done.prove(ctx, "calls answered as they should be, per call credited");
    // The child has an id of its own; what counts there is whether it gets one without the kernel.
    entry::asks_the_kernel(ctx, |_| {
        if libc_calls::getpid() > 0 { Ok(()) } else { Err(BenchError::Failed("getpid has no answer".to_owned())) }
    });
    Ok(())
}
