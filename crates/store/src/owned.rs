//! Makes directories and files for the owner of the place that they are made in. Under `sudo` the
//! home is often still that of the user, who could not read what then belongs to the superuser: his
//! store would be gone, and `~/.local` would shut other programs out.
//!
//! Each step goes through the descriptor of the one before, and follows no link: the owner of a
//! directory can change names in it at any time, and must not be given a file that he chose.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{self, AtFlags, CWD, Mode, OFlags};
use rustix::process::{Gid, Uid, geteuid};

/// A directory, and for whom something is made in it.
pub struct Place {
    dir: OwnedFd,
    /// `None` for the user of this process.
    owner: Option<(Uid, Gid)>,
}

/// Makes a directory and those above it that are missing, readable by their owner alone.
///
/// # Errors
/// Those of the system.
pub fn make_directories(path: &Path) -> io::Result<Place> {
    let path = std::path::absolute(path)?;
    let existing = path.ancestors().find(|place| place.is_dir()).unwrap_or(Path::new("/"));
    // A path only: a directory that cannot be listed can have directories.
    let dir = fs::openat(CWD, existing, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let mut place = Place { owner: owner_of(&dir)?, dir };
    let missing = path.strip_prefix(existing).unwrap_or(&path);
    for name in
        missing.components().filter_map(|part| if let Component::Normal(name) = part { Some(name) } else { None })
    {
        place = place.make_directory(name)?;
    }
    Ok(place)
}

/// Whose a new entry of a directory is to be, where that is not the user of this process. Only the
/// superuser can give files away.
fn owner_of(dir: &OwnedFd) -> io::Result<Option<(Uid, Gid)>> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    let found = fs::fstat(dir)?;
    let sticky = Mode::from_raw_mode(found.st_mode).contains(Mode::SVTX);
    // In `/tmp` each has what he makes.
    let foreign = found.st_uid != 0 && !sticky;
    Ok(foreign.then(|| (Uid::from_raw(found.st_uid), Gid::from_raw(found.st_gid))))
}

impl Place {
    fn make_directory(self, name: &OsStr) -> io::Result<Place> {
        let made = match fs::mkdirat(&self.dir, name, Mode::RWXU) {
            Ok(()) => true,
            // Another process was faster.
            Err(rustix::io::Errno::EXIST) => false,
            Err(e) => return Err(e.into()),
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = fs::openat(&self.dir, name, flags, Mode::empty())?;
        self.give(dir.as_fd(), made)?;
        Ok(Place { dir, owner: self.owner })
    }

    /// Makes an empty file that all may read, unless it is there.
    ///
    /// # Errors
    /// Those of the system.
    pub fn make_file(&self, name: &OsStr) -> io::Result<()> {
        let mode = Mode::from_raw_mode(0o644);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
        match fs::openat(&self.dir, name, flags | OFlags::EXCL, mode) {
            Ok(file) => self.give(file.as_fd(), true),
            Err(rustix::io::Errno::EXIST) => Ok(fs::openat(&self.dir, name, flags, mode).map(drop)?),
            Err(e) => Err(e.into()),
        }
    }

    /// Gives away what was made and is still the superuser's.
    fn give(&self, file: impl AsFd, made: bool) -> io::Result<()> {
        let Some((user, group)) = self.owner.filter(|_| made) else { return Ok(()) };
        let found = fs::fstat(&file)?;
        if found.st_uid == 0 && found.st_nlink <= 2 {
            fs::chownat(file, "", Some(user), Some(group), AtFlags::EMPTY_PATH)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, chown, symlink};

    #[test]
    fn what_the_superuser_makes_in_a_home_belongs_to_its_owner() {
        let home = tempfile::tempdir().expect("a directory");
        let make = || make_directories(&home.path().join("a/b"))?.make_file(OsStr::new("file"));
        let owners = || ["a", "a/b", "a/b/file"].map(|name| home.path().join(name).metadata().expect("made").uid());
        if !geteuid().is_root() {
            make().expect("made");
            assert_eq!(owners(), [geteuid().as_raw(); 3]);
            return;
        }
        chown(home.path(), Some(4711), Some(4712)).expect("a home");
        make().expect("made");
        assert_eq!(owners(), [4711; 3]);
        make().expect("it is there");
        // What was there keeps its owner, and so does what a link leads to.
        chown(home.path().join("a"), Some(0), Some(0)).expect("another owner");
        std::fs::remove_dir_all(home.path().join("a/b")).expect("removed");
        make().expect("made");
        assert_eq!(owners(), [0; 3]);
        let elsewhere = tempfile::tempdir().expect("a directory");
        symlink(elsewhere.path().join("no"), home.path().join("link")).expect("a link");
        make_directories(&home.path().join("link/c")).map(drop).expect_err("a link is not followed");
        assert_eq!(elsewhere.path().metadata().expect("there").uid(), 0);
    }
}
