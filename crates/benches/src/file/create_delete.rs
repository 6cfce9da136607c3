//! Creating a small file, and removing one.
//!
//! **Measures:** `create_delete`: open a new file, write its contents in one piece, close it.
//! `create_delete.delete`: remove the name of a file that was closed long before, and with it the
//! file.
//!
//! **Does not measure:** Storage: everything happens in memory, and the file system writes what it
//! must seconds later. `file.durable` measures a file that has to survive.
//!
//! **Method:** Besides the names that the parameter asks for, the directory holds 16 files, give or
//! take 8. Files are created and the oldest removed in turn, a few at a time, in the same rounds.
//! Where one side gets ahead of the other (in a worker group), it does the other's work untimed.
//! Each operation is timed alone. Names are reused in turn; calls are made by number, relative to
//! the open directory.
//!
//! The control on a tmpfs does the same without a disk or a journal. Members of a worker group have
//! a directory each, or share one. The proof is the directory at the end: as many files as were
//! created and not removed, each with the contents that were written.
//!
//! **Pitfalls:**
//! - lmbench ignores errors: on a full disk it gets fast.
//! - lmbench puts more files into the directory the faster the machine is.
//! - `TMPDIR` may silently move the directory to memory. The file system and its options are
//!   recorded with every result: ext4 and tmpfs differ by large factors.
//! - Commits of a journal make the tail, not the median. Nothing is synced: files this young are
//!   never written, and the kernel's later commit is a few blocks.
//! - An ext4 without a journal passes over every inode freed nearby in the last minutes, so a file
//!   costs more to create the more were removed before, by groma as well: 3.2 us at first, 165 us
//!   after sixty rounds with 100 files each (2-vCPU KVM guest). So the files are few, full
//!   directories are made of names of the same files, and the file system is told to put each
//!   round's directory elsewhere (`chattr +T`).
//!
//! **Sources:** lmbench 1996 table 16; lmbench3 `lat_fs`; Ousterhout 1990 table 10, whose files are
//! read back as well (see `file.create_write_read_delete`). See
//! docs/methods/operating-system.md#metadata-operations.

use super::crowd::made;
use super::ring::{self, Maker};
use super::{ENTRIES, OBJECT, WHERE, directory_of_object};
use groma_harness::prelude::*;
use groma_harness::sys::raw;
use std::ffi::CStr;
use std::os::fd::BorrowedFd;
use std::path::Path;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Creating a file of a given size; removing one",
        about: about!("create_delete.rs"),
        iteration: "one file: open, write, close",
        timing: Timing::Each,
        outputs: &[Output::MAIN.series("create"), Output::named("delete", "removing one")],
        params: &[
            Param::size("size", "bytes in the file")
                .takes(super::files(ring::MOST_NAMES))
                .quick(&["0"])
                .standard(&["10K"])
                .full(&["1K", "4K", "100K"]),
            ENTRIES.quick(&["16"]),
            WHERE,
            OBJECT,
        ],
        needs: &[Need::WorkDir],
        lineage: &["lmbench1996:table16", "lmbench3:lat_fs", "ousterhout1990:table10"],
        interference: Interference::Blocking,
        target_half_width: 0.05,
        ..Info::new("file.create_delete")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let scratch = directory_of_object(ctx)?;
    let mut content = vec![0; ctx.int("size") as usize];
    content.fill_with(|| ctx.rng().next_u64() as u8);
    ring::measure(ctx, &scratch, ctx.int("entries"), &Files { content }, "create", "delete")
}

struct Files {
    content: Vec<u8>,
}

impl Maker for Files {
    #[inline]
    fn make(&self, dir: BorrowedFd<'_>, name: &CStr) -> Outcome {
        made(raw::create_at(dir, name, &self.content), "making a file")
    }

    #[inline]
    fn remove(&self, dir: BorrowedFd<'_>, name: &CStr) -> Outcome {
        made(raw::unlink_at(dir, name), "removing a file")
    }

    fn is_whole(&self, path: &Path) -> std::io::Result<bool> {
        Ok(std::fs::read(path)? == self.content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::testing::Place;
    use groma_harness::testing::try_out;

    #[test]
    fn a_directory_that_is_there_already_is_refused() {
        let place = Place::new();
        let taken = place.path().join("member-0");
        std::fs::create_dir(&taken).expect("a directory");
        assert!(matches!(try_out(&BENCH, &[], Some(place.path())), Err(BenchError::Failed(_))));
        std::fs::remove_dir(&taken).expect("it is empty");
    }
}
