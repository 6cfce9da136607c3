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
//! With `order=batch` files are created in a directory that is empty at first, until it holds as
//! many as `entries` says, and removed from one that holds as many at first, as in lmbench. What
//! empties the one and fills the other again is not timed.
//!
//! The control on a tmpfs does the same without a disk or a journal. Members of a worker group have
//! a directory each, or share one. The proof is the directory at the end: as many files as were
//! created and not removed, each with the contents that were written.
//!
//! **Calls:**
//! - timed `size=10K`: `clock openat write close clock`; the close is timed
//! - timed `size=10K`: `clock unlinkat clock`; unlinkat is timed alone
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

use super::crowd::{check_made, name};
use super::ring::{self, Maker};
use super::{BOTH_PLACES, ENTRIES, FILE_BLOCK, OBJECT, directory_of_object, random_content};
use crate::parts::{self, Composition, Part, Shown};
use crate::scratch::Scratch;
use crate::work::Done;
use groma_harness::model::Params;
use groma_harness::prelude::*;
use groma_harness::sys::raw;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

/// The series of what makes, which is the main one, and of what removes.
const SERIES: [&str; 2] = ["create", "delete"];

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Creating a file of a given size; removing one",
        about: about!("create_delete.rs"),
        iteration: "one file: open, write, close",
        timing: Timing::Each,
        outputs: &[Output::MAIN.series(SERIES[0]), Output::named(SERIES[1], "removing one")],
        params: &[
            Param::size("size", "bytes in the file")
                .takes(super::files(ring::MAX_NAMES))
                .quick(&["0"])
                .standard(&["10K"])
                .full(&["1K", "4K", "100K"]),
            ENTRIES.quick(&["16"]),
            BOTH_PLACES,
            OBJECT,
            Param::word(
                "order",
                "files made and removed in turn, or all made and then all removed",
                &["turns", "batch"],
            )
            .quick(&["turns"]),
        ],
        combination_tier,
        needs: &[Need::WorkDir],
        files: more_files,
        composed_of: COMPOSED_OF,
        interference: Interference::Blocking,
        target_half_width: 0.05,
        version: 2,
        ..Info::new("file.create_delete")
    },
    run: Run::Here(run),
};

const COMPOSED_OF: &[Composition] = &[Composition {
    of: Shown::of("file.create_delete", &[("size", "10K"), ("entries", "16"), ("where", "tmpfs"), ("order", "turns")]),
    hardware: &[parts::COPY_10K],
    parts: &[Part::of(1.0, "an empty file created", EMPTY), Part::of(1.0, "write", parts::WRITE), parts::COPY_10K],
    rest: "three pages taken, charged and entered in the file, each by itself",
}];

/// Creating an empty file in memory.
const EMPTY: Shown = Shown::of(
    "file.create_delete",
    &[("size", "0"), ("entries", "16"), ("where", "tmpfs"), ("object", "private"), ("order", "turns")],
);

/// Batches of more files than the paper's take seconds.
fn combination_tier(params: &Params) -> Tier {
    let long = params.word("order") == Some("batch") && params.int("entries").is_some_and(|n| n > 1000);
    if long { Tier::Named } else { Tier::Quick }
}

/// What the last block of each file leaves free; and the files of two batches, which the parameter
/// `size` does not know.
fn more_files(params: &Params) -> u64 {
    let (size, entries) = (params.int("size").unwrap_or(0), params.int("entries").unwrap_or(0));
    if size == 0 || !super::in_work_dir(params) {
        return 0;
    }
    let whole = size.div_ceil(FILE_BLOCK).saturating_mul(FILE_BLOCK);
    if params.word("order") == Some("batch") {
        return entries.saturating_mul(2).saturating_mul(whole);
    }
    ring::MAX_NAMES.saturating_mul(whole - size.min(whole))
}

/// The most bytes of the files of a batch together.
const MAX_BYTES: u64 = 256 << 20;

fn run(ctx: &mut Ctx) -> Outcome {
    let (size, entries) = (ctx.int("size"), ctx.int("entries"));
    let batch = ctx.word("order") == "batch";
    if batch && size.saturating_mul(entries) > MAX_BYTES {
        return Err(BenchError::Unsupported(format!(
            "the files of a batch have no more than {MAX_BYTES} B together, and {entries} files of {size} B have more"
        )));
    }
    let scratch = directory_of_object(ctx)?;
    let files = Files { content: random_content(ctx.rng(), size as usize) };
    if batch {
        return measure_batches(ctx, &scratch, entries, &files);
    }
    ring::measure(ctx, &scratch, entries, &files, SERIES)
}

/// A directory of its own and the names that fill it, made and removed in their order.
struct Batch<'f> {
    path: PathBuf,
    dir: File,
    files: &'f Files,
    names: Vec<CString>,
    /// The names below this number were made, those below the other one removed again.
    made: usize,
    removed: usize,
}

impl<'f> Batch<'f> {
    fn new(path: PathBuf, entries: u64, files: &'f Files) -> Result<Batch<'f>, BenchError> {
        std::fs::create_dir(&path).context("making a directory")?;
        let dir = File::open(&path).context("opening it")?;
        let names: Result<_, _> = (0..entries).map(|n| name(n.to_string())).collect();
        Ok(Batch { path, dir, files, names: names?, made: 0, removed: 0 })
    }

    #[inline]
    fn make(&mut self) -> Outcome {
        self.made += 1;
        self.files.make(self.dir.as_fd(), &self.names[self.made - 1])
    }

    #[inline]
    fn remove(&mut self) -> Outcome {
        self.removed += 1;
        self.files.remove(self.dir.as_fd(), &self.names[self.removed - 1])
    }

    /// Makes the files that are missing of a full directory.
    fn fill(&mut self) -> Outcome {
        (self.made..self.names.len()).try_for_each(|_| self.make())
    }

    /// Removes the files that are left, for the next batch.
    fn empty(&mut self) -> Outcome {
        (self.removed..self.made).try_for_each(|_| self.remove())?;
        (self.made, self.removed) = (0, 0);
        Ok(())
    }

    /// How many of the files that should be there hold what was written, as a share; 0 if there are
    /// others.
    fn share(&self) -> Result<f64, BenchError> {
        let there = &self.names[self.removed..self.made];
        let found = std::fs::read_dir(&self.path).context("reading the directory")?.count();
        let is_whole = |name: &CString| self.files.is_whole(&self.path.join(name.to_string_lossy().as_ref()));
        let whole: Result<Vec<bool>, _> = there.iter().map(is_whole).collect();
        let whole = whole.context("looking at what was made")?.into_iter().filter(|whole| *whole).count();
        let empty = f64::from(u8::from(found == 0));
        Ok(if there.is_empty() || found != there.len() { empty } else { whole as f64 / there.len() as f64 })
    }
}

fn measure_batches(ctx: &mut Ctx, scratch: &Scratch, entries: u64, files: &Files) -> Outcome {
    let batch = |what: &str| Batch::new(scratch.path().join(format!("{what}-{}", ctx.member())), entries, files);
    let (mut growing, mut shrinking) = (batch("growing")?, batch("shrinking")?);
    let (made, removed) = (Done::new(), Done::new());
    ctx.measure_variants(&mut [
        Variant::staged(SERIES[0], |iters, watch| {
            for _ in 0..iters {
                if growing.made == growing.names.len() {
                    growing.empty()?;
                }
                watch.start();
                growing.make()?;
                watch.stop();
                made.add(1);
            }
            Ok(())
        }),
        Variant::staged(SERIES[1], |iters, watch| {
            for _ in 0..iters {
                if shrinking.removed == shrinking.made {
                    shrinking.empty()?;
                    shrinking.fill()?;
                }
                watch.start();
                shrinking.remove()?;
                watch.stop();
                removed.add(1);
            }
            Ok(())
        }),
    ])?;
    made.prove_of(ctx, SERIES[0], "files made within the watch, per file credited");
    removed.prove_of(ctx, SERIES[1], "files removed within the watch, per file credited");
    for (what, batch) in [("made", &growing), ("not yet removed", &shrinking)] {
        let share = batch.share()?;
        ctx.prove(&format!("files {what} that hold what was written"), "1", share, 1.0..=1.0);
    }
    Ok(())
}

struct Files {
    content: Vec<u8>,
}

impl Maker for Files {
    #[inline]
    fn make(&self, dir: BorrowedFd<'_>, name: &CStr) -> Outcome {
        check_made(raw::create_at(dir, name, &self.content), "making a file")
    }

    #[inline]
    fn remove(&self, dir: BorrowedFd<'_>, name: &CStr) -> Outcome {
        check_made(raw::unlink_at(dir, name), "removing a file")
    }

    fn is_whole(&self, path: &Path) -> std::io::Result<bool> {
        Ok(std::fs::read(path)? == self.content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::testing::Place;
    use groma_harness::model::WorkerKind;
    use groma_harness::testing::{Tried, try_group, try_out};

    #[test]
    fn a_directory_that_is_there_already_is_refused() {
        let place = Place::new();
        let taken = place.path().join("member-0");
        std::fs::create_dir(&taken).expect("a directory");
        assert!(matches!(try_out(&BENCH, &[], Some(place.path())), Err(BenchError::Failed(_))));
        std::fs::remove_dir(&taken).expect("it is empty");
    }

    #[test]
    fn only_small_batches_are_measured_unless_they_are_named() {
        let points = BENCH.info.points(Tier::Full);
        let of = |order| points.iter().filter(move |params| params.word("order") == Some(order));
        let most = |order| of(order).filter_map(|params| params.int("entries")).max();
        assert_eq!((most("turns"), most("batch")), (Some(100_000), Some(1000)));
    }

    #[test]
    fn a_batch_holds_what_was_written_and_nothing_else() {
        let place = Place::new();
        let files = Files { content: b"abc".to_vec() };
        let mut batch = Batch::new(place.path().join("batch"), 4, &files).expect("a directory");
        assert_eq!(batch.share(), Ok(1.0));
        batch.fill().and_then(|()| batch.remove()).expect("files");
        assert_eq!((batch.share(), batch.path.join("0").exists()), (Ok(1.0), false));
        std::fs::write(batch.path.join("1"), "ab").expect("the file");
        assert_eq!(batch.share(), Ok(2.0 / 3.0));
        std::fs::write(batch.path.join("other"), "").expect("a file");
        assert_eq!(batch.share(), Ok(0.0));
        std::fs::remove_file(batch.path.join("other")).expect("the file");
        batch.empty().expect("files");
        assert_eq!((batch.share(), batch.made, batch.removed), (Ok(1.0), 0, 0));
        place.clear();
    }

    #[test]
    fn a_batch_is_made_whole_before_the_next() {
        let place = Place::new();
        let chosen = [("order", "batch"), ("entries", "5"), ("size", "1001")];
        // On a busy machine a round may end with its first batch, however small.
        let mut rounds = (0..10).map(|_| try_out(&BENCH, &chosen, Some(place.path())).expect("a batch"));
        let several = |tried: &Tried| ["create", "delete"].iter().all(|series| tried.samples(series) > 5);
        let tried = rounds.find(several).expect("a round of more than one batch");
        assert_eq!(tried.proven("files made that hold what was written"), 1.0);
        let shared = [&chosen[..], &[("object", "shared")]].concat();
        let group = try_group(&BENCH, &shared, Some(place.path()), 2, WorkerKind::Processes).expect("two members");
        assert_eq!(group.proven("files not yet removed that hold what was written"), 1.0);
        let none = try_out(&BENCH, &[("order", "batch"), ("entries", "1000"), ("size", "1M")], Some(place.path()));
        assert!(matches!(none, Err(BenchError::Unsupported(_))));
    }
}
