//! Moving the position of an open file: `lseek`, by number.
//!
//! **Measures:** The entry into the kernel, the way from descriptor to file, and the file system's
//! check of the new position; no disk moves. The positions alternate and are within a page.
//!
//! **Does not measure:** The movement of a disk (`disk.seek`), or reading at the new position
//! (`syscall.read`).
//!
//! **Method:** Many calls in one short interval on our own empty file; each answer must be the
//! requested position. The proof is the same loop in a child cut off from the kernel.
//!
//! **Pitfalls:**
//! - Pipes and terminals return an error, which is faster.
//! - A descriptor shared by several threads takes a lock on its position; here each member has its
//!   own.
//! - The file system is recorded.
//!
//! **Sources:** libMicro `lseek`; will-it-scale `lseek1`. See
//! docs/methods/operating-system.md#calls-by-number.

use crate::scratch::Scratch;
use crate::work::{self, ANSWERED};
use groma_harness::prelude::*;
use groma_harness::sys::raw;
use std::os::fd::AsFd;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "System call: lseek in an open file, by number",
        about: about!("lseek.rs"),
        iteration: "one lseek",
        needs: &[Need::WorkDir],
        tier: Tier::Standard,
        ..Info::new("syscall.lseek")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let scratch = Scratch::new(ctx)?;
    let file = std::fs::File::create_new(scratch.path().join("f")).context("making a file")?;
    let fd = file.as_fd();
    let mut turn = 0usize;
    work::checked_calls(ctx, "lseek", ANSWERED, || {
        turn += 1;
        let to = turn % 4096;
        raw::seek_to(fd, to) == to as isize
    })
}
