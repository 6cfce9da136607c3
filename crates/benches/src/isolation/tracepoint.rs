//! A system call at whose entry a tracepoint is on.
//!
//! **Measures:** The shortest system call while somebody watches it, as profilers and security
//! agents do. By `by`:
//! - `counted`: the kernel counts the calls of this task (`perf_event_open`).
//! - `program`: it also runs an eBPF program of two instructions, which lets each event pass.
//!
//! `syscall.getppid` is the same call without.
//!
//! **Does not measure:** What a useful program does, or events that are written to a buffer.
//!
//! **Method:** The tracepoint is at the entry of `getppid`, of this task alone. Once one tracepoint
//! of system calls is on, all calls of all tasks go the long way into the kernel, also where
//! nothing is counted.
//!
//! **Proofs:** The kernel's count is the number of calls credited; every call enters the kernel.
//!
//! **Pitfalls:** Tracepoints take root or CAP_PERFMON, and a kernel with CONFIG_FTRACE_SYSCALLS;
//! else `denied` or `unsupported`.
//!
//! **Sources:** perf bench has the like for functions (`isolation.uprobe`). See
//! docs/methods/operating-system.md#isolation.

use crate::work::{self, ANSWERED};
use groma_harness::prelude::*;
use groma_harness::sys::probe::{Probe, Probed};
use groma_harness::sys::raw;
use std::io;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "A system call at whose entry a tracepoint is on",
        about: about!("tracepoint.rs"),
        iteration: "one getppid",
        params: &[Param::word("by", "what happens at the tracepoint", &["counted", "program"])
            .quick(&["counted"])
            .standard(&["program"])],
        // Several watch at once what others do.
        scaling: Scaling::processes("each copy counts its own calls"),
        tier: Tier::Standard,
        ..Info::new("isolation.tracepoint")
    },
    run: Run::Here(run),
};

/// Why there is no probe.
pub(super) fn no_probe(error: &io::Error) -> BenchError {
    match error.kind() {
        io::ErrorKind::NotFound => {
            BenchError::Unsupported(format!("this kernel has no such events, or tracefs is not mounted: {error}"))
        }
        _ => BenchError::from_io("perf_event_open or bpf", error),
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let probe = Probe::new(Probed::SystemCall("getppid"), ctx.word("by") == "program").map_err(|e| no_probe(&e))?;
    let parent = raw::getppid();
    let before = probe.count().context("reading the count")?;
    // What a child calls, to show that the kernel is asked, is not counted.
    work::checked_calls(ctx, "getppid", ANSWERED, || raw::getppid() == parent)?;
    let counted = probe.count().context("reading the count")? - before;
    work::once_each(ctx, "calls that the tracepoint has seen, per call credited", counted, ctx.iterations());
    Ok(())
}
