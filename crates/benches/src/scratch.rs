//! Files to measure with, and programs to execute: below the round's own directory, and removed
//! afterwards.
//!
//! See docs/methods/operating-system.md#scratch-files.

use groma_harness::prelude::*;
use groma_harness::sys::fork;
use groma_harness::sys::overlay::Overlay;
use groma_harness::sys::tmpfs::Tmpfs;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, ErrorKind, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes of a file system in memory: more than any benchmark writes, but not enough to fill memory.
const IN_MEMORY: u64 = 1 << 30;

/// A directory to measure in, removed with its contents.
pub(crate) struct Scratch {
    kind: Kind,
    path: PathBuf,
    dir: File,
}

/// Who owns the directory, and therefore how it is removed.
enum Kind {
    /// This member's own: this path is removed with its contents.
    Own(PathBuf),
    /// Shared by all members: removed by the last one, which finds no other lock on it.
    Shared,
    /// The root of a file system that vanishes with its last descriptor.
    Tmpfs(#[expect(dead_code, reason = "held")] Tmpfs),
    Overlay(#[expect(dead_code, reason = "held")] Overlay),
}

impl Scratch {
    /// Creates this member's own directory, and records its file system as facts.
    pub(crate) fn new(ctx: &mut Ctx) -> Result<Scratch, BenchError> {
        let path = ctx.work_dir()?.join(format!("member-{}", ctx.member()));
        std::fs::create_dir(&path).context("making a directory")?;
        Scratch::open(ctx, Kind::Own(path.clone()), path)
    }

    /// As [`Scratch::new`], and in a separate part of the file system where it supports that, so
    /// that leftovers of what earlier rounds created and removed do not interfere.
    pub(crate) fn apart(ctx: &mut Ctx) -> Result<Scratch, BenchError> {
        let mut scratch = Scratch::new(ctx)?;
        scatter(ctx, &scratch.dir);
        // The file system chooses the block group by the name.
        scratch.path.push(format!("{:016x}", ctx.rng().next_u64()));
        std::fs::create_dir(&scratch.path).context("making a directory")?;
        scratch.dir = File::open(&scratch.path).context("opening the directory")?;
        Ok(scratch)
    }

    /// Creates or opens one directory for all members of the worker group, in a separate part of
    /// the file system as [`Scratch::apart`].
    pub(crate) fn shared(ctx: &mut Ctx) -> Result<Scratch, BenchError> {
        let work_dir = ctx.work_dir()?;
        scatter(ctx, &File::open(work_dir).context("opening the work directory")?);
        let path = shared_below(work_dir);
        match std::fs::create_dir(&path) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            made => made.context("making a directory")?,
        }
        let scratch = Scratch::open(ctx, Kind::Shared, path)?;
        // Where the file system has no locks, the directory is removed with the round's.
        drop(scratch.dir.try_lock_shared());
        Ok(scratch)
    }

    /// Creates one on a tmpfs of this member's own: what a file costs without a disk or journal.
    /// See docs/methods/operating-system.md#tmpfs-control.
    pub(crate) fn tmpfs(ctx: &mut Ctx) -> Result<Scratch, BenchError> {
        let work_dir = File::open(ctx.work_dir()?).context("opening the work directory")?;
        if sys::tmpfs::holds(&work_dir).context("asking for the file system")? {
            return Err(BenchError::Unsupported("the work directory is on tmpfs itself".to_owned()));
        }
        let tmpfs = Tmpfs::new(IN_MEMORY).map_err(|e| not_mounted("a tmpfs", &e))?;
        let dir = tmpfs.root().context("opening the directory")?;
        Ok(Scratch::in_memory(ctx, "tmpfs", Kind::Tmpfs(tmpfs), dir))
    }

    /// Creates one on an overlay of this member's own, over layers in memory: with
    /// [`Scratch::tmpfs`], what the overlay costs.
    pub(crate) fn overlay(ctx: &mut Ctx) -> Result<Scratch, BenchError> {
        let overlay = Overlay::new(IN_MEMORY, ctx.work_dir()?).map_err(|e| not_mounted("an overlay", &e))?;
        let dir = overlay.root().context("opening the directory")?;
        Ok(Scratch::in_memory(ctx, "overlay", Kind::Overlay(overlay), dir))
    }

    fn in_memory(ctx: &mut Ctx, fs: &str, kind: Kind, dir: File) -> Scratch {
        let path = PathBuf::from(format!("/proc/self/fd/{}", dir.as_raw_fd()));
        ctx.fact("work_dir.fs", fs);
        ctx.fact("work_dir.options", "mounted for this round");
        Scratch { kind, path, dir }
    }

    fn open(ctx: &mut Ctx, kind: Kind, path: PathBuf) -> Result<Scratch, BenchError> {
        let dir = File::open(&path).context("opening the directory")?;
        for (key, value) in sys::facts::work_dir_facts(&path) {
            // Free space changes from round to round; the rest is a property of the place.
            if key != "work_dir.free" {
                ctx.fact(&key, value);
            }
        }
        Ok(Scratch { kind, path, dir })
    }

    /// The path of the directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The directory as a descriptor, for lookups relative to it.
    pub(crate) fn dir(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    /// Creates an empty file `depth` names below the directory; returns its path from there: `f`,
    /// or `a/b/c/f`.
    pub(crate) fn file_at_depth(&self, depth: u64) -> Result<std::ffi::CString, BenchError> {
        let Some(between @ 0..=26) = depth.checked_sub(1) else {
            return Err(BenchError::Unsupported("a path has 1 to 27 names".to_owned()));
        };
        let folders: String = ('a'..='z').take(between as usize).flat_map(|c| [c, '/']).collect();
        std::fs::create_dir_all(self.path.join(&folders)).context("making directories")?;
        let name = format!("{folders}f");
        File::create_new(self.path.join(&name)).context("making a file")?;
        std::ffi::CString::new(name).map_err(|e| BenchError::Failed(e.to_string()))
    }

    /// Creates an empty file and removes its name, so that not even SIGKILL leaves it behind.
    pub(crate) fn nameless(&self, ctx: &Ctx) -> Result<File, BenchError> {
        // All members of a worker group may do this in one directory.
        let name = format!("nameless-{}", ctx.member());
        let file = self.new_file(&name)?;
        std::fs::remove_file(self.path.join(&name)).context("removing the file's name")?;
        Ok(file)
    }

    /// A file of `bytes` random bytes, which nothing can compress or deduplicate, positioned at its
    /// start.
    ///
    /// Its name is removed before anything is written, and its pages are dropped when the round
    /// ends, long before the kernel would write them back (by default after 30 s), so nothing is
    /// written to a disk during the round or after it. Syncing the file was 16 to 25 times as slow,
    /// and left freed blocks to be discarded in later rounds. See
    /// docs/methods/operating-system.md#scratch-files.
    pub(crate) fn random_file(&self, bytes: u64, ctx: &mut Ctx) -> Result<File, BenchError> {
        fill(self.nameless(ctx)?, bytes, ctx)
    }

    /// As [`Scratch::random_file`], with a name by which it can be opened again. Members that share
    /// the directory share the file, and one of them writes it.
    pub(crate) fn random_file_named(&self, name: &str, bytes: u64, ctx: &mut Ctx) -> Result<File, BenchError> {
        /// Milliseconds to wait for the writer; writing takes a second for each gigabyte or two.
        const PATIENCE: u32 = 30_000;
        let path = self.path.join(name);
        if ctx.member() == 0 || !matches!(self.kind, Kind::Shared) {
            // The file gets its name when it is complete.
            let file = fill(self.new_file("writing")?, bytes, ctx)?;
            std::fs::rename(self.path.join("writing"), &path).context("naming the file")?;
            return Ok(file);
        }
        let mut opened = File::options().read(true).write(true).open(&path);
        for _ in 0..PATIENCE {
            if !matches!(&opened, Err(e) if e.kind() == ErrorKind::NotFound) {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
            opened = File::options().read(true).write(true).open(&path);
        }
        opened.context("opening the file that another member writes")
    }

    fn new_file(&self, name: &str) -> Result<File, BenchError> {
        let mut options = File::options();
        options.read(true).write(true).create_new(true).open(self.path.join(name)).context("making a file")
    }
}

/// Writes `bytes` random bytes.
fn fill(mut file: File, bytes: u64, ctx: &mut Ctx) -> Result<File, BenchError> {
    let mut block = vec![0u8; 64 << 10];
    let mut left = bytes as usize;
    while left > 0 {
        let now = left.min(block.len());
        for word in block.chunks_exact_mut(8) {
            word.copy_from_slice(&ctx.rng().next_u64().to_ne_bytes());
        }
        file.write_all(&block[..now]).context("writing the file")?;
        left -= now;
    }
    file.rewind().context("rewinding the file")?;
    Ok(file)
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // If this fails, the directory above is still removed with the round.
        match &self.kind {
            Kind::Own(whole) => drop(std::fs::remove_dir_all(whole)),
            Kind::Shared if self.dir.try_lock().is_ok() => drop(std::fs::remove_dir_all(&self.path)),
            Kind::Shared => {}
            Kind::Tmpfs(_) | Kind::Overlay(_) => {}
        }
    }
}

/// Has the file system put each directory below this one elsewhere, and states whether it does.
fn scatter(ctx: &mut Ctx, dir: &File) {
    let apart = sys::files::scatter_below(dir).is_ok();
    ctx.fact("directory.apart", if apart { "yes" } else { "no" });
}

/// The directory that the members of a worker group share. Its name is that of no other round, as
/// the file system chooses the place by the name, and the same for all members.
pub(crate) fn shared_below(work_dir: &Path) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    work_dir.hash(&mut hasher);
    work_dir.join(format!("shared-{:016x}", hasher.finish()))
}

/// The error for a file system that cannot be mounted.
fn not_mounted(what: &str, error: &io::Error) -> BenchError {
    let text = format!("mounting {what}: {error}");
    match error.kind() {
        // `Other`: threads must not fork. `ENODEV`: the kernel has no such file system.
        ErrorKind::Other => BenchError::Unsupported(text),
        _ if error.raw_os_error() == Some(sys::tmpfs::NO_SUCH_FILE_SYSTEM) => BenchError::Unsupported(text),
        // The limit of user namespaces is reached.
        ErrorKind::StorageFull => BenchError::Denied(text),
        _ => BenchError::from_io(&format!("mounting {what}"), error),
    }
}

/// Writes a program. A child process writes it, so that no process forked in the meantime inherits
/// the descriptor: the kernel does not execute a file that is open for writing (`ETXTBSY`).
pub(crate) fn write_program(path: &Path, elf: &[u8]) -> Outcome {
    let write = || -> io::Result<()> {
        let mut file = File::options().write(true).create_new(true).mode(0o700).open(path)?;
        file.write_all(elf)
    };
    let child = fork::fork(|| write().map_or_else(|e| e.raw_os_error().unwrap_or(255), |()| 0));
    let exit = child.and_then(fork::Child::wait).context("forking a child that writes a program")?;
    match exit.code() {
        Some(0) => Ok(()),
        Some(errno) => Err(BenchError::from_io("writing a program", &io::Error::from_raw_os_error(errno))),
        None => Err(BenchError::Failed(format!("the child that writes a program {exit}"))),
    }
}

/// A directory for a test, and the check that a benchmark left nothing in it.
#[cfg(test)]
pub(crate) mod testing {
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicU32, Ordering};

    pub(crate) struct Place(PathBuf);

    impl Place {
        pub(crate) fn new() -> Place {
            static COUNT: AtomicU32 = AtomicU32::new(0);
            let n = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("groma-benches-{}-{n}", std::process::id()));
            std::fs::create_dir(&path).expect("a directory for the test");
            Place(path)
        }

        pub(crate) fn path(&self) -> &Path {
            &self.0
        }

        /// Removes what members of a worker group left that were ended because one of them failed,
        /// as the run does with its work directory.
        pub(crate) fn clear(&self) {
            for entry in std::fs::read_dir(&self.0).expect("a directory") {
                let path = entry.expect("an entry").path();
                let gone = if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
                gone.expect("it can be removed");
            }
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            // Fails where a benchmark left something behind, unless the test is failing already.
            let gone = std::fs::remove_dir(&self.0);
            if !std::thread::panicking() {
                gone.expect("the benchmark left something behind");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::Place;
    use super::*;
    use groma_harness::testing::try_out;
    use std::collections::BTreeSet;
    use std::io::Read;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    const BLOCK: usize = 4096;
    /// More than is written at a time, and no multiple of it.
    const BLOCKS: usize = 40;

    fn write_and_read(ctx: &mut Ctx) -> Outcome {
        let scratch = Scratch::new(ctx)?;
        let mut contents = Vec::new();
        let mut file = scratch.random_file((BLOCKS * BLOCK) as u64, ctx)?;
        file.read_to_end(&mut contents).context("reading the file")?;
        let different: BTreeSet<&[u8]> = contents.chunks(BLOCK).collect();
        ctx.state(different.len() as f64);
        Ok(())
    }

    static BENCH: Benchmark = Benchmark {
        info: Info { timing: Timing::Stated, needs: &[Need::WorkDir], ..Info::new("test.random_file") },
        run: Run::Here(write_and_read),
    };

    /// Descriptor and path are the same directory, below the member's own, with a new name each
    /// time, by which the file system chooses the block group.
    fn open_apart(ctx: &mut Ctx) -> Outcome {
        let mut names = BTreeSet::new();
        for _ in 0..3 {
            let scratch = Scratch::apart(ctx)?;
            let made = File::open(scratch.path()).and_then(|dir| dir.metadata()).context("looking at it")?;
            let held = scratch.dir.metadata().context("looking at it")?;
            let above = scratch.path().parent().and_then(Path::file_name);
            if made.ino() == held.ino() && above.is_some_and(|name| name == "member-0") {
                names.insert(scratch.path().to_owned());
            }
        }
        ctx.state(names.len() as f64);
        Ok(())
    }

    #[test]
    fn a_directory_apart_is_another_one_each_time() {
        let info = Info { timing: Timing::Stated, needs: &[Need::WorkDir], ..Info::new("test.apart") };
        let bench = Benchmark { info, run: Run::Here(open_apart) };
        let place = Place::new();
        let tried = try_out(&bench, &[], Some(place.path())).expect("a directory");
        assert_eq!(tried.result.series("").expect("stated").values, [3.0]);
    }

    /// A file system may store equal blocks once, and the checksum of a block must identify it.
    #[test]
    fn no_two_blocks_of_a_random_file_are_the_same() {
        let place = Place::new();
        let tried = try_out(&BENCH, &[], Some(place.path())).expect("a file");
        assert_eq!(tried.result.series("").expect("stated").values, [BLOCKS as f64]);
    }

    #[test]
    fn a_program_is_written_whole_and_can_be_executed_by_its_owner() {
        let place = Place::new();
        let path = place.path().join("program");
        write_program(&path, b"#!/bin/true\n").expect("a directory");
        assert_eq!(std::fs::read(&path).expect("written"), b"#!/bin/true\n");
        assert_eq!(std::fs::metadata(&path).expect("written").permissions().mode() & 0o777, 0o700);
        // The child says why not.
        for (path, kind) in
            [(path, io::ErrorKind::AlreadyExists), (place.path().join("no/program"), io::ErrorKind::NotFound)]
        {
            let why = write_program(&path, b"").expect_err("impossible").to_string();
            let error = File::options().write(true).create_new(true).open(&path).expect_err("the same");
            assert!(error.kind() == kind && why.contains(&error.to_string()), "{why}");
        }
        place.clear();
    }
}
