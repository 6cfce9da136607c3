//! Creating an empty directory, and removing one.
//!
//! **Measures:** `mkdir` and, as `mkdir.rmdir`, its removal.
//!
//! **Does not measure:** Storage: both happen in memory and are written seconds later.
//!
//! **Method:** As in `file.create_delete`: directories are created and the oldest removed in turn,
//! in a directory that holds the names the parameter asks for, each operation timed alone. The
//! proof is the directory at the end: as many as were created and not removed, each of them an
//! empty directory.
//!
//! **Pitfalls:**
//! - Those of `file.create_delete` apply as well.
//! - A directory takes a block where a file takes none (ext4), or is a tree of its own (XFS,
//!   btrfs).
//! - An ext4 without a journal that is mounted with `discard` notifies the device at once of every
//!   freed block: `rmdir` then waits for it (3.9 ms on a 2-vCPU KVM guest, 1.2 us on a tmpfs).
//!
//! **Sources:** No predecessor measures it alone; the first phase of the Andrew benchmark creates
//! directories. See docs/methods/operating-system.md#metadata-operations.

use super::ring::{self, Maker};
use super::{ENTRIES, OBJECT, WHERE, directory_of_object};
use groma_harness::prelude::*;
use groma_harness::sys::files;
use std::ffi::CStr;
use std::os::fd::BorrowedFd;
use std::path::Path;

/// The series of what makes, which is the main one, and of what removes.
const SERIES: [&str; 2] = ["mkdir", "rmdir"];

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Creating an empty directory; removing one",
        about: about!("mkdir.rs"),
        iteration: "one mkdir",
        timing: Timing::Each,
        outputs: &[Output::MAIN.series(SERIES[0]), Output::named(SERIES[1], "removing one")],
        params: &[ENTRIES.quick(&["16"]), WHERE, OBJECT],
        needs: &[Need::WorkDir],
        files: |params| if super::in_work_dir(params) { ring::MAX_NAMES * super::FILE_BLOCK } else { 0 },
        interference: Interference::Blocking,
        target_half_width: 0.05,
        version: 2,
        ..Info::new("file.mkdir")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let scratch = directory_of_object(ctx)?;
    ring::measure(ctx, &scratch, ctx.int("entries"), &Directories, SERIES)
}

struct Directories;

impl Maker for Directories {
    #[inline]
    fn make(&self, dir: BorrowedFd<'_>, name: &CStr) -> Outcome {
        files::make_dir(dir, name).context("making a directory")
    }

    #[inline]
    fn remove(&self, dir: BorrowedFd<'_>, name: &CStr) -> Outcome {
        files::remove_dir(dir, name).context("removing a directory")
    }

    fn is_whole(&self, path: &Path) -> std::io::Result<bool> {
        Ok(std::fs::symlink_metadata(path)?.is_dir() && std::fs::read_dir(path)?.next().is_none())
    }
}
