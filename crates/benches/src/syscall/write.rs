//! The shortest `write`: one byte to /dev/null, by number.
//!
//! **Measures:** The entry into the kernel, the way from descriptor to file through the VFS, and a
//! driver that does nothing.
//!
//! **Does not measure:** Copying data: /dev/null does not look at the byte.
//!
//! **Method:** Many calls in one short interval, each answer checked: a write that takes nothing
//! ends the round. The proofs are the kernel's own count of writes, one per iteration, and the same
//! loop in a child cut off from the kernel.
//!
//! **Pitfalls:**
//! - A file that failed to open, whose error is answered faster than a byte (lmbench does not check
//!   its open).
//! - libc's wrapper, which adds half as much again on some machines.
//!
//! **Sources:** The call of lmbench 1996 table 7 and lmbench3 `lat_syscall write`, which go through
//! libc (`syscall.write_libc`). See docs/methods/operating-system.md#calls-by-number.

use super::counted_calls;
use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::counters::io_calls;
use groma_harness::sys::raw;
use std::os::fd::AsFd;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "System call: write of one byte to /dev/null, by number",
        about: about!("write.rs"),
        needs: &[Need::File("/dev/null")],
        iteration: "one write of one byte",
        ..Info::new("syscall.write")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let null = std::fs::File::options().write(true).open("/dev/null").context("opening /dev/null")?;
    let fd = null.as_fd();
    let before = io_calls();
    work::calls::<1>(ctx, "writing to /dev/null", "writes that took a byte, per write credited", || {
        raw::write(fd, &[0])
    })?;
    counted_calls(ctx, before.map(|c| c.1), io_calls().map(|c| c.1));
    Ok(())
}
