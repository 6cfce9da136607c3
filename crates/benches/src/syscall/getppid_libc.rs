//! Entering the kernel as a C program does: `getppid` through libc's wrapper.
//!
//! **Measures:** The wrapper and the call in it, in contrast to `syscall.getppid`, which is the
//! call alone. The difference is what a function around a system call costs: not the function
//! itself, which takes a nanosecond or two, but its `ret`, whose prediction was lost in the kernel
//! (117 against 164 ns on one machine, with the same difference for one `ret` in assembly; nothing
//! on another). Every program that calls the kernel through a library pays it.
//!
//! **Does not measure:** The kernel's entry alone (`syscall.getppid`), or what other wrappers do
//! beside the call, such as copying structures.
//!
//! **Method:** As `syscall.getppid`, through one wrapper and nothing else: the standard library's
//! own function around it would add a second `ret`. The proof is the same loop in a child cut off
//! from the kernel, where every call must fail.
//!
//! **Pitfalls:** Tools that time the wrapper and call it the system call; C libraries that answered
//! `getpid` from memory.
//!
//! **Sources:** lmbench3 `lat_syscall null`, which times the wrapper. See
//! docs/methods/operating-system.md#calls-by-number.

use crate::work::{self, ANSWERED};
use groma_harness::prelude::*;
use groma_harness::sys::libc_calls;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Null system call through libc: getppid()",
        about: about!("getppid_libc.rs"),
        iteration: "one getppid",
        tier: Tier::Standard,
        ..Info::new("syscall.getppid_libc")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let parent = sys::process::parent_id();
    work::checked_calls(ctx, "getppid", ANSWERED, || libc_calls::getppid() == parent)
}
