//! Files to measure with: below the round's own directory, and gone afterwards.

use groma_harness::prelude::*;
use std::fs::File;
use std::io::{Seek, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

/// A directory of this member's own, removed with all that is in it.
pub(crate) struct Scratch {
    /// What is removed in the end.
    whole: PathBuf,
    path: PathBuf,
    dir: File,
}

impl Scratch {
    /// Makes it, and states what file system it lies on.
    pub(crate) fn new(ctx: &mut Ctx) -> Result<Scratch, Stop> {
        let whole = ctx.work_dir()?.join(format!("member-{}", ctx.member()));
        std::fs::create_dir(&whole).doing("making a directory")?;
        let dir = File::open(&whole).doing("opening the directory")?;
        for (key, value) in sys::facts::work_dir_facts(&whole) {
            // What is free changes from round to round; the rest is a property of the place.
            if key != "work_dir.free" {
                ctx.fact(&key, value);
            }
        }
        Ok(Scratch { path: whole.clone(), whole, dir })
    }

    /// As [`Scratch::new`], and where the file system can be asked for that, in a part of it of its own: what earlier
    /// rounds have made and removed there is not in the way.
    pub(crate) fn apart(ctx: &mut Ctx) -> Result<Scratch, Stop> {
        let mut scratch = Scratch::new(ctx)?;
        let apart = sys::place::scatter_below(&scratch.dir).is_ok();
        ctx.fact("directory.apart", if apart { "yes" } else { "no" });
        // The place follows from the name.
        scratch.path.push(format!("{:016x}", ctx.rng().next_u64()));
        std::fs::create_dir(&scratch.path).doing("making a directory")?;
        scratch.dir = File::open(&scratch.path).doing("opening the directory")?;
        Ok(scratch)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// It as a descriptor, from which names are looked up.
    pub(crate) fn dir(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    /// An empty file `depth` names below the directory; returns its name from there: `f`, or `a/b/c/f`.
    pub(crate) fn file_at_depth(&self, depth: u64) -> Result<std::ffi::CString, Stop> {
        let Some(between @ 0..=26) = depth.checked_sub(1) else {
            return Err(Stop::Unsupported("a path has 1 to 27 names".to_owned()));
        };
        let folders: String = ('a'..='z').take(between as usize).flat_map(|c| [c, '/']).collect();
        std::fs::create_dir_all(self.path.join(&folders)).doing("making directories")?;
        let name = format!("{folders}f");
        File::create_new(self.path.join(&name)).doing("making a file")?;
        std::ffi::CString::new(name).map_err(|e| Stop::Failed(e.to_string()))
    }

    /// An empty file whose name is gone already, so that not even SIGKILL leaves it.
    pub(crate) fn nameless(&self) -> Result<File, Stop> {
        let path = self.path.join("nameless");
        let file = File::options().read(true).write(true).create_new(true).open(&path).doing("making a file")?;
        std::fs::remove_file(&path).doing("removing the file's name")?;
        Ok(file)
    }

    /// A file of so many random bytes, which nothing can compress or deduplicate, read from its start.
    ///
    /// Its name is gone before anything is written, and its pages are dropped when the
    /// round ends, long before the kernel would write them back (by default after 30 s). Nothing is written to a disk
    /// during the round or after it: to sync the file would be 16 to 25 times as slow here, and leave freed blocks to be
    /// discarded in later rounds.
    pub(crate) fn random_file(&self, bytes: u64, ctx: &mut Ctx) -> Result<File, Stop> {
        let mut file = self.nameless()?;
        let mut block = vec![0u8; 64 << 10];
        let mut left = bytes as usize;
        while left > 0 {
            let now = left.min(block.len());
            for word in block.chunks_exact_mut(8) {
                word.copy_from_slice(&ctx.rng().next_u64().to_ne_bytes());
            }
            file.write_all(&block[..now]).doing("writing the file")?;
            left -= now;
        }
        file.rewind().doing("rewinding the file")?;
        Ok(file)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The directory above goes with the round, whatever becomes of this.
        drop(std::fs::remove_dir_all(&self.whole));
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
    }

    impl Drop for Place {
        fn drop(&mut self) {
            // Fails, and says so, where a benchmark left something; but not a second time.
            let gone = std::fs::remove_dir(&self.0);
            if !std::thread::panicking() {
                gone.expect("the benchmark left something behind");
            }
        }
    }
}
