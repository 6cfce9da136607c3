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

use super::prove_filled;
use crate::scratch::Scratch;
use crate::work::{self, ANSWERED};
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
    work::calls::<0>(ctx, "fstat", ANSWERED, || raw::fstat(file.as_fd(), &mut room))?;
    prove_filled(ctx, room.filled());
    Ok(())
}
