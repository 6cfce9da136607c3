//! The short life of a temporary file: created, written, read back, removed.
//!
//! **Measures:** The whole life as one operation: open a new file, write its contents in one piece,
//! close it; open it again, read it, close it; remove it. Compilers do this with the files between
//! their passes.
//!
//! **Does not measure:** Storage: nothing of it reaches a disk.
//!
//! **Method:** Each life is timed alone, under one of a few names used in turn, in an otherwise
//! empty directory. Bytes count only if all came back; the contents of the last file are compared
//! untimed. The proof is the directory at the end, which has to be empty.
//!
//! **Pitfalls:** An operation that fails looks fast. Those of `file.create_delete` apply as well.
//!
//! **Sources:** Ousterhout 1990 table 10 (0, 10 and 100 KB). There Sprite, which did not write
//! files at once, took a third of the time of the others on the same machine. See
//! docs/methods/operating-system.md#metadata-operations.

use super::crowd::{check_made, name};
use super::{BOTH_PLACES, directory, random_content};
use crate::parts::{self, Composition, Part, Shown, Times};
use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::{files, io, raw};
use std::os::fd::AsFd;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "A temporary file: created, written, read back, removed",
        about: about!("create_write_read_delete.rs"),
        iteration: "one file: open, write, close, open, read, close, unlink",
        timing: Timing::Each,
        params: &[
            Param::size("size", "bytes in the file").takes(super::files(1)).quick(&["10K"]).full(&["0", "100K"]),
            BOTH_PLACES,
        ],
        needs: &[Need::WorkDir],
        composed_of: COMPOSED_OF,
        interference: Interference::Blocking,
        target_half_width: 0.05,
        version: 2,
        ..Info::new("file.create_write_read_delete")
    },
    run: Run::Here(run),
};

const COMPOSED_OF: &[Composition] = &[Composition {
    of: Shown::of("file.create_write_read_delete", &[("size", "10K"), ("where", "work_dir")]),
    hardware: &[Part { times: Times::Fixed(40960.0), ..parts::COPY_10K }],
    parts: &[
        Part::of(1.0, "a file of 10 KiB created and written", Shown::of("file.create_delete", MADE)),
        Part::of(1.0, "opened again and closed", parts::OPEN_CLOSE),
        Part::of(1.0, "read", parts::READ),
        parts::COPY_10K,
        Part::of(1.0, "removed", Shown::of("file.create_delete.delete", MADE)),
    ],
    rest: "what the file system saves or adds where a file lives for microseconds",
}];

/// The file that it is.
const MADE: &[(&str, &str)] =
    &[("size", "10K"), ("entries", "16"), ("where", "work_dir"), ("object", "private"), ("order", "turns")];

fn run(ctx: &mut Ctx) -> Outcome {
    let scratch = directory(ctx)?;
    let dir = scratch.dir();
    let size = ctx.int("size") as usize;
    let content = random_content(ctx.rng(), size);
    // One byte more, to detect a file that is too long.
    let mut back = vec![0; content.len() + 1];
    let names: Result<Vec<_>, BenchError> = (0..8).map(|n| name(format!("temporary-{n}"))).collect();
    let names = names?;
    let mut lives = 0;
    ctx.measure_staged(|iters, watch| {
        watch.start();
        for _ in 0..iters {
            let name = &names[lives % names.len()];
            check_made(raw::create_at(dir, name, &content), "making a file")?;
            let file = files::open(dir, name).context("opening the file")?;
            let n = io::read(file.as_fd(), &mut back).context("reading the file")?;
            drop(file);
            check_made(raw::unlink_at(dir, name), "removing the file")?;
            if n != content.len() {
                return Err(BenchError::Failed(format!("{n} B came back of {} B", content.len())));
            }
            lives += 1;
        }
        watch.stop();
        let same = back[..content.len()] == content;
        back.fill(0);
        if same { Ok(()) } else { Err(BenchError::Failed("what came back is not what was written".to_owned())) }
    })?;
    work::once_each(ctx, "files made, read and removed per file credited", lives as u64, ctx.iterations());
    let left = std::fs::read_dir(scratch.path()).context("reading the directory")?.count();
    ctx.prove("files left in the directory", "0", left as f64, 0.0..=0.0);
    Ok(())
}
