//! Renaming a file, by destination.
//!
//! **Measures:** `rename` of an empty file:
//! - `same_dir`: to a free name in the same directory.
//! - `cross_dir`: to a free name in another directory of the same file system.
//! - `over`: over an existing file, which is removed by it.
//!
//! **Does not measure:** Storage, or the rename that makes a new version durable (`file.durable`
//! with `kind=replace`).
//!
//! **Method:** One file moves back and forth between two names, each rename timed alone, in a
//! directory that holds the names the parameter asks for (the other directory of `cross_dir` is
//! empty). For `over` the file to rename is created anew each time, untimed. The proof is taken at
//! the end: the file, by its inode, has the name where an even or odd number of renames leaves it,
//! and the other name is free.
//!
//! **Calls:**
//! - timed `kind=over`: `clock renameat clock`; only renameat is timed
//!
//! **Pitfalls:**
//! - Between two names of the same file `rename` does nothing and succeeds: `over` uses different
//!   files.
//! - Between two directories the kernel takes a lock of the whole file system.
//!
//! **Sources:** No predecessor measures it; mail delivery and editors depend on it. See
//! docs/methods/operating-system.md#metadata-operations.

use super::crowd::{check_made, crowd};
use super::{ENTRIES, WHERE, directory};
use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::{files, raw};
use std::ffi::CStr;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Renaming a file",
        about: about!("rename.rs"),
        iteration: "one rename",
        timing: Timing::Each,
        params: &[
            Param::word(
                "kind",
                "within a directory, to another directory, or over an existing file",
                &["same_dir", "cross_dir", "over"],
            )
            .quick(&["same_dir"])
            .standard(&["over"]),
            ENTRIES.quick(&["16"]),
            WHERE,
        ],
        needs: &[Need::WorkDir],
        interference: Interference::Blocking,
        target_half_width: 0.05,
        version: 2,
        ..Info::new("file.rename")
    },
    run: Run::Here(run),
};

const THIS: &CStr = c"this";
const THAT: &CStr = c"that";

fn run(ctx: &mut Ctx) -> Outcome {
    let scratch = directory(ctx)?;
    let _others = crowd(ctx, &scratch, ctx.int("entries"))?;
    let here = scratch.dir();
    check_made(raw::create_at(here, THIS, &[]), "making a file")?;
    let mut there_path = scratch.path().to_owned();
    if ctx.word("kind") == "cross_dir" {
        there_path.push("other");
        std::fs::create_dir(&there_path).context("making a directory")?;
    }
    let other = File::open(&there_path).context("opening the directory")?;
    let there = other.as_fd();
    let (this, that) = (scratch.path().join("this"), there_path.join("that"));

    let mut renames = 0;
    let misplaced = if ctx.word("kind") == "over" {
        check_made(raw::create_at(here, THAT, &[]), "making a file")?;
        ctx.measure_staged(|iters, watch| {
            for n in 0..iters {
                if n > 0 {
                    check_made(raw::create_at(here, THIS, &[]), "making a file")?;
                }
                watch.start();
                let renamed = files::rename(here, THIS, there, THAT);
                watch.stop();
                renamed.context("renaming a file")?;
                renames += 1;
            }
            check_made(raw::create_at(here, THIS, &[]), "making a file")
        })?;
        // One last time, to check that the file arrives and the other one goes.
        let file = inode(&this)?;
        files::rename(here, THIS, there, THAT).context("renaming a file")?;
        u32::from(inode(&that)? != file) + u32::from(inode(&this)?.is_some())
    } else {
        let file = inode(&this)?;
        let mut away = false;
        ctx.measure(|iters| {
            for _ in 0..iters {
                let renamed =
                    if away { files::rename(there, THAT, here, THIS) } else { files::rename(here, THIS, there, THAT) };
                renamed.context("renaming a file")?;
                away = !away;
                renames += 1;
            }
            Ok(())
        })?;
        let odd = ctx.iterations() % 2 == 1;
        let (full, free) = if odd { (&that, &this) } else { (&this, &that) };
        u32::from(inode(full)? != file) + u32::from(inode(free)?.is_some())
    };
    work::once_each(ctx, "files renamed per file credited", renames, ctx.iterations());
    ctx.prove("names that are not as the renames must leave them", "0", f64::from(misplaced), 0.0..=0.0);
    Ok(())
}

/// The inode of the file with this name, if it exists.
fn inode(path: &Path) -> Result<Option<u64>, BenchError> {
    match std::fs::symlink_metadata(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        found => Ok(Some(found.context("looking at a name")?.ino())),
    }
}
