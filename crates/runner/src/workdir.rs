//! The private directory of a run, for benchmarks that need files, and the removal of directories
//! that killed runs left.
//!
//! A run holds a lock on its directory. A directory whose lock is free belongs to no run any more:
//! the next run removes it, so that even SIGKILL leaves nothing for long.
//!
//! The directory is often made where everybody may write, and removal cannot be undone. So a
//! directory is removed only if a run made it: its whole name has our form, this user owns it,
//! nobody holds its lock, and a file in it, the mark, contains its name. It is created under
//! another name and renamed once it is locked and marked, so that no other run ever sees one that
//! is not; before the mark is removed it gets the other name again. What a kill leaves under the
//! other name holds the mark at most, and is removed when it is old. All of it goes by descriptors
//! ([`groma_harness::sys::dirs`]), never by path.

use anyhow::{Context, Result};
use groma_harness::sys::dirs::Dir;
use groma_harness::sys::process;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The names of such directories: this, the process id, `-`, 16 hexadecimal digits.
const PREFIX: &str = "groma-work-";
/// Their names before they are marked, and after: this and the rest of the name.
const UNMARKED: &str = "groma-unmarked-";
/// The file that marks one; it holds the directory's name.
const MARK: &str = "groma-work-directory";
/// No mark is longer: prefix, ten digits of a process id, 17 characters, a line's end.
const LONGEST_MARK: usize = 64;
/// Between its creation and its renaming a directory is unmarked for some microseconds, or for as
/// long as the process is stopped; one that is older than this was left by a kill. Only the mark is
/// removed from it, so a mistake costs that run its work directory and no data.
const OLD: Duration = Duration::from_secs(600);

/// A directory that is removed with everything in it when this is dropped.
#[derive(Debug)]
pub(crate) struct WorkDir {
    parent: Dir,
    name: OsString,
    /// Keeps the lock.
    dir: Dir,
    path: PathBuf,
    rounds: u64,
    /// The file that the rounds share ([`groma_harness::model::RunFile`]). It has no name: killed
    /// at any moment, a run leaves none of its gigabytes.
    file: Option<File>,
}

impl WorkDir {
    /// Makes a directory below `parent` that only this user can enter.
    ///
    /// # Errors
    /// Those of the file system, naming the place.
    pub(crate) fn new(parent: &Path, tag: u64) -> Result<WorkDir> {
        let tail = format!("{}-{tag:016x}", process::id());
        let (name, unmarked) = (OsString::from(format!("{PREFIX}{tail}")), OsString::from(format!("{UNMARKED}{tail}")));
        let make = || -> io::Result<(Dir, Dir)> {
            let place = Dir::open(parent)?;
            let dir = place.make(&unmarked)?;
            // A file system without locks keeps its directories until somebody removes them by
            // hand.
            let _ = dir.try_lock();
            let named = dir.write_new(OsStr::new(MARK), mark_of(&name).as_bytes());
            if let Err(e) = named.and_then(|()| place.rename(&unmarked, &name)) {
                let _ = remove_unmarked(&place, &unmarked, &dir);
                return Err(e);
            }
            Ok((place, dir))
        };
        let (place, dir) = make().with_context(|| format!("{}: cannot be written", parent.display()))?;
        let file = dir.nameless().ok();
        Ok(WorkDir { path: parent.join(&name), parent: place, name, dir, rounds: 0, file })
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
        let name = self.rounds.to_string();
        let path = self.path.join(&name);
        self.dir.make(OsStr::new(&name)).with_context(|| path.display().to_string())?;
        Ok(path)
    }

    /// Where a worker opens the file that the rounds share: by our descriptor.
    pub(crate) fn file(&self) -> Option<String> {
        self.file.as_ref().map(|file| format!("/proc/{}/fd/{}", process::id(), file.as_raw_fd()))
    }

    /// Removes the directory of the last round, with whatever its benchmark left there.
    pub(crate) fn end_round(&self) {
        // What cannot be removed now is tried again when the run ends.
        let _ = self.dir.remove(OsStr::new(&self.rounds.to_string()));
    }
}

impl Drop for WorkDir {
    fn drop(&mut self) {
        // A network file system gives an open file another name instead of removing it.
        drop(self.file.take());
        let _ = remove(&self.parent, &self.name, &self.dir);
    }
}

/// The contents of the mark in the directory of this name.
fn mark_of(name: &OsStr) -> String {
    format!("{}\n", name.display())
}

/// The process id and the digits of a name that starts with `prefix`, where it has our form to the
/// last character.
fn tail_of<'n>(name: &'n OsStr, prefix: &str) -> Option<&'n str> {
    let tail = name.to_str()?.strip_prefix(prefix)?;
    let (pid, tag) = tail.split_once('-')?;
    let number = pid.parse::<u32>().ok()?;
    let hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    // Only what `format` would write: neither signs nor leading zeros nor capitals.
    (number.to_string() == pid && tag.len() == 16 && tag.chars().all(hex)).then_some(tail)
}

/// Removes a directory that is ours, marked and locked by us. Killed at any moment it leaves what
/// the next sweep removes.
fn remove(parent: &Dir, name: &OsStr, dir: &Dir) -> io::Result<()> {
    dir.clear(Some(OsStr::new(MARK)))?;
    let tail = tail_of(name, PREFIX).ok_or(io::ErrorKind::InvalidInput)?;
    let unmarked = OsString::from(format!("{UNMARKED}{tail}"));
    // Where others may rename our directory, the name may lead to something of theirs by now.
    if !parent.leads_to(name, dir)? {
        return Err(io::ErrorKind::NotFound.into());
    }
    parent.rename(name, &unmarked)?;
    remove_unmarked(parent, &unmarked, dir)
}

/// Removes a directory that holds a mark at most.
fn remove_unmarked(parent: &Dir, name: &OsStr, dir: &Dir) -> io::Result<()> {
    match dir.unlink(OsStr::new(MARK)) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    parent.remove_empty(name, dir)
}

/// Removes what killed runs of this user left below `parent`; returns how many directories.
pub(crate) fn sweep(parent: &Path) -> usize {
    let Ok(parent) = Dir::open(parent) else { return 0 };
    let ours = |name: &OsStr| tail_of(name, PREFIX).is_some() || tail_of(name, UNMARKED).is_some();
    let Ok(names) = parent.names(ours) else { return 0 };
    names.iter().filter(|name| sweep_one(&parent, name).unwrap_or(false)).count()
}

/// Removes one of these if a run has left it; whether it did.
fn sweep_one(parent: &Dir, name: &OsStr) -> io::Result<bool> {
    let dir = parent.directory(name)?;
    if !dir.is_ours()? {
        return Ok(false);
    }
    dir.try_lock()?;
    if tail_of(name, PREFIX).is_some() {
        if dir.read_own(OsStr::new(MARK), LONGEST_MARK)? != mark_of(name).as_bytes() {
            return Ok(false);
        }
        remove(parent, name, &dir)?;
    } else {
        if dir.unchanged_for()? < OLD || !dir.names(|n| n != MARK)?.is_empty() {
            return Ok(false);
        }
        remove_unmarked(parent, name, &dir)?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::time::SystemTime;

    const DEAD: &str = "groma-work-1-0123456789abcdef";
    const DEAD_UNMARKED: &str = "groma-unmarked-1-0123456789abcdef";

    /// What a killed run left.
    fn leave(parent: &Path, name: &str, mark: &str) -> PathBuf {
        let dead = parent.join(name);
        fs::create_dir_all(dead.join("1/member-0")).expect("a directory");
        fs::write(dead.join("1/member-0/file"), b"x").expect("a file");
        fs::write(dead.join(MARK), format!("{mark}\n")).expect("a mark");
        dead
    }

    fn names(parent: &Path) -> Vec<String> {
        let entries = fs::read_dir(parent).expect("readable").flatten();
        let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn removes_itself_and_what_dead_runs_left() {
        let parent = tempfile::tempdir().expect("a temporary directory");
        let mut alive = WorkDir::new(parent.path(), 1).expect("a work directory");
        let round = alive.round().expect("a round's directory");
        fs::write(round.join("file"), b"x").expect("a file");
        let dead = leave(parent.path(), DEAD, DEAD);
        assert_eq!(sweep(parent.path()), 1);
        assert!(!dead.exists() && round.join("file").exists());
        alive.end_round();
        assert!(!round.exists());
        let another = alive.round().expect("a round's directory");
        assert_ne!(another, round);
        fs::write(another.join("file"), b"x").expect("a file");
        assert_eq!(fs::metadata(alive.path()).expect("there").permissions().mode() & 0o7777, 0o700);
        drop(alive);
        assert!(names(parent.path()).is_empty());
    }

    #[test]
    fn a_directory_that_no_run_made_stays() {
        let parent = tempfile::tempdir().expect("a temporary directory");
        let (place, other) = (parent.path(), tempfile::tempdir().expect("a temporary directory"));
        fs::write(other.path().join("file"), b"x").expect("a file");
        // Names of another form, with a mark and without.
        let forms = [
            "results",
            "1-2",
            "1-0123456789ABCDEF",
            "01-0123456789abcdef",
            "+1-0123456789abcdef",
            "1-0123456789abcdef0",
        ];
        for form in forms {
            let name = format!("{PREFIX}{form}");
            leave(place, &name, &name);
        }
        leave(place, &format!("{PREFIX}results-2"), DEAD);
        // Names of our form without a mark, with another one's mark, and with a mark that is no
        // file.
        fs::remove_file(leave(place, "groma-work-2-0123456789abcdef", "").join(MARK)).expect("a mark");
        leave(place, "groma-work-3-0123456789abcdef", DEAD);
        let linked = leave(place, "groma-work-4-0123456789abcdef", "");
        fs::remove_file(linked.join(MARK)).expect("a mark");
        fs::write(place.join("mark"), "groma-work-4-0123456789abcdef\n").expect("a file");
        symlink(place.join("mark"), linked.join(MARK)).expect("a link");
        symlink(other.path(), place.join("groma-work-5-0123456789abcdef")).expect("a link");
        fs::write(place.join("groma-work-6-0123456789abcdef"), b"x").expect("a file");
        // Unmarked ones: with something in it, and a fresh one.
        leave(place, "groma-unmarked-7-0123456789abcdef", "");
        fs::create_dir(place.join("groma-unmarked-8-0123456789abcdef")).expect("a directory");
        make_old(&place.join("groma-unmarked-7-0123456789abcdef"));
        let before = names(place);
        assert_eq!(before.len(), forms.len() + 9);
        assert_eq!(sweep(place), 0);
        assert_eq!(names(place), before);
        assert!(other.path().join("file").exists());
        for name in before.iter().filter(|n| place.join(n).join("1").is_dir()) {
            assert!(place.join(name).join("1/member-0/file").exists(), "{name}");
        }
    }

    /// As if it was last changed so long ago.
    fn changed(dir: &Path, ago: Duration) {
        File::open(dir).and_then(|dir| dir.set_modified(SystemTime::now() - ago)).expect("times can be set");
    }

    fn make_old(dir: &Path) {
        changed(dir, OLD + Duration::from_secs(5));
    }

    #[test]
    fn what_a_kill_left_between_two_steps_is_swept_when_it_is_old() {
        let parent = tempfile::tempdir().expect("a temporary directory");
        let dir = parent.path().join(DEAD_UNMARKED);
        for marked in [false, true] {
            fs::create_dir(&dir).expect("a directory");
            if marked {
                fs::write(dir.join(MARK), format!("{DEAD}\n")).expect("a mark");
            }
            assert_eq!(sweep(parent.path()), 0, "another run may be making it just now");
            changed(&dir, OLD - Duration::from_secs(60));
            assert_eq!(sweep(parent.path()), 0, "it may be a run on a slow disk");
            make_old(&dir);
            let held = File::open(&dir).expect("there");
            held.try_lock().expect("nobody holds it");
            assert_eq!(sweep(parent.path()), 0, "somebody holds it");
            drop(held);
            assert_eq!(sweep(parent.path()), 1);
            assert!(!dir.exists());
        }
    }

    #[test]
    fn links_in_what_was_left_are_removed_and_not_followed() {
        let (parent, other) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
        fs::write(other.path().join("file"), b"x").expect("a file");
        let dead = leave(parent.path(), DEAD, DEAD);
        symlink(other.path(), dead.join("1/member-0/link")).expect("a link");
        symlink(other.path(), dead.join("2")).expect("a link");
        assert_eq!(sweep(parent.path()), 1);
        assert!(!dead.exists() && other.path().join("file").exists());
    }

    #[test]
    fn a_work_directory_that_was_replaced_is_left_to_whoever_replaced_it() {
        let (parent, other) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
        fs::write(other.path().join("file"), b"x").expect("a file");
        let mut work = WorkDir::new(parent.path(), 1).expect("a work directory");
        work.round().expect("a round's directory");
        let path = work.path().to_owned();
        fs::rename(&path, parent.path().join("elsewhere")).expect("renamed");
        symlink(other.path(), &path).expect("a link");
        drop(work);
        assert!(other.path().join("file").exists(), "what the link leads to is nobody's to remove");
        assert!(path.is_symlink(), "the link is theirs");
        assert!(!parent.path().join("elsewhere/1").exists(), "what the run made is gone, wherever it is");
    }

    /// A worker opens it by the number that its supervisor has for it.
    #[test]
    fn the_file_that_rounds_share_has_no_name_and_can_be_opened() {
        let parent = tempfile::tempdir().expect("a temporary directory");
        let work = WorkDir::new(parent.path(), 1).expect("a work directory");
        let path = work.file().expect("a file without a name");
        assert!(path.starts_with(&format!("/proc/{}/fd/", process::id())), "{path}");
        fs::OpenOptions::new().write(true).open(&path).expect("it is there").set_len(5).expect("it is a file");
        assert_eq!(fs::metadata(&path).expect("it is there").len(), 5);
        assert_eq!(names(work.path()), [MARK]);
        let held = work.file.as_ref().map(|file| file.metadata().expect("fstat").len());
        assert_eq!(held, Some(5), "it is the same file");
    }
}
