//! Reading a file's attributes by path: `statx`, by number.
//!
//! **Measures:** As `syscall.stat`, by the call that says which attributes it wants and also
//! returns when the file was made. `ls`, `cp`, `find` and most runtimes call it. It asks for all
//! that `stat` tells.
//!
//! **Does not measure:** `stat` (`syscall.stat`); attributes that a file system must ask a server
//! for.
//!
//! **Method:** As `syscall.stat`: an empty file of its own, at the depth below an open directory
//! that the parameter says. Each answer is checked, and the structure must be filled afterwards.
//! The proof is the same loop in a child cut off from the kernel.
//!
//! **Pitfalls:**
//! - libc makes it out of `fstatat` where the kernel has no such call (before Linux 4.11).
//! - Some containers' filters deny it, and programs then call it in vain before each `stat`.
//!
//! **Sources:** See docs/methods/operating-system.md#calls-by-number.

use super::{DEPTH, attributes_by_path};
use groma_harness::prelude::*;
use groma_harness::sys::raw;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "System call: statx of a file by path, by number",
        about: about!("statx.rs"),
        iteration: "one statx",
        params: &[DEPTH],
        needs: &[Need::WorkDir],
        tier: Tier::Standard,
        ..Info::new("syscall.statx")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    attributes_by_path(ctx, "statx", raw::statx_at)
}
