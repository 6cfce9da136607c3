//! Reading a file's attributes by descriptor: `fstat`, by number.
//!
//! **Measures:** The entry into the kernel, the way from descriptor to inode, and the copy of a
//! `struct stat`.
//!
//! **Does not measure:** A path lookup (`syscall.stat`).
//!
//! **Method:** Many calls in one short interval on our own empty file. Each answer is checked, and
//! the structure must be filled afterwards. The call is `fstat` itself; glibc has for years called
//! `newfstatat` with an empty path instead, which costs half as much again. The proof is the same
//! loop in a child cut off from the kernel.
//!
//! **Pitfalls:**
//! - That substitution by libc.
//! - A missing file, whose error is answered faster (lmbench prints the time of failing calls).
//! - The file system may implement the call itself; it is recorded.
//!
//! **Sources:** The call of lmbench3 `lat_syscall fstat`, which goes through libc
//! (`syscall.fstat_libc`). See docs/methods/operating-system.md#calls-by-number.

use super::all_gave;
use crate::entry;
use crate::scratch::Scratch;
use crate::work::Done;
use groma_harness::prelude::*;
use groma_harness::sys::raw::{self, StatRoom};
use std::os::fd::AsFd;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "System call: fstat of an open file, by number",
        about: about!("fstat.rs"),
        iteration: "one fstat",
        needs: &[Need::WorkDir],
        ..Info::new("syscall.fstat")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let scratch = Scratch::new(ctx)?;
    let file = std::fs::File::create_new(scratch.path().join("f")).context("making a file")?;
    let mut room = StatRoom::new();
    let done = Done::new();
    let mut body = |iters| {
        let (mut worst, mut right) = (0, 0);
        for _ in 0..iters {
            let answer = raw::fstat(file.as_fd(), &mut room);
            worst = answer.min(worst);
            right += u64::from(answer == 0);
        }
        done.add(right);
        all_gave(0, worst, "fstat")
    };
    ctx.measure(&mut body)?;
    done.prove(ctx, "calls answered as they should be, per call credited");
    entry::asks_the_kernel(ctx, body);
    ctx.prove("structures that were filled", "1", f64::from(u8::from(room.filled())), 1.0..=1.0);
    Ok(())
}
