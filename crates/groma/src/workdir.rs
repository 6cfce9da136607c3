//! The private directory of a run, for benchmarks that need files, and the removal of what a killed run left.
//!
//! A run holds a lock on its directory. A directory whose lock can be had belongs to nobody any more: the next run
//! removes it, so that even SIGKILL leaves nothing for long.

use anyhow::{Context, Result};
use groma_harness::sys::process;
use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// What such directories are called: `groma-PID-RANDOM`.
const PREFIX: &str = "groma-work-";

/// A directory that is removed with everything in it when this is dropped.
#[derive(Debug)]
pub(crate) struct WorkDir {
    path: PathBuf,
    /// Keeps the lock.
    _lock: File,
    rounds: u64,
}

impl WorkDir {
    /// Makes a directory below `parent` that only this user can enter.
    ///
    /// # Errors
    /// Those of the file system, naming the place.
    pub(crate) fn new(parent: &Path, tag: u64) -> Result<WorkDir> {
        let path = parent.join(format!("{PREFIX}{}-{tag:016x}", process::id()));
        let fail = || format!("{}: cannot be written", parent.display());
        DirBuilder::new().mode(0o700).create(&path).with_context(fail)?;
        let lock = File::open(&path).with_context(fail)?;
        // A file system without locks keeps its directories until somebody removes them by hand.
        let _ = lock.try_lock();
        Ok(WorkDir { path, _lock: lock, rounds: 0 })
    }

    /// The directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A fresh directory for one round.
    ///
    /// # Errors
    /// Those of the file system.
    pub(crate) fn round(&mut self) -> Result<PathBuf> {
        self.rounds += 1;
        let path = self.path.join(self.rounds.to_string());
        DirBuilder::new().mode(0o700).create(&path).with_context(|| path.display().to_string())?;
        Ok(path)
    }
}

impl Drop for WorkDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes what killed runs of this user left below `parent`; returns how many directories.
pub(crate) fn sweep(parent: &Path) -> usize {
    let Ok(entries) = fs::read_dir(parent) else { return 0 };
    let ours = |name: &str| name.starts_with(PREFIX);
    let mut removed = 0;
    for entry in entries.flatten().filter(|e| e.file_name().to_str().is_some_and(ours)) {
        let Ok(dir) = File::open(entry.path()) else { continue };
        if dir.try_lock().is_ok() && fs::remove_dir_all(entry.path()).is_ok() {
            removed += 1;
        }
    }
    removed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_itself_and_what_dead_runs_left() {
        let parent = tempfile::tempdir().expect("a temporary directory");
        let mut alive = WorkDir::new(parent.path(), 1).expect("a work directory");
        let round = alive.round().expect("a round's directory");
        fs::write(round.join("file"), b"x").expect("a file");
        let dead = parent.path().join(format!("{PREFIX}1-2"));
        fs::create_dir(&dead).expect("a directory");
        fs::write(dead.join("file"), b"x").expect("a file");
        assert_eq!(sweep(parent.path()), 1);
        assert!(!dead.exists() && round.exists());
        let path = alive.path().to_owned();
        drop(alive);
        assert!(!path.exists());
    }
}
