//! Duplicating a descriptor and closing it: `dup` and `close`, by number.
//!
//! **Measures:** Two system calls that touch the process's descriptor table and the file's
//! reference count, and nothing of the file itself. Compared with `syscall.open_close` it separates
//! the table from the path lookup.
//!
//! **Does not measure:** Finding a file by its path (`syscall.open_close`), or releasing a file
//! with its last descriptor.
//!
//! **Method:** Many pairs in one short interval, on a descriptor of /dev/null. The kernel assigns
//! the lowest free number, so every pair must return the same one; it would not if a descriptor
//! were left open. The proof is the same loop in a child cut off from the kernel.
//!
//! **Pitfalls:** Threads share the table and its lock. A worker group of threads measures that, and
//! need not get the same number.
//!
//! **Sources:** libMicro `dup`; will-it-scale `dup1`. See
//! docs/methods/operating-system.md#calls-by-number.

use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::raw;
use std::os::fd::AsFd;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "System calls: dup of a descriptor and close, by number",
        about: about!("dup_close.rs"),
        needs: &[Need::File("/dev/null")],
        iteration: "one dup and one close",
        tier: Tier::Standard,
        ..Info::new("syscall.dup_close")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let null = std::fs::File::open("/dev/null").context("opening /dev/null")?;
    let fd = null.as_fd();
    let free = raw::dup_close(fd);
    // Threads share the table, so the lowest free number varies.
    let others = ctx.workers() > 1;
    work::checked_calls(ctx, "dup and close", "pairs of calls that worked, per pair credited", || {
        let given = raw::dup_close(fd);
        given >= 0 && (given == free || others)
    })
}
