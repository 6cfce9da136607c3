//! Reading all names of a directory.
//!
//! **Measures:** `lseek` to the start and `getdents64` until no name is left, with a buffer of
//! 32 KiB as in C libraries, and the walk over the names in it: what `ls -f` or a shell's `*` does.
//! The directory's blocks are in memory.
//!
//! **Does not measure:** `stat` of each name, sorting, or a disk.
//!
//! **Method:** Each reading of the whole directory is timed alone. It has to return as many names
//! as the directory holds, including `.` and `..`, and as many letters as these names have.
//!
//! **Pitfalls:**
//! - With a very small buffer, the calls are measured.
//! - Directories of the system differ from machine to machine.
//! - An ext4 sorts the names by their hashes before it returns the first one.
//!
//! **Sources:** No predecessor measures it. See
//! docs/methods/operating-system.md#metadata-operations.

use super::crowd::crowd;
use super::{ENTRIES, WHERE, directory};
use groma_harness::prelude::*;
use groma_harness::sys::files::{self, DirRoom};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Reading all names of a directory",
        about: about!("readdir.rs"),
        iteration: "one reading of the whole directory",
        timing: Timing::Each,
        // A hundred thousand names take longer (60 ms) than a busy machine leaves anybody
        // undisturbed.
        params: &[ENTRIES.quick(&["1000"]).full(&["16", "10000"]), WHERE],
        needs: &[Need::WorkDir],
        target_half_width: 0.03,
        version: 2,
        ..Info::new("file.readdir")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let scratch = directory(ctx)?;
    let names = crowd(ctx, &scratch, ctx.int("entries"))?;
    // Plus the three letters of `.` and `..`.
    let letters = 3 + names.iter().map(|n| n.as_bytes().len()).sum::<usize>();
    let expected = (names.len() + 2, letters);
    let mut room = DirRoom::new();
    let mut read = 0;
    ctx.measure(|iters| {
        for _ in 0..iters {
            let mut seen = (0, 0);
            files::read_dir(scratch.dir(), &mut room, |name| {
                seen = (seen.0 + 1, seen.1 + name.to_bytes().len());
            })
            .context("reading the directory")?;
            if seen != expected {
                return Err(BenchError::Failed(format!("{} names instead of {}, or others", seen.0, expected.0)));
            }
            read += seen.0 as u64;
        }
        Ok(())
    })?;
    let per_reading = read as f64 / ctx.iterations() as f64;
    let all = expected.0 as f64;
    ctx.prove("names per reading", &format!("{all}"), per_reading, all..=all);
    Ok(())
}
