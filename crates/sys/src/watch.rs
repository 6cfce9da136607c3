//! Being told by the kernel that a file was written to.
//!
//! # Safety
//! The path ends in a zero byte and outlives the calls; a new descriptor has no other owner.
#![expect(unsafe_code, reason = "fanotify_init, fanotify_mark")]

use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A watch of one file; reading its descriptor brings events, or fails where there are none.
#[derive(Debug)]
pub struct Watch(OwnedFd);

impl Watch {
    /// By `inotify`.
    ///
    /// # Errors
    /// Those of `inotify_init1` (`EMFILE`: the user's limit of instances) and `inotify_add_watch`.
    pub fn inotify(file: &Path) -> io::Result<Watch> {
        let fd = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        add_watch(&fd, file, WatchFlags::MODIFY)?;
        Ok(Watch(fd))
    }

    /// By `fanotify`, with the file's identity instead of an open descriptor in each event, which
    /// is what a user without privileges may ask for.
    ///
    /// # Errors
    /// Those of `fanotify_init` (`EPERM` before Linux 5.13 for ordinary users, `ENOSYS` where the
    /// kernel lacks it) and `fanotify_mark` (`ENODEV`, `EXDEV`: a file system without identities).
    pub fn fanotify(file: &Path) -> io::Result<Watch> {
        let path = CString::new(file.as_os_str().as_bytes())?;
        let flags = libc::FAN_CLASS_NOTIF | libc::FAN_CLOEXEC | libc::FAN_NONBLOCK | libc::FAN_REPORT_FID;
        // SAFETY: see the module's Safety section.
        unsafe {
            let fd = libc::fanotify_init(flags, libc::O_RDONLY as u32);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            let watch = Watch(OwnedFd::from_raw_fd(fd));
            let marked = libc::fanotify_mark(
                watch.0.as_raw_fd(),
                libc::FAN_MARK_ADD,
                libc::FAN_MODIFY,
                libc::AT_FDCWD,
                path.as_ptr(),
            );
            if marked == 0 { Ok(watch) } else { Err(io::Error::last_os_error()) }
        }
    }
}

impl AsFd for Watch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw;
    use crate::testing::Scratch;

    #[test]
    fn each_write_is_told_once() {
        let scratch = Scratch::new("watch");
        let path = scratch.0.join("watched");
        std::fs::write(&path, b"x").expect("a file");
        let file = std::fs::File::options().write(true).open(&path).expect("the file");
        // One after the other: each is told of what is written while it watches.
        for watch in [Watch::inotify, Watch::fanotify] {
            let watch = match watch(&path) {
                Ok(watch) => watch,
                Err(e) => {
                    println!("skipped: {e}");
                    continue;
                }
            };
            let mut events = [0; 256];
            assert_eq!(raw::read(watch.as_fd(), &mut events), -(libc::EAGAIN as isize));
            for _ in 0..3 {
                assert_eq!(raw::write(file.as_fd(), b"y"), 1);
                assert!(raw::read(watch.as_fd(), &mut events) >= 16);
                assert_eq!(raw::read(watch.as_fd(), &mut events), -(libc::EAGAIN as isize));
            }
        }
    }
}
