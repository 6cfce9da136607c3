//! File locks of the three kinds that Linux has. All are advisory: they only affect those who ask.
//!
//! # Safety
//! `fcntl` gets a valid `struct flock`; descriptors are owned.
#![expect(unsafe_code, reason = "fcntl with a lock")]

use crate::io::checked;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

/// Who holds a lock, and on what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The process, on a range of bytes: the record locks of POSIX.
    Record,
    /// The open file description, on a range of bytes.
    OpenFile,
    /// The open file description, on the whole file: BSD's `flock`.
    Whole,
}

/// An open file to lock.
#[derive(Debug)]
pub struct LockFile {
    fd: OwnedFd,
    kind: Kind,
}

impl LockFile {
    /// Opens it, and creates it if necessary.
    ///
    /// # Errors
    /// Those of `open`.
    pub fn open(path: &Path, kind: Kind) -> io::Result<LockFile> {
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path)?;
        Ok(LockFile { fd: file.into(), kind })
    }

    /// Waits until no one else holds the byte (or the file, depending on the kind), and takes it.
    ///
    /// # Errors
    /// Those of `fcntl` and `flock`: `EDEADLK` where the holder waits for this process, `ENOLCK` at
    /// a limit.
    #[inline]
    pub fn lock(&self, byte: i64) -> io::Result<()> {
        self.set(libc::F_WRLCK, libc::LOCK_EX, byte)
    }

    /// Releases it.
    ///
    /// # Errors
    /// Those of `fcntl` and `flock`.
    #[inline]
    pub fn unlock(&self, byte: i64) -> io::Result<()> {
        self.set(libc::F_UNLCK, libc::LOCK_UN, byte)
    }

    #[inline]
    fn set(&self, range: i32, whole: i32, byte: i64) -> io::Result<()> {
        let command = match self.kind {
            Kind::Record => libc::F_SETLKW,
            Kind::OpenFile => libc::F_OFD_SETLKW,
            Kind::Whole => {
                // SAFETY: the descriptor is open.
                return checked(unsafe { libc::flock(self.fd.as_raw_fd(), whole) });
            }
        };
        // SAFETY: integers only; open file locks require process id 0.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = range as libc::c_short;
        lock.l_whence = libc::SEEK_SET as libc::c_short;
        lock.l_start = byte as libc::off_t;
        lock.l_len = 1;
        // SAFETY: a valid lock that outlives the call.
        checked(unsafe { libc::fcntl(self.fd.as_raw_fd(), command, &raw const lock) })
    }

    /// Whether someone else holds the byte (or the file), by trying to take it and releasing it.
    ///
    /// # Errors
    /// Those of `fcntl` and `flock`.
    pub fn is_held_by_another(&self, byte: i64) -> io::Result<bool> {
        // SAFETY: as in `set`.
        let tried = unsafe {
            let mut lock: libc::flock = std::mem::zeroed();
            lock.l_type = libc::F_WRLCK as libc::c_short;
            lock.l_start = byte as libc::off_t;
            lock.l_len = 1;
            match self.kind {
                Kind::Record => libc::fcntl(self.fd.as_raw_fd(), libc::F_SETLK, &raw const lock),
                Kind::OpenFile => libc::fcntl(self.fd.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock),
                Kind::Whole => libc::flock(self.fd.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB),
            }
        };
        match checked(tried) {
            Ok(()) => self.unlock(byte).map(|()| false),
            Err(e) if matches!(e.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(true),
            Err(e) => Err(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fork;

    #[test]
    fn another_process_sees_a_lock_until_it_is_released() {
        let path = std::env::temp_dir().join(format!("groma-lock-{}", crate::process::id()));
        for kind in [Kind::Record, Kind::OpenFile, Kind::Whole] {
            let ours = LockFile::open(&path, kind).expect("a file");
            let seen = |byte| {
                let look = || LockFile::open(&path, kind)?.is_held_by_another(byte);
                fork::fork(|| look().map_or(9, i32::from)).expect("fork").wait().expect("wait").code()
            };
            assert_eq!(seen(1), Some(0));
            ours.lock(1).expect("lock");
            assert_eq!(seen(1), Some(1), "{kind:?}");
            assert_eq!(seen(2), Some(i32::from(kind == Kind::Whole)));
            ours.unlock(1).expect("unlock");
            assert_eq!(seen(1), Some(0));
        }
        std::fs::remove_file(&path).expect("the file");
    }

    /// The locks of a process do not exclude each other, those of an open file do.
    #[test]
    fn a_kind_of_lock_belongs_to_the_process_or_to_the_open_file() {
        let path = std::env::temp_dir().join(format!("groma-lock-own-{}", crate::process::id()));
        for (kind, excludes) in [(Kind::Record, false), (Kind::OpenFile, true), (Kind::Whole, true)] {
            let [first, second] = [(); 2].map(|()| LockFile::open(&path, kind).expect("a file"));
            first.lock(3).expect("lock");
            assert_eq!(second.is_held_by_another(3).expect("tried"), excludes, "{kind:?}");
            first.unlock(3).expect("unlock");
            // Trying leaves no lock behind.
            assert!(!second.is_held_by_another(3).expect("tried") && !first.is_held_by_another(3).expect("tried"));
        }
        std::fs::remove_file(&path).expect("the file");
    }

    #[test]
    fn opening_to_lock_keeps_what_is_there() {
        let path = std::env::temp_dir().join(format!("groma-lock-kept-{}", crate::process::id()));
        std::fs::write(&path, "kept").expect("a file");
        drop(LockFile::open(&path, Kind::Whole).expect("a file"));
        let kept = std::fs::read(&path).expect("the file");
        std::fs::remove_file(&path).expect("the file");
        assert_eq!(kept, b"kept");
    }
}
