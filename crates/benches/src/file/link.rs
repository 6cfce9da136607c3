//! Giving a file another name, and removing that name.
//!
//! **Measures:** By kind, `link` (a second name of the file) or `symlink` (a name that leads to
//! it), and as `link.unlink` the removal of that name, which removes no file.
//!
//! **Does not measure:** Storage.
//!
//! **Method:** As in `file.create_delete`, for names of one file: created and the oldest removed in
//! turn, each timed alone. The proof is the directory at the end: as many names as were created and
//! not removed, each leading to that very file.
//!
//! **Calls:**
//! - `kind=hard`: `linkat(`, not `symlink`
//! - `kind=symbolic`: `symlink`, not `AT_SYMLINK_FOLLOW`
//!
//! **Pitfalls:**
//! - A file system without hard links is `unsupported`.
//! - A file can have a limited number of names (65000 on ext4); this benchmark stays far below.
//!
//! **Sources:** No predecessor measures it; `ln`, package managers and mail queues depend on it.
//! See docs/methods/operating-system.md#metadata-operations.

use super::crowd::{check_made, name};
use super::ring::{self, Maker};
use super::{ENTRIES, OBJECT, WHERE, directory_of_object};
use groma_harness::prelude::*;
use groma_harness::sys::files;
use groma_harness::sys::raw;
use std::ffi::CStr;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The series of what makes, which is the main one, and of what removes.
const SERIES: [&str; 2] = ["link", "unlink"];

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Giving a file another name; removing it",
        about: about!("link.rs"),
        iteration: "one link or symlink",
        timing: Timing::Each,
        outputs: &[Output::MAIN.series(SERIES[0]), Output::named(SERIES[1], "removing such a name")],
        params: &[
            Param::word("kind", "a hard link, or a symbolic link", &["hard", "symbolic"]).quick(&["hard"]),
            ENTRIES.quick(&["16"]),
            WHERE,
            OBJECT,
        ],
        needs: &[Need::WorkDir],
        interference: Interference::Blocking,
        target_half_width: 0.05,
        tier: Tier::Standard,
        version: 2,
        ..Info::new("file.link")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let scratch = directory_of_object(ctx)?;
    // One for each member, so that members share the directory and not the file.
    let target = name(format!("linked-{}", ctx.member()))?;
    check_made(raw::create_at(scratch.dir(), &target, b"x"), "making a file")?;
    let path = scratch.path().join(format!("linked-{}", ctx.member()));
    let inode = std::fs::metadata(path).context("looking at the file")?.ino();
    let names = Names { symbolic: ctx.word("kind") == "symbolic", target: &target, inode };
    ring::measure(ctx, &scratch, ctx.int("entries"), &names, SERIES)
}

struct Names<'t> {
    symbolic: bool,
    target: &'t CStr,
    inode: u64,
}

impl Maker for Names<'_> {
    #[inline]
    fn make(&self, dir: BorrowedFd<'_>, name: &CStr) -> Outcome {
        if self.symbolic {
            return files::symlink(dir, self.target, name).context("making a symbolic link");
        }
        files::link(dir, self.target, name).map_err(|e| match e.kind() {
            // The answer of file systems without hard links (FAT, some networks).
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::Unsupported => {
                BenchError::Unsupported(format!("this file system makes no hard links: {e}"))
            }
            _ => BenchError::from_io("making a link", &e),
        })
    }

    #[inline]
    fn remove(&self, dir: BorrowedFd<'_>, name: &CStr) -> Outcome {
        check_made(raw::unlink_at(dir, name), "removing a link")
    }

    fn is_whole(&self, path: &Path) -> std::io::Result<bool> {
        let kind_is_right = std::fs::symlink_metadata(path)?.is_symlink() == self.symbolic;
        Ok(kind_is_right && std::fs::metadata(path)?.ino() == self.inode)
    }
}
