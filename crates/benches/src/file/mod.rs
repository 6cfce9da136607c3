//! Files: names created, moved and removed, cached data read again, and data that has to survive.
//!
//! Only `file.durable` waits for a disk.

use crate::scratch::Scratch;
use groma_harness::Rng;
use groma_harness::model::family::{Figure, Pick, Say, first_with, greatest};
use groma_harness::model::{Family, Params};
use groma_harness::prelude::*;

mod create_delete;
mod create_write_read_delete;
mod mkdir;
mod link;
mod rename;
mod lookup;
mod readdir;
mod truncate;
mod fallocate;
mod durable;
mod reread;
mod mmap_reread;
mod pread_random;
mod copy;
mod copy_up;
mod publish;
mod attribute;
mod watch;

mod cached;
mod crowd;
mod ring;

/// A metric of an empty file in the work directory.
const fn of_empty(metric: &'static str) -> Pick {
    first_with(metric, &[("where", "work_dir"), ("size", "0")])
}

pub(crate) static ABOUT: Family = Family {
    name: "file",
    summary: "Files: names, cached data and durable writes",
    says: Say::Each(&[
        Say::Text(
            "creating an empty file costs {}, deleting it {}",
            &[Figure::Value(of_empty("file.create_delete")), Figure::Value(of_empty("file.create_delete.delete"))],
        ),
        Say::Text("a file in the page cache is read at {}", &[Figure::Value(greatest("file.reread"))]),
    ]),
    rows: &[],
};

pub(crate) const ALL: &[&Benchmark] = listed!("file");

/// Where the files lie. The control is measured by a full run, when it is named, and where
/// [`BOTH_PLACES`] is declared; the overlay, as containers have it, when it is named.
const WHERE: Param = Param::word(
    "where",
    "in the work directory, as a control on a tmpfs that is mounted for the round, or on an overlay in memory",
    &["work_dir", "tmpfs", "overlay"],
)
.quick(&["work_dir"])
.named(&["overlay"]);

/// [`WHERE`], for what a standard run measures both on a disk and in memory: files that are created
/// and removed.
const BOTH_PLACES: Param = WHERE.standard(&["tmpfs"]);

/// The words of [`WHERE`] that keep files in memory.
const IN_MEMORY: (&str, &[&str]) = (WHERE.name, &["tmpfs", "overlay"]);

/// Whose the files are. Without a worker group both are the same, so a run measures only one unless
/// asked.
const OBJECT: Param =
    Param::word("object", "one for each member of a worker group, or one shared by all", &["private", "shared"])
        .quick(&["private"])
        .named(&["shared"]);

/// The memory for a parameter that is the length of files in [`WHERE`]; `copies` exist at a time.
const fn files(copies: u64) -> Memory {
    // One to write from, one to read back into.
    const BUFFERS: u64 = 2;
    Memory::Files { copies, buffers: BUFFERS, in_memory: Some(IN_MEMORY), shared: None }
}

/// How full the directory is: names here, entries in the kernel's cache of names, and entries of
/// the directory, which take 24 B in ext4's blocks, and half of each block may be free.
const ENTRIES: Param = Param::count("entries", "names in the directory")
    .takes(Memory::Files {
        copies: 128,
        buffers: 1 << 10,
        in_memory: Some(IN_MEMORY),
        shared: Some((OBJECT.name, "shared")),
    })
    .full(&["16", "1000", "100000"]);

/// A block of most file systems, in bytes: the least that a file with contents takes.
const FILE_BLOCK: u64 = 4096;

/// Whether the files lie in the work directory, by the parameter [`WHERE`].
fn in_work_dir(params: &Params) -> bool {
    params.word(WHERE.name).is_none_or(|word| word == "work_dir")
}

/// A directory of this member's own, in the place given by the parameter [`WHERE`].
fn directory(ctx: &mut Ctx) -> Result<Scratch, BenchError> {
    match ctx.word("where") {
        "tmpfs" => Scratch::tmpfs(ctx),
        "overlay" => Scratch::overlay(ctx),
        _ => Scratch::apart(ctx),
    }
}

/// As [`directory`], or one shared by all members, depending on the parameter [`OBJECT`].
fn directory_of_object(ctx: &mut Ctx) -> Result<Scratch, BenchError> {
    match (ctx.word("object"), ctx.word("where")) {
        ("shared", fs @ ("tmpfs" | "overlay")) => {
            Err(BenchError::Unsupported(format!("the {fs} is on no path and cannot be shared")))
        }
        ("shared", _) => Scratch::shared(ctx),
        _ => directory(ctx),
    }
}

/// What is written to a file: random bytes, which nothing can compress or share.
fn random_content(rng: &mut Rng, bytes: usize) -> Vec<u8> {
    let mut content = vec![0; bytes];
    content.fill_with(|| rng.next_u64() as u8);
    content
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::shared_below;
    use crate::scratch::testing::Place;
    use groma_harness::model::WorkerKind;
    use groma_harness::testing::{try_group, try_out, try_unchecked};
    use std::collections::BTreeSet;
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::path::PathBuf;
    use sys::tmpfs::Tmpfs;

    /// Tries every benchmark of the family in the root of a file system, with its largest plain
    /// values and not on another one.
    fn try_all_in(dir: &File) -> Vec<(&'static str, Outcome)> {
        let path = PathBuf::from(format!("/proc/self/fd/{}", dir.as_raw_fd()));
        let try_one = |bench: &&'static Benchmark| {
            let here = bench.info.params.iter().filter(|p| p.name != WHERE.name);
            let params = here.map(|p| (p.name, *p.values(Tier::Standard).last().expect("a value")));
            let params: Vec<(&str, &str)> = params.collect();
            let tried = try_unchecked(bench, &params, Some(&path)).map(|_| ());
            assert_eq!(std::fs::read_dir(&path).expect("the directory").count(), 0, "{} left something", bench.info.id);
            (bench.info.id, tried)
        };
        ALL.iter().map(try_one).collect()
    }

    /// It has no name by which another process could find it.
    #[test]
    fn a_tmpfs_is_not_shared() {
        let has = |bench: &Benchmark, name: &str| bench.info.params.iter().any(|param| param.name == name);
        let shared = ALL.iter().filter(|bench| has(bench, OBJECT.name) && has(bench, WHERE.name));
        assert_eq!(shared.clone().count(), 8);
        for bench in shared {
            let (place, chosen) = (Place::new(), [("object", "shared"), ("where", "tmpfs")]);
            let tried = try_out(bench, &chosen, Some(place.path())).map(|_| ());
            let told = matches!(&tried, Err(BenchError::Unsupported(why)) if why.contains("cannot be shared"));
            assert!(told, "{}: {tried:?}", bench.info.id);
        }
    }

    #[test]
    fn a_full_disk_is_a_failure_with_its_reason_and_leaves_nothing() {
        // The smallest tmpfs that a page and a half fit into.
        let root = match Tmpfs::new(8192).and_then(|tmpfs| tmpfs.root()) {
            Ok(root) => root,
            Err(e) => return eprintln!("skipped: {e}"),
        };
        let mut full = 0;
        for (id, tried) in try_all_in(&root) {
            match tried {
                Err(BenchError::Failed(why)) => {
                    assert!(why.contains("No space left"), "{id}: {why}");
                    full += 1;
                }
                // Names alone need no space there, and nothing is durable there.
                Ok(()) | Err(BenchError::Unsupported(_)) => {}
                Err(BenchError::Denied(why)) => panic!("{id}: {why}"),
            }
        }
        assert!(full >= 8, "{full}");
    }

    #[test]
    fn a_directory_that_cannot_be_written_to_is_one_clear_reason() {
        let root = match Tmpfs::read_only().and_then(|tmpfs| tmpfs.root()) {
            Ok(root) => root,
            Err(e) => return eprintln!("skipped: {e}"),
        };
        for (id, tried) in try_all_in(&root) {
            let why = "making a directory: Read-only file system (os error 30)".to_owned();
            assert_eq!(tried, Err(BenchError::Failed(why)), "{id}");
        }
    }

    #[test]
    fn the_control_is_no_control_where_all_is_on_tmpfs() {
        let root = match Tmpfs::new(1 << 20).and_then(|tmpfs| tmpfs.root()) {
            Ok(root) => root,
            Err(e) => return eprintln!("skipped: {e}"),
        };
        let path = PathBuf::from(format!("/proc/self/fd/{}", root.as_raw_fd()));
        let tried = try_out(&rename::BENCH, &[("where", "tmpfs")], Some(&path)).map(|_| ());
        assert_eq!(tried, Err(BenchError::Unsupported("the work directory is on tmpfs itself".to_owned())));
    }

    #[test]
    fn members_have_files_of_their_own_or_share_them() {
        let names = [&create_delete::BENCH, &mkdir::BENCH, &link::BENCH].map(|bench| (bench, ("entries", "100")));
        let bytes = [&reread::BENCH, &mmap_reread::BENCH, &pread_random::BENCH, &copy::BENCH];
        for (bench, size) in names.into_iter().chain(bytes.map(|bench| (bench, ("size", "1M")))) {
            for object in ["private", "shared"] {
                let place = Place::new();
                let chosen = [("object", object), size];
                let tried = try_group(bench, &chosen, Some(place.path()), 2, WorkerKind::Threads);
                assert!(tried.is_ok(), "{} {object}: {tried:?}", bench.info.id);
            }
        }
    }

    #[test]
    fn what_is_written_cannot_be_compressed() {
        let content = random_content(&mut Rng::new(7), 10_240);
        let words: BTreeSet<&[u8]> = content.chunks(8).collect();
        assert_eq!((content.len(), words.len()), (10_240, 1280));
        // Each of 256 values 40 times, about.
        let times = |value: u8| content.iter().filter(|byte| **byte == value).count();
        assert!((0..=u8::MAX).all(|value| (10..90).contains(&times(value))));
        assert_eq!([0, 1, 4097].map(|bytes| random_content(&mut Rng::new(7), bytes).len()), [0, 1, 4097]);
    }

    /// The directory that members will share; who holds it keeps the last member from removing it.
    /// Nothing where the file system has no locks.
    fn shared_directory(place: &Place) -> Option<(PathBuf, File)> {
        let path = shared_below(place.path());
        std::fs::create_dir(&path).expect("a directory");
        let held = File::open(&path).expect("a directory");
        let locked = held.lock_shared();
        if let Err(why) = &locked {
            println!("skipped: {why}");
            place.clear();
        }
        locked.is_ok().then_some((path, held))
    }

    /// A file that members share is one, and has its name in their directory.
    #[test]
    fn a_shared_file_is_there_once() {
        for bench in [&reread::BENCH, &mmap_reread::BENCH, &pread_random::BENCH, &copy::BENCH] {
            let place = Place::new();
            let Some((shared, _held)) = shared_directory(&place) else { return };
            let chosen = [("size", "1M"), ("where", "work_dir"), ("object", "shared")];
            try_group(bench, &chosen, Some(place.path()), 2, WorkerKind::Processes).expect("a worker group");
            let names =
                std::fs::read_dir(&shared).expect("a directory").map(|entry| entry.expect("an entry").file_name());
            assert_eq!(names.collect::<Vec<_>>(), ["cached"], "{}", bench.info.id);
            place.clear();
        }
    }

    /// A directory that members share holds as many names as one that a single process has.
    #[test]
    fn a_shared_directory_is_filled_once() {
        let place = Place::new();
        let chosen = [("entries", "1016"), ("where", "work_dir"), ("object", "shared")];
        let bench = ALL.iter().find(|bench| bench.info.id == "file.create_delete").expect("it is in the catalogue");
        let Some((shared, _held)) = shared_directory(&place) else { return };
        try_group(bench, &chosen, Some(place.path()), 2, WorkerKind::Processes).expect("a worker group");
        let names = std::fs::read_dir(&shared).expect("a directory").map(|entry| entry.expect("an entry").file_name());
        assert_eq!(names.filter(|name| name.as_encoded_bytes().starts_with(b"crowd-")).count(), 1000);
        std::fs::remove_dir_all(&shared).expect("a directory");
        place.clear();
    }
}
