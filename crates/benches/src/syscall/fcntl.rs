//! Asking an open file for its flags: `fcntl(F_GETFL)`, by number.
//!
//! **Measures:** The entry into the kernel and the way from descriptor to file: the shortest call
//! that needs a descriptor. Runtimes make it before they wait for a socket.
//!
//! **Does not measure:** Other commands of `fcntl`: a copy of the descriptor (`syscall.dup_close`),
//! a lock (`lock.file`).
//!
//! **Method:** Many calls in one short interval on `/dev/null`, opened for writing; each answer
//! must have that access mode. The proof is the same loop in a child cut off from the kernel.
//!
//! **Pitfalls:**
//! - In a process with several threads the kernel counts a reference to the file and back, as here
//!   in worker groups of threads; in one with a single thread it does not.
//! - Security modules check each command.
//!
//! **Sources:** libMicro `fcntl_tmp` asks the same of a file. See
//! docs/methods/operating-system.md#calls-by-number.

use crate::work::{self, ANSWERED};
use groma_harness::prelude::*;
use groma_harness::sys::raw;
use std::os::fd::AsFd;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "System call: fcntl(F_GETFL), by number",
        about: about!("fcntl.rs"),
        iteration: "one fcntl",
        tier: Tier::Standard,
        ..Info::new("syscall.fcntl")
    },
    run: Run::Here(run),
};

/// `O_WRONLY`.
const WRITE_ONLY: isize = 1;

fn run(ctx: &mut Ctx) -> Outcome {
    let null = std::fs::File::options().write(true).open("/dev/null").context("opening /dev/null")?;
    work::calls::<WRITE_ONLY>(ctx, "fcntl", ANSWERED, || raw::access_mode(null.as_fd()))
}
