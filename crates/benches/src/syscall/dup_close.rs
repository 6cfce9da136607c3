//! Another number for an open file, and giving it back: `dup` and `close`, by number.
//!
//! Measures two system calls that touch the process's table of descriptors and the file's count of references, and nothing
//! of the file itself: with `syscall.open_close` it tells the table from the look-up of a path.
//!
//! Method: many pairs in one short interval, a descriptor of /dev/null. The kernel gives the lowest free number, so every
//! pair has to give the same one: it would not if one were left open. The proof is the same loop in a child cut off from the
//! kernel.
//!
//! Traps: threads share the table, and its lock: a worker group of threads measures that, and is not held to one number.
//!
//! Source: libMicro `dup`, will-it-scale `dup1`.

use crate::entry;
use crate::work::Done;
use groma_harness::prelude::*;
use groma_harness::sys::raw;
use std::os::fd::AsFd;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "System calls: dup of a descriptor and close, by number",
        about: about!("dup_close.rs"),
        needs: &[Need::File("/dev/null")],
        iteration: "one dup and one close",
        lineage: &["libmicro:dup", "wis:dup1"],
        tier: Tier::Standard,
        ..Info::new("syscall.dup_close")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let null = std::fs::File::open("/dev/null").context("opening /dev/null")?;
    let fd = null.as_fd();
    let free = raw::dup_close(fd);
    // Threads take each other's numbers.
    let others = ctx.workers() > 1;
    let done = Done::new();
    let mut body = |iters| {
        let mut right = 0u64;
        for _ in 0..iters {
            let given = raw::dup_close(fd);
            right += u64::from(given >= 0 && (given == free || others));
        }
        done.add(right);
        match iters - right {
            0 => Ok(()),
            wrong => Err(BenchError::Failed(format!("{wrong} pairs of dup and close did not work"))),
        }
    };
    ctx.measure(&mut body)?;
    done.prove(ctx, "pairs of calls that worked, per pair credited");
    entry::asks_the_kernel(ctx, body);
    Ok(())
}
