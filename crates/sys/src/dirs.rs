//! Directories held by descriptors: created, locked, renamed and removed one name at a time.
//!
//! For directories in places where others can write. A path is resolved again at each use, and
//! whoever owns one of its directories decides where it leads; a descriptor always refers to the
//! same directory. Names are therefore resolved one at a time from a descriptor, symbolic links are
//! never followed, mount points never crossed, and nothing that could block, such as a FIFO, is
//! opened. `std::fs::remove_dir_all` was rejected: it crosses mount points and starts from a path.
//!
//! # Safety
//! Only a test needs it: it calls `unshare` in a freshly forked child with one thread, for a mount
//! namespace.
#![cfg_attr(test, expect(unsafe_code, reason = "unshare, in a test"))]

use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags, RenameFlags, ResolveFlags, Stat, StatxFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// A directory, as a descriptor.
#[derive(Debug)]
pub struct Dir(OwnedFd);

/// Directories below the one being removed are held open down to this depth, one descriptor each.
/// What is deeper is moved up first, so that a deep tree cannot exhaust descriptors or stack.
const MAX_OPEN_DEPTH: u32 = 32;
/// Names read before they are removed: bounds memory in a directory of millions.
const BATCH: usize = 1024;
/// After this many names that cannot be removed, no more are tried.
const MAX_FAILURES: usize = 64;

impl Dir {
    /// Opens a directory that the user named; symbolic links in its path are followed.
    ///
    /// # Errors
    /// Those of `open`: `ENOTDIR` when it is something else.
    pub fn open(path: &Path) -> io::Result<Dir> {
        // A path only (`O_PATH`): creating something in a directory does not require permission to
        // list it.
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Dir(rustix::fs::openat(CWD, path, flags, Mode::empty())?))
    }

    /// The directory of this name in this one; neither a symbolic link to one nor a mount point.
    ///
    /// # Errors
    /// Those of `openat2`: `ENOTDIR` or `ELOOP` when it is no directory, `EXDEV` when something is
    /// mounted there.
    pub fn directory(&self, name: &OsStr) -> io::Result<Dir> {
        Ok(Dir(open_name(self.0.as_fd(), name, OFlags::RDONLY | OFlags::DIRECTORY)?))
    }

    /// Creates a directory that only this user can enter.
    ///
    /// # Errors
    /// Those of `mkdirat` and `openat2`; `PermissionDenied` when somebody replaced it.
    pub fn make(&self, name: &OsStr) -> io::Result<Dir> {
        check_name(name)?;
        rustix::fs::mkdirat(&self.0, name, Mode::RWXU)?;
        let dir = self.directory(name)?;
        if !dir.is_ours()? {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "another user replaced it"));
        }
        // Removes what the parent passes on (set-group-id) and what a default access list adds.
        rustix::fs::fchmod(&dir.0, Mode::RWXU)?;
        Ok(dir)
    }

    /// Whether the effective user owns it.
    ///
    /// # Errors
    /// Those of `fstat`.
    pub fn is_ours(&self) -> io::Result<bool> {
        Ok(owned(&rustix::fs::fstat(&self.0)?))
    }

    /// Whether the effective user owns it and nobody else may enter it.
    ///
    /// # Errors
    /// Those of `fstat`.
    pub fn is_private(&self) -> io::Result<bool> {
        let stat = rustix::fs::fstat(&self.0)?;
        Ok(owned(&stat) && stat.st_mode & (Mode::RWXG | Mode::RWXO).as_raw_mode() == 0)
    }

    /// The time since something was last created, renamed or removed in it. Zero when the clock was
    /// set back.
    ///
    /// # Errors
    /// Those of `fstat`.
    pub fn unchanged_for(&self) -> io::Result<Duration> {
        let changed = Duration::from_secs(u64::try_from(rustix::fs::fstat(&self.0)?.st_mtime).unwrap_or(0));
        Ok(SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().saturating_sub(changed))
    }

    /// Locks the directory unless another process holds the lock. Closing the descriptor releases
    /// it.
    ///
    /// # Errors
    /// Those of `flock`: `EWOULDBLOCK` when it is held; others where the file system has no locks.
    pub fn try_lock(&self) -> io::Result<()> {
        Ok(rustix::fs::flock(&self.0, FlockOperation::NonBlockingLockExclusive)?)
    }

    /// The names in it that `wanted` accepts.
    ///
    /// # Errors
    /// Those of `openat` and `getdents64`.
    pub fn names(&self, wanted: impl Fn(&OsStr) -> bool) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in entries(self.0.as_fd())? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." && wanted(name) {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    /// Creates a file with this content that only this user can read.
    ///
    /// # Errors
    /// Those of `openat` and `write`: `EEXIST` when the name is taken.
    pub fn write_new(&self, name: &OsStr, content: &[u8]) -> io::Result<()> {
        self.create(name, content).map(drop)
    }

    /// As [`Dir::write_new`], and the file and its name are on the disk when it returns. Not for a
    /// directory that was opened by its path.
    ///
    /// # Errors
    /// As for [`Dir::write_new`], and those of `fsync`.
    pub fn write_durably(&self, name: &OsStr, content: &[u8]) -> io::Result<()> {
        let file = self.create(name, content)?;
        rustix::fs::fsync(&file)?;
        Ok(rustix::fs::fsync(&self.0)?)
    }

    fn create(&self, name: &OsStr, content: &[u8]) -> io::Result<OwnedFd> {
        check_name(name)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.0, name, flags, Mode::RUSR | Mode::WUSR)?;
        crate::io::write_full(file.as_fd(), content)?;
        Ok(file)
    }

    /// A new, empty file without a name, which goes with its last descriptor.
    ///
    /// # Errors
    /// Those of `openat` and `unlinkat`.
    pub fn nameless(&self) -> io::Result<std::fs::File> {
        /// Held for an instant. `O_TMPFILE` would need none, but not every file system has it.
        const NAME: &str = "nameless";
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.0, NAME, flags, Mode::RUSR | Mode::WUSR)?;
        rustix::fs::unlinkat(&self.0, NAME, AtFlags::empty())?;
        Ok(file.into())
    }

    /// Up to `most` bytes of a regular file that this user owns.
    ///
    /// # Errors
    /// Those of `openat2` and `read`; `InvalidData` when it is not such a file.
    pub fn read_own(&self, name: &OsStr, most: usize) -> io::Result<Vec<u8>> {
        let file = open_name(self.0.as_fd(), name, OFlags::RDONLY)?;
        let stat = rustix::fs::fstat(&file)?;
        if !rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file() || !owned(&stat) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a regular file of this user"));
        }
        let mut content = vec![0; most];
        let mut have = 0;
        while have < most {
            match rustix::io::read(&file, &mut content[have..])? {
                0 => break,
                n => have += n,
            }
        }
        content.truncate(have);
        Ok(content)
    }

    /// Renames an entry within this directory; the new name must be free.
    ///
    /// # Errors
    /// Those of `renameat2`: `EEXIST` when the name is taken.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        check_name(from)?;
        check_name(to)?;
        match rustix::fs::renameat_with(&self.0, from, &self.0, to, RenameFlags::NOREPLACE) {
            // Not every file system supports the flag, and not every kernel or filter the call.
            Err(Errno::INVAL | Errno::NOSYS | Errno::PERM) => {
                if rustix::fs::statat(&self.0, to, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                    return Err(Errno::EXIST.into());
                }
                Ok(rustix::fs::renameat(&self.0, from, &self.0, to)?)
            }
            renamed => Ok(renamed?),
        }
    }

    /// Removes the name of anything but a directory; the target of a symbolic link stays.
    ///
    /// # Errors
    /// Those of `unlinkat`.
    pub fn unlink(&self, name: &OsStr) -> io::Result<()> {
        check_name(name)?;
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Removes everything in it except the entry named `keep`.
    ///
    /// # Errors
    /// The first error, when something could not be removed; everything else is removed.
    pub fn clear(&self, keep: Option<&OsStr>) -> io::Result<()> {
        Ok(Removal { top: self.0.as_fd(), moved: 0 }.clear(self.0.as_fd(), 0, keep)?)
    }

    /// Whether this name refers to the directory that `dir` holds.
    ///
    /// # Errors
    /// Those of `fstatat`.
    pub fn leads_to(&self, name: &OsStr, dir: &Dir) -> io::Result<bool> {
        check_name(name)?;
        Ok(leads_to(self.0.as_fd(), name, dir.0.as_fd())?)
    }

    /// Removes the empty directory of this name, if it is the one that `dir` holds.
    ///
    /// # Errors
    /// Those of `unlinkat`; `ESTALE` when the name refers to something else by now.
    pub fn remove_empty(&self, name: &OsStr, dir: &Dir) -> io::Result<()> {
        Ok(remove_empty(self.0.as_fd(), name, dir.0.as_fd())?)
    }

    /// Removes the directory of this name with everything in it.
    ///
    /// # Errors
    /// As for [`Dir::directory`], [`Dir::clear`] and [`Dir::remove_empty`].
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        let dir = self.directory(name)?;
        dir.clear(None)?;
        self.remove_empty(name, &dir)
    }
}

fn owned(stat: &Stat) -> bool {
    stat.st_uid == rustix::process::geteuid().as_raw()
}

/// A name is one component.
fn check_name(name: &OsStr) -> rustix::io::Result<()> {
    match name.as_bytes() {
        b"" | b"." | b".." => Err(Errno::INVAL),
        bytes if bytes.contains(&b'/') => Err(Errno::INVAL),
        _ => Ok(()),
    }
}

/// The entries of a directory, read through a descriptor of their own, because that of the
/// directory may be `O_PATH`.
fn entries(dir: BorrowedFd<'_>) -> rustix::io::Result<rustix::fs::Dir> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::Dir::new(rustix::fs::openat(dir, c".", flags, Mode::empty())?)
}

/// Opens the entry of this name in a directory, on the same mount, and not a symbolic link.
fn open_name(dir: BorrowedFd<'_>, name: &OsStr, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    check_name(name)?;
    // A FIFO without a writer would block; a terminal would become the controlling one.
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    match rustix::fs::openat2(dir, name, flags, Mode::empty(), resolve) {
        // Linux before 5.6 lacks the call, and filters that do not know it deny it. For one name
        // the older call does the same, except for mount points.
        Err(Errno::NOSYS | Errno::PERM) => {
            let file = rustix::fs::openat(dir, name, flags, Mode::empty())?;
            if mount_of(file.as_fd())? == mount_of(dir)? { Ok(file) } else { Err(Errno::XDEV) }
        }
        opened => opened,
    }
}

/// The identity of a mount: the device, and since Linux 5.8 the mount's own number, which
/// distinguishes bind mounts of one device.
fn mount_of(fd: BorrowedFd<'_>) -> rustix::io::Result<(u64, Option<u64>)> {
    let device = rustix::fs::fstat(fd)?.st_dev;
    let found = rustix::fs::statx(fd, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).ok();
    let number = found.filter(|s| StatxFlags::from_bits_retain(s.stx_mask).contains(StatxFlags::MNT_ID));
    Ok((device, number.map(|s| s.stx_mnt_id)))
}

fn leads_to(parent: BorrowedFd<'_>, name: &OsStr, dir: BorrowedFd<'_>) -> rustix::io::Result<bool> {
    let (named, held) = (rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?, rustix::fs::fstat(dir)?);
    Ok((named.st_dev, named.st_ino) == (held.st_dev, held.st_ino))
}

fn remove_empty(parent: BorrowedFd<'_>, name: &OsStr, dir: BorrowedFd<'_>) -> rustix::io::Result<()> {
    check_name(name)?;
    if !leads_to(parent, name, dir)? {
        return Err(Errno::STALE);
    }
    rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)
}

/// The removal of everything in a directory.
struct Removal<'d> {
    /// Where directories that are too deep are moved.
    top: BorrowedFd<'d>,
    /// The number of directories moved there.
    moved: u64,
}

impl Removal<'_> {
    fn clear(&mut self, dir: BorrowedFd<'_>, depth: u32, keep: Option<&OsStr>) -> rustix::io::Result<()> {
        let mut entries = entries(dir)?;
        let mut failed: Vec<OsString> = Vec::new();
        let mut first = None;
        loop {
            // Names are removed between listings, never during one, when what a listing returns is
            // undefined.
            let mut batch = Vec::new();
            while batch.len() < BATCH
                && let Some(entry) = entries.read()
            {
                let entry = entry?;
                let name = OsStr::from_bytes(entry.file_name().to_bytes());
                if name != "." && name != ".." && Some(name) != keep && !failed.iter().any(|f| f == name) {
                    batch.push(name.to_owned());
                }
            }
            if batch.is_empty() || failed.len() > MAX_FAILURES {
                return first.map_or(Ok(()), Err);
            }
            for name in batch {
                match self.remove(dir, &name, depth) {
                    Ok(()) | Err(Errno::NOENT) => {}
                    Err(e) => {
                        first.get_or_insert(e);
                        failed.push(name);
                    }
                }
            }
            entries.rewind();
        }
    }

    fn remove(&mut self, dir: BorrowedFd<'_>, name: &OsStr, depth: u32) -> rustix::io::Result<()> {
        match rustix::fs::unlinkat(dir, name, AtFlags::empty()) {
            // POSIX returns EPERM for a directory, Linux EISDIR.
            Err(Errno::ISDIR | Errno::PERM) => {}
            done => return done,
        }
        let child = open_name(dir, name, OFlags::RDONLY | OFlags::DIRECTORY)?;
        if depth < MAX_OPEN_DEPTH {
            self.clear(child.as_fd(), depth + 1, None)?;
        } else if self.move_up(dir, name)? {
            return Ok(());
        }
        remove_empty(dir, name, child.as_fd())
    }

    /// Moves a directory that is not empty to the top, where it is found again; returns whether it
    /// moved.
    fn move_up(&mut self, dir: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<bool> {
        match rustix::fs::unlinkat(dir, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY | Errno::EXIST) => {}
            done => return done.map(|()| true),
        }
        loop {
            self.moved += 1;
            match rustix::fs::renameat(dir, name, self.top, format!("moved-up-{}", self.moved)) {
                // The name is taken: the next number is free, or one after it.
                Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
                done => return done.map(|()| true),
            }
        }
    }
}

#[cfg(test)]
mod tests;
