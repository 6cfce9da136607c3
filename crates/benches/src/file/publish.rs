//! A file that gets its name only when it is whole, so that nobody sees half of it.
//!
//! **Measures:** The two ways, each with 4 KiB of contents and without making them durable:
//! - `rename`: a file of another name is created and written, and renamed.
//! - `nameless`: a file without a name is created (`O_TMPFILE`, Linux 3.11) and written, and
//!   `linkat` gives it its name. A program that dies meanwhile leaves nothing.
//!
//! `.remove` is the removal of such a file.
//!
//! **Does not measure:** `fsync` before the name (`file.durable`).
//!
//! **Method:** As in `file.create_delete`: files are made and the oldest removed in turn, each
//! timed alone. The proof is the directory at the end: as many names as were made and not removed,
//! each of a file with its contents.
//!
//! **Pitfalls:** Some file systems have no nameless files: `unsupported`.
//!
//! **Sources:** None of the earlier suites. See
//! docs/methods/operating-system.md#metadata-operations.

use super::crowd::{check_made, name};
use super::ring::{self, Maker};
use super::{ENTRIES, OBJECT, WHERE, directory_of_object};
use groma_harness::prelude::*;
use groma_harness::sys::files;
use groma_harness::sys::raw;
use std::ffi::CStr;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;

/// The series of what makes, which is the main one, and of what removes.
const SERIES: [&str; 2] = ["publish", "remove"];

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "A file that gets its name when it is whole",
        about: about!("publish.rs"),
        iteration: "one file: created, written, named",
        timing: Timing::Each,
        outputs: &[Output::MAIN.series(SERIES[0]), Output::named(SERIES[1], "removing such a file")],
        params: &[
            Param::word("way", "renamed from another name, or without one until then", &["rename", "nameless"])
                .quick(&["rename"])
                .standard(&["nameless"]),
            ENTRIES.quick(&["16"]),
            WHERE,
            OBJECT,
        ],
        needs: &[Need::WorkDir],
        files: |params| if super::in_work_dir(params) { ring::MAX_NAMES * super::FILE_BLOCK } else { 0 },
        interference: Interference::Blocking,
        target_half_width: 0.05,
        tier: Tier::Standard,
        ..Info::new("file.publish")
    },
    run: Run::Here(run),
};

/// What is written.
const CONTENT: [u8; 4096] = [7; 4096];

fn run(ctx: &mut Ctx) -> Outcome {
    let scratch = directory_of_object(ctx)?;
    let before = name(format!("unpublished-{}", ctx.member()))?;
    let files = Files { nameless: ctx.word("way") == "nameless", before: &before };
    ring::measure(ctx, &scratch, ctx.int("entries"), &files, SERIES)
}

struct Files<'n> {
    nameless: bool,
    before: &'n CStr,
}

impl Maker for Files<'_> {
    #[inline]
    fn make(&self, dir: BorrowedFd<'_>, name: &CStr) -> Outcome {
        if !self.nameless {
            check_made(raw::create_at(dir, self.before, &CONTENT), "making a file")?;
            return files::rename(dir, self.before, dir, name).context("renaming a file");
        }
        files::publish(dir, name, &CONTENT).map_err(|error| match error.kind() {
            io::ErrorKind::Unsupported | io::ErrorKind::IsADirectory => {
                BenchError::Unsupported(format!("this file system has no files without a name: {error}"))
            }
            _ => BenchError::from_io("making a file without a name", &error),
        })
    }

    #[inline]
    fn remove(&self, dir: BorrowedFd<'_>, name: &CStr) -> Outcome {
        check_made(raw::unlink_at(dir, name), "removing a file")
    }

    fn is_whole(&self, path: &Path) -> io::Result<bool> {
        Ok(std::fs::read(path)? == CONTENT)
    }
}
