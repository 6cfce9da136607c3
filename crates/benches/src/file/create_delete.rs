//! Making a small file, and removing one.
//!
//! Measures `create_delete`: open a new file, write its contents in one piece, close it; and `create_delete.delete`:
//! remove the name of a file that was closed long ago, and with it the file. Does not measure storage: everything
//! happens in memory, and the file system writes what it must seconds later. What a file costs that has to survive is
//! `file.durable`.
//!
//! Method: besides the names that the parameter asks for, the directory holds 16 files, give or take 8: files are made
//! and the oldest removed in turn, a few at a time, in the same rounds; where one side gets ahead of the other (in a
//! group), it does the other's work beside the watch. Each operation is timed alone. Names are taken in turn; calls are
//! made by number, from the open directory. The control on a tmpfs is the same where no disk and no journal is below.
//! Members of a worker group have a directory each, or one in common. The proof is the directory at the end: as many files as
//! were made and not removed, each with the contents that were written.
//!
//! Traps: errors that are ignored (on a full disk lmbench gets fast); as many files in the directory as the machine is
//! fast (lmbench); a directory that `TMPDIR` silently moves to memory. The file system and its options are recorded
//! with every result: ext4 and tmpfs differ by factors. Commits of a journal make the tail, not the median. An ext4
//! without a journal passes over every inode that was freed near by in the last minutes, so a file costs the more to
//! make, the more were removed before, by this program too (3.2 us at first, 165 us after sixty rounds with 100 files
//! each, seen here): the files are few, a directory is made full with names of the same files, and the file system is
//! told to put each round's directory elsewhere (`chattr +T`). Nothing is synced: files this young are never written,
//! and the kernel's later commit is a few blocks.
//!
//! Source: lmbench 1996 table 16, lmbench3 `lat_fs`, Ousterhout 1990 table 10 (whose files are read back as well:
//! `file.create_write_read_delete`).

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
        summary: "Making a file of some bytes; removing one",
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
