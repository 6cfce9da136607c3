//! The shortest `read`: one byte of /dev/zero, by number.
//!
//! **Measures:** The entry into the kernel, the way from descriptor to file through the VFS, and a
//! driver that does next to nothing.
//!
//! **Does not measure:** Copying data (`file.reread`).
//!
//! **Method:** Many calls in one short interval, each answer checked: a read that returns nothing
//! ends the round. The proofs are the kernel's own count of reads, one per iteration, and the same
//! loop in a child cut off from the kernel.
//!
//! **Pitfalls:**
//! - A file that failed to open, whose error is answered faster than a byte (lmbench prints the
//!   time of failing calls).
//! - libc's wrapper, which adds half as much again on some machines.
//!
//! **Sources:** lmbench3 `lat_syscall read`. See docs/methods/operating-system.md#calls-by-number.

use super::counted_calls;
use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::counters::io_calls;
use groma_harness::sys::raw;
use std::os::fd::AsFd;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "System call: read of one byte of /dev/zero, by number",
        about: about!("read.rs"),
        needs: &[Need::File("/dev/zero")],
        iteration: "one read of one byte",
        ..Info::new("syscall.read")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let zero = std::fs::File::open("/dev/zero").context("opening /dev/zero")?;
    let fd = zero.as_fd();
    let mut byte = [0];
    let before = io_calls();
    work::calls::<1>(ctx, "reading /dev/zero", "reads that brought a byte, per read credited", || {
        raw::read(fd, &mut byte)
    })?;
    counted_calls(ctx, before.map(|c| c.0), io_calls().map(|c| c.0));
    Ok(())
}
