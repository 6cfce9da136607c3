//! The shortest `write`: one byte to /dev/null, by number.
//!
//! Measures the entry into the kernel, the way from descriptor to file through the kernel's layer of files, and a driver
//! that does nothing. This is what the paper of 1996 calls the null system call. Does not measure the copying of data:
//! /dev/null does not look at the byte.
//!
//! Method: many calls in one short interval, each answer looked at: a write that takes nothing ends the round. The proofs
//! are the kernel's own count of writes, one an iteration, and the same loop in a child cut off from the
//! kernel.
//!
//! Traps: an unopened file, whose error is answered faster than a byte (lmbench does not check its open); libc's wrapper,
//! which adds half as much again on some machines.
//!
//! Source: lmbench 1996 table 7, lmbench3 `lat_syscall write`.

use super::{all_gave, counted_calls};
use crate::entry;
use crate::work::Done;
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
        lineage: &["lmbench1996:table7", "lmbench3:lat_syscall write"],
        ..Info::new("syscall.write")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let null = std::fs::File::options().write(true).open("/dev/null").context("opening /dev/null")?;
    let fd = null.as_fd();
    let before = io_calls();
    let done = Done::new();
    let mut body = |iters| {
        let (mut least, mut right) = (1, 0);
        for _ in 0..iters {
            let answer = raw::write(fd, &[0]);
            least = answer.min(least);
            right += u64::from(answer == 1);
        }
        done.add(right);
        all_gave(1, least, "writing to /dev/null")
    };
    ctx.measure(&mut body)?;
    done.prove(ctx, "writes that took a byte, per write credited");
    counted_calls(ctx, before.map(|c| c.1), io_calls().map(|c| c.1));
    entry::asks_the_kernel(ctx, body);
    Ok(())
}
