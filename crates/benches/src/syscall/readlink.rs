//! Reading where a symbolic link points: `readlink`, by number.
//!
//! **Measures:** The entry into the kernel, the lookup of the link in the dentry cache without
//! following it, and the copy of its target. Path resolution in user space (`realpath`, package
//! managers, build tools) makes one such call for each name.
//!
//! **Does not measure:** Following the link; a target that has to come from a disk: it is cached
//! from the first call on.
//!
//! **Method:** Many calls in one short interval on a link of our own below an open directory, whose
//! target is random letters. Each answer must be the length of the target, and what was copied last
//! must be the target itself. The call is `readlinkat`, which libc uses for `readlink` on most
//! architectures. Each member of a worker group has its own link; they share no name. The proof is
//! the same loop in a child cut off from the kernel.
//!
//! **Calls:**
//! - `readlinkat(.., "l", .., 4096) = 16`
//!
//! **Pitfalls:**
//! - A name that is no link, whose error is answered faster.
//! - A buffer that is too short, into which the kernel copies less without an error. Ours is longer
//!   than any target.
//! - File systems keep short targets in the inode (ext4: below 60 bytes) and long ones in a block;
//!   the file system is recorded.
//!
//! **Sources:** See docs/methods/operating-system.md#calls-by-number.

use crate::scratch::Scratch;
use crate::work::{self, ANSWERED};
use groma_harness::prelude::*;
use groma_harness::sys::raw;

/// The longest target that Linux takes.
const LONGEST: u64 = 4095;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "System call: readlink of a symbolic link, by number",
        about: about!("readlink.rs"),
        iteration: "one readlink",
        params: &[Param::count("bytes", "bytes of the target").quick(&["16"]).full(&["100"])],
        needs: &[Need::WorkDir],
        tier: Tier::Standard,
        ..Info::new("syscall.readlink")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let bytes = ctx.int("bytes");
    if !(1..=LONGEST).contains(&bytes) {
        return Err(BenchError::Unsupported(format!("a target has 1 to {LONGEST} bytes")));
    }
    let target: String = (0..bytes).map(|_| char::from(b'a' + ctx.rng().below(26) as u8)).collect();
    let scratch = Scratch::new(ctx)?;
    std::os::unix::fs::symlink(&target, scratch.path().join("l")).context("making a link")?;
    let (dir, mut room) = (scratch.dir(), [0; LONGEST as usize + 1]);
    work::checked_calls(ctx, "readlink", ANSWERED, || raw::readlink_at(dir, c"l", &mut room) == bytes as isize)?;
    let is_target = room[..target.len()] == *target.as_bytes();
    ctx.prove("targets read that are that of the link", "1", f64::from(u8::from(is_target)), 1.0..=1.0);
    Ok(())
}
