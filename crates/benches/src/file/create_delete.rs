//! Making a small file, and removing one.
//!
//! Measures `create_delete`: open a new file, write its contents in one piece, close it; and `create_delete.delete`: remove
//! the name of a file that was closed long ago, and with it the file. Does not measure storage: everything happens in
//! memory, and the file system writes what it must seconds later. A file that has to survive needs `fsync`.
//!
//! Method: the directory holds 16 files, give or take 8: files are made and the oldest removed in turn, a few at a time,
//! in the same rounds; where one side gets ahead of the other (in a crew), it does the other's work beside the watch. Each
//! operation is timed alone. Names are taken in turn; calls are made by number, from the open directory. Members of a crew
//! have a directory each. The proof is the directory at the end: as many files as were made and not removed, each with the
//! contents that were written.
//!
//! Traps: errors that are ignored (on a full disk lmbench gets fast); as many files in the directory as the machine is fast
//! (lmbench); a directory that `TMPDIR` silently moves to memory. The file system and its options are recorded with every
//! result: ext4 and tmpfs differ by factors. Commits of a journal make the tail, not the median. An ext4 without a journal
//! passes over every inode that was freed near by in the last minutes, so a file costs the more to make, the more were
//! removed before, by this program too (3.2 us at first, 165 us after sixty rounds with 100 files each, seen here): the
//! files are few, and the file system is told to put each round's directory elsewhere (`chattr +T`). Nothing is synced:
//! files this young are never written, and the kernel's later commit is a few blocks.
//!
//! Source: lmbench 1996 table 16, lmbench3 `lat_fs`, Ousterhout 1990 table 10 (which also reads the file back).

use crate::scratch::Scratch;
use groma_harness::prelude::*;
use groma_harness::sys::raw;
use std::cell::RefCell;
use std::ffi::CString;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Making a file of some bytes; removing one",
        about: about!("create_delete.rs"),
        iteration: "one file: open, write, close",
        timing: Timing::Each,
        outputs: &[
            Output { derivation: Derivation::Series("create"), ..Output::MAIN },
            Output {
                suffix: "delete",
                summary: "removing one",
                derivation: Derivation::Series("delete"),
                quantity: None,
                detail: false,
            },
        ],
        params: &[Param {
            name: "size",
            help: "bytes in the file",
            kind: ParamKind::Size,
            quick: &[],
            default: &["0", "10K"],
            full: &["0", "1K", "4K", "10K", "100K"],
        }],
        needs: &[Need::WorkDir],
        lineage: &["lmbench1996:table16", "lmbench3:lat_fs", "ousterhout1990:table10"],
        interference: Interference::Blocking,
        width: 0.05,
        ..Info::new("file.create_delete")
    },
    run: Run::Here(run),
};

/// Files in the directory. Few, because each one that lives at the same time leaves an inode to be passed over in later
/// rounds where those of 100 (lmbench 3) or 1000 (1996) multiplied the result.
const POPULATION: u64 = 16;
/// How many more or fewer there may be: a group of operations timed alone.
const SLACK: u64 = 8;

fn run(ctx: &mut Ctx) -> Outcome {
    let scratch = Scratch::apart(ctx)?;
    let mut content = vec![0; ctx.int("size") as usize];
    content.fill_with(|| ctx.rng().next_u64() as u8);
    let files = RefCell::new(Files::new(&scratch, &content)?);
    for _ in 0..POPULATION {
        files.borrow_mut().create()?;
    }
    ctx.fact("directory.files", format!("{} to {}", POPULATION - SLACK, POPULATION + SLACK));
    ctx.measure_arms(&mut [
        Arm::staged("create", |iters, watch| {
            let mut files = files.borrow_mut();
            for _ in 0..iters {
                watch.start();
                files.create()?;
                watch.stop();
                if files.there() > POPULATION + SLACK {
                    files.delete()?;
                }
            }
            Ok(())
        }),
        Arm::staged("delete", |iters, watch| {
            let mut files = files.borrow_mut();
            for _ in 0..iters {
                if files.there() < POPULATION - SLACK {
                    files.create()?;
                }
                watch.start();
                files.delete()?;
                watch.stop();
            }
            Ok(())
        }),
    ])?;
    let files = files.into_inner();
    let (whole, there) = (files.whole()? as f64, files.there() as f64);
    ctx.prove("files with the contents written, of those that should be there", "1", whole / there, 1.0..=1.0);
    Ok(())
}

/// The files of the directory: the newest is made, the oldest removed.
struct Files<'s> {
    scratch: &'s Scratch,
    content: &'s [u8],
    names: Vec<CString>,
    made: u64,
    removed: u64,
}

impl<'s> Files<'s> {
    fn new(scratch: &'s Scratch, content: &'s [u8]) -> Result<Files<'s>, Stop> {
        // One more than there ever are at a time, so that a name is free when it comes round.
        let names = (0..=POPULATION + SLACK + 1).map(|n| CString::new(format!("file-{n:03}")));
        let names: Result<Vec<_>, _> = names.collect();
        Ok(Files { scratch, content, names: names.map_err(|e| Stop::Failed(e.to_string()))?, made: 0, removed: 0 })
    }

    /// How many there are.
    fn there(&self) -> u64 {
        self.made - self.removed
    }

    #[inline]
    fn create(&mut self) -> Outcome {
        let name = &self.names[self.made as usize % self.names.len()];
        self.made += 1;
        worked(raw::create_at(self.scratch.dir(), name, self.content), "making a file")
    }

    #[inline]
    fn delete(&mut self) -> Outcome {
        let name = &self.names[self.removed as usize % self.names.len()];
        self.removed += 1;
        worked(raw::unlink_at(self.scratch.dir(), name), "removing a file")
    }

    /// How many files of the directory hold what was written to them; an error when there are others.
    fn whole(&self) -> Result<u64, Stop> {
        let mut whole = 0;
        for entry in std::fs::read_dir(self.scratch.path()).doing("reading the directory")? {
            let entry = entry.doing("reading the directory")?;
            let held = std::fs::read(entry.path()).doing("reading a file back")?;
            if held != self.content {
                return Err(Stop::Failed(format!("{}: not what was written", entry.path().display())));
            }
            whole += 1;
        }
        Ok(whole)
    }
}

#[inline]
fn worked(answer: isize, what: &str) -> Outcome {
    if answer == 0 { Ok(()) } else { Err(Stop::from_io(what, &std::io::Error::from_raw_os_error(-answer as i32))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::testing::Place;
    use groma_harness::testing::{try_crew, try_out};

    const WHOLE: &str = "files with the contents written, of those that should be there";

    #[test]
    fn the_directory_is_as_full_as_before_and_goes() {
        for size in ["0", "10K"] {
            let place = Place::new();
            let tried = try_out(&BENCH, &[("size", size)], Some(place.path())).expect("files");
            assert!(tried.samples("create") >= 3 && tried.samples("delete") >= 3);
            assert_eq!(tried.proven(WHOLE), 1.0);
            assert!(tried.result.facts.iter().any(|f| f.key == "work_dir.fs"));
        }
    }

    #[test]
    fn members_of_a_crew_have_a_directory_each() {
        let place = Place::new();
        let tried = try_crew(&BENCH, &[], Some(place.path()), 2, groma_harness::model::CrewKind::Threads);
        assert_eq!(tried.expect("files").proven(WHOLE), 1.0);
    }

    #[test]
    fn a_directory_that_is_there_already_is_refused() {
        let place = Place::new();
        let taken = place.path().join("member-0");
        std::fs::create_dir(&taken).expect("a directory");
        assert!(matches!(try_out(&BENCH, &[], Some(place.path())), Err(Stop::Failed(_))));
        std::fs::remove_dir(&taken).expect("it is empty");
    }

    #[test]
    fn a_file_that_cannot_be_made_is_no_fast_one() {
        assert!(matches!(worked(-28, "making a file"), Err(Stop::Failed(why)) if why.contains("No space left")));
        assert!(matches!(worked(-13, "making a file"), Err(Stop::Denied(_))));
    }
}
