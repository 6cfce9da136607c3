//! A function of a program that somebody probes (uprobe).
//!
//! **Measures:** One call of a function that does nothing but return its argument, while the kernel
//! has put a breakpoint into it: the trap, the event, and the way back. By `at`:
//! - `entry`: at the first instruction, which does nothing (as `endbr64` and `nop` of most
//!   functions), so that the kernel need not execute it apart.
//! - `program`: the same, and an eBPF program runs each time.
//! - `return`: at the return: the kernel replaces the return address and traps where it leads.
//!
//! **Does not measure:** Instructions that the kernel has to execute by a single step, which takes
//! a second trap.
//!
//! **Method:** The function is machine code in a file of the work directory, which is mapped:
//! probes are put into files. Only this task is watched.
//!
//! **Proofs:** The kernel's count is the number of calls credited, and the function has returned
//! its argument each time.
//!
//! **Pitfalls:** Since Linux 6.18 a probe on a 5-byte `nop` of x86-64 is a call instead of a trap;
//! that is another metric.
//!
//! **Sources:** perf bench `uprobe`. See docs/methods/operating-system.md#isolation.

use super::tracepoint::no_probe;
use crate::scratch::Scratch;
use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::code::Code;
use groma_harness::sys::probe::{Probe, Probed};
use std::ffi::CString;
use std::hint::black_box;
use std::os::unix::ffi::OsStrExt;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "A call of a function that a uprobe watches",
        about: about!("uprobe.rs"),
        iteration: "one call",
        params: &[Param::word("at", "where the probe is, and whether a program runs", &["entry", "program", "return"])
            .quick(&["entry"])
            .standard(&["return"])
            .full(&["program"])],
        needs: &[Need::WorkDir],
        files: |_| 4096,
        scaling: Scaling::processes("each copy counts its own calls"),
        tier: Tier::Standard,
        ..Info::new("isolation.uprobe")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let scratch = Scratch::new(ctx)?;
    let path = scratch.path().join(format!("function-{}", ctx.member()));
    let function = Code::function_in(&path).context("mapping a function")?;
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|e| BenchError::Failed(e.to_string()))?;
    let at = match ctx.word("at") {
        "return" => Probed::Return(&name, 0),
        _ => Probed::Instruction(&name, 0),
    };
    let probe = Probe::new(at, ctx.word("at") == "program").map_err(|e| no_probe(&e))?;
    let before = probe.count().context("reading the count")?;
    let mut returned = 0u64;
    ctx.measure(|iters| {
        for _ in 0..iters {
            returned += black_box(function.run(black_box(1)));
        }
        Ok(())
    })?;
    let counted = probe.count().context("reading the count")? - before;
    work::once_each(ctx, "calls that returned their argument, per call credited", returned, ctx.iterations());
    work::once_each(ctx, "calls that the probe has seen, per call credited", counted, ctx.iterations());
    Ok(())
}
