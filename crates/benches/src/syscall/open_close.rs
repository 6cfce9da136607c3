//! Opening a file by path and closing it: `openat` and `close`, by number.
//!
//! **Measures:** Two system calls: `openat`, read-only, with the lookup of each name in the dentry
//! cache, and `close`.
//!
//! **Does not measure:** Creating a file, or a lookup that has to ask the file system: every name
//! is cached from the first call on.
//!
//! **Method:** Many pairs in one short interval on our own empty file, whose path starts at an open
//! directory, so its depth is what the parameter says wherever the work directory is. Each answer
//! is checked, and no descriptor stays open. Each member of a worker group has its own file; they
//! share no name. The proof is the same loop in a child cut off from the kernel.
//!
//! **Pitfalls:**
//! - A missing file, whose error is answered faster than a descriptor is made (lmbench prints the
//!   time of failing calls).
//! - File watchers (inotify, fanotify, audit) make it slower.
//! - The file system is recorded.
//!
//! **Sources:** lmbench3 `lat_syscall open`; Ousterhout 1990 table 9 (`foo` and `a/b/c/foo`). See
//! docs/methods/operating-system.md#calls-by-number.

use super::DEPTH;
use crate::scratch::Scratch;
use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::raw;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "System calls: open of a file by path and close, by number",
        about: about!("open_close.rs"),
        iteration: "one open and one close",
        params: &[DEPTH.standard(&["4"])],
        needs: &[Need::WorkDir],
        ..Info::new("syscall.open_close")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let scratch = Scratch::new(ctx)?;
    let name = scratch.file_at_depth(ctx.int("depth"))?;
    let dir = scratch.dir();
    work::calls::<0>(ctx, "open and close", "files opened and closed, per file credited", || {
        raw::open_close_at(dir, &name)
    })
}
