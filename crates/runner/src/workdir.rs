//! The work directory of a run, for benchmarks that need files, and the removal of those that
//! killed runs left behind.
//!
//! A run holds a lock on its directory. A directory whose lock is free belongs to no run any more,
//! and the next run removes it: even SIGKILL leaves nothing for long.
//!
//! The directory is often in a place that all users may write to, and removal cannot be undone. So
//! a directory is removed only if a run made it: its whole name has the right form, this user owns
//! it, its lock is free, and a file in it, the mark, contains its name. It is created under another
//! name and renamed once it is locked and marked, so that no other run sees it earlier; before the
//! mark is removed it gets the other name again. A kill leaves at most the mark under the other
//! name, which is removed when it is old. All operations use descriptors
//! ([`groma_harness::sys::dirs`]), never paths.

mod places;

pub(crate) use places::Places;

use anyhow::{Context, Result};
use groma_harness::sys::dirs::Dir;
use groma_harness::sys::process;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The name of a work directory is this, the process id, `-`, and 16 hexadecimal digits.
const PREFIX: &str = "groma-work-";
/// Replaces the prefix while a directory is not marked.
const UNMARKED: &str = "groma-unmarked-";
/// The mark: a file that holds the name of its directory.
const MARK: &str = "groma-work-directory";
/// Longest mark in bytes: prefix, ten digits of a process id, 17 characters, a newline.
const LONGEST_MARK: usize = 64;
/// An unmarked directory older than this was left by a kill: between its creation and its renaming
/// there are microseconds, unless the process is stopped. At most a mark is removed with it, so a
/// mistake costs that run its work directory and no data.
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
    /// The file that the rounds share ([`groma_harness::model::RunFile`]). It has no name, so a
    /// killed run leaves none of its gigabytes.
    file: Option<File>,
    /// The place where it is, and why there.
    choice: Option<(String, String)>,
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
            // Without locks, directories of killed runs stay until they are removed by hand.
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
        Ok(WorkDir { path: parent.join(&name), parent: place, name, dir, rounds: 0, file, choice: None })
    }

    /// The directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The place where it is, and why it was chosen.
    pub(crate) fn choice(&self) -> Option<(&str, &str)> {
        self.choice.as_ref().map(|(place, why)| (place.as_str(), why.as_str()))
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

    /// The path by which a worker opens the shared file: that of our descriptor.
    pub(crate) fn file(&self) -> Option<String> {
        self.file.as_ref().map(|file| format!("/proc/{}/fd/{}", process::id(), file.as_raw_fd()))
    }

    /// Removes the directory of the last round with everything in it.
    pub(crate) fn end_round(&self) {
        // If this fails, it is tried again when the run ends.
        let _ = self.dir.remove(OsStr::new(&self.rounds.to_string()));
    }
}

impl Drop for WorkDir {
    fn drop(&mut self) {
        // Closed first: a network file system renames an open file instead of removing it.
        drop(self.file.take());
        let _ = remove(&self.parent, &self.name, &self.dir);
    }
}

/// The contents of the mark in the directory of this name.
fn mark_of(name: &OsStr) -> String {
    format!("{}\n", name.display())
}

/// The rest of a name after `prefix`, if all of it has the right form.
fn tail_of<'n>(name: &'n OsStr, prefix: &str) -> Option<&'n str> {
    let tail = name.to_str()?.strip_prefix(prefix)?;
    let (pid, tag) = tail.split_once('-')?;
    let number = pid.parse::<u32>().ok()?;
    let hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    // Exactly what `new` writes: no sign, leading zero or capital letter.
    (number.to_string() == pid && tag.len() == 16 && tag.chars().all(hex)).then_some(tail)
}

/// Removes a directory that is marked and locked by us. If it is killed, the next sweep removes
/// what is left.
fn remove(parent: &Dir, name: &OsStr, dir: &Dir) -> io::Result<()> {
    dir.clear(Some(OsStr::new(MARK)))?;
    let tail = tail_of(name, PREFIX).ok_or(io::ErrorKind::InvalidInput)?;
    let unmarked = OsString::from(format!("{UNMARKED}{tail}"));
    // If others may rename our directory, the name may lead to something else by now.
    if !parent.leads_to(name, dir)? {
        return Err(io::ErrorKind::NotFound.into());
    }
    parent.rename(name, &unmarked)?;
    remove_unmarked(parent, &unmarked, dir)
}

/// Removes a directory that holds at most a mark.
fn remove_unmarked(parent: &Dir, name: &OsStr, dir: &Dir) -> io::Result<()> {
    match dir.unlink(OsStr::new(MARK)) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    parent.remove_empty(name, dir)
}

/// Removes the directories that killed runs of this user left below `parent`; returns their number.
pub(crate) fn sweep(parent: &Path) -> usize {
    let Ok(parent) = Dir::open(parent) else { return 0 };
    let ours = |name: &OsStr| tail_of(name, PREFIX).is_some() || tail_of(name, UNMARKED).is_some();
    let Ok(names) = parent.names(ours) else { return 0 };
    names.iter().filter(|name| sweep_one(&parent, name).unwrap_or(false)).count()
}

/// Removes a directory if a killed run left it; returns whether it did.
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

    /// The directory of a killed run.
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
    fn the_directory_and_those_of_killed_runs_are_removed() {
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
    fn a_directory_that_no_run_made_is_kept() {
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
        // Names of the right form without a mark, with the mark of another directory, and with a
        // symbolic link as mark.
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

    /// Sets the modification time to this long ago.
    fn set_modified(dir: &Path, ago: Duration) {
        File::open(dir).and_then(|dir| dir.set_modified(SystemTime::now() - ago)).expect("times can be set");
    }

    fn make_old(dir: &Path) {
        set_modified(dir, OLD + Duration::from_secs(5));
    }

    #[test]
    fn an_unmarked_directory_is_swept_when_it_is_old() {
        let parent = tempfile::tempdir().expect("a temporary directory");
        let dir = parent.path().join(DEAD_UNMARKED);
        for marked in [false, true] {
            fs::create_dir(&dir).expect("a directory");
            if marked {
                fs::write(dir.join(MARK), format!("{DEAD}\n")).expect("a mark");
            }
            assert_eq!(sweep(parent.path()), 0, "another run may be making it just now");
            set_modified(&dir, OLD - Duration::from_secs(60));
            assert_eq!(sweep(parent.path()), 0, "it may be a run on a slow disk");
            make_old(&dir);
            let held = File::open(&dir).expect("there");
            held.try_lock().expect("it is not locked");
            assert_eq!(sweep(parent.path()), 0, "it is locked");
            drop(held);
            assert_eq!(sweep(parent.path()), 1);
            assert!(!dir.exists());
        }
    }

    #[test]
    fn symbolic_links_are_removed_and_not_followed() {
        let (parent, other) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
        fs::write(other.path().join("file"), b"x").expect("a file");
        let dead = leave(parent.path(), DEAD, DEAD);
        symlink(other.path(), dead.join("1/member-0/link")).expect("a link");
        symlink(other.path(), dead.join("2")).expect("a link");
        assert_eq!(sweep(parent.path()), 1);
        assert!(!dead.exists() && other.path().join("file").exists());
    }

    #[test]
    fn what_replaced_a_work_directory_is_kept() {
        let (parent, other) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
        fs::write(other.path().join("file"), b"x").expect("a file");
        let mut work = WorkDir::new(parent.path(), 1).expect("a work directory");
        work.round().expect("a round's directory");
        let path = work.path().to_owned();
        fs::rename(&path, parent.path().join("elsewhere")).expect("renamed");
        symlink(other.path(), &path).expect("a link");
        drop(work);
        assert!(other.path().join("file").exists(), "the target of the link was removed");
        assert!(path.is_symlink(), "the link was removed");
        assert!(!parent.path().join("elsewhere/1").exists(), "the moved directory was not cleared");
    }

    /// A worker opens it by the descriptor of its supervisor.
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
