//! Small kernel objects that are only descriptors: FIFOs without a name, event counters.

use rustix::event::EventfdFlags;
use rustix::fs::{CWD, FileType, Mode, OFlags};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// A FIFO created at `path`, opened at both ends (read end, write end), and unlinked.
///
/// The read end is opened first and without blocking, because each end otherwise waits for the
/// other.
///
/// # Errors
/// Those of `mknod`, `open`, `unlink`; `EPERM` on a file system without FIFOs.
pub fn fifo(path: &Path) -> io::Result<(OwnedFd, OwnedFd)> {
    rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
    let ends = (|| {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let read_end = rustix::fs::open(path, flags, Mode::empty())?;
        let write_end = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        rustix::fs::fcntl_setfl(&read_end, OFlags::empty())?;
        Ok((read_end, write_end))
    })();
    std::fs::remove_file(path)?;
    ends
}

/// An event counter at 0 whose reads wait while it is 0, closed on exec.
///
/// # Errors
/// Those of `eventfd2`.
pub fn eventfd() -> io::Result<OwnedFd> {
    Ok(rustix::event::eventfd(0, EventfdFlags::CLOEXEC)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{read, write};
    use std::os::fd::AsFd;

    #[test]
    fn a_fifo_carries_bytes_and_has_no_name() {
        let path = std::env::temp_dir().join(format!("groma-fifo-{}", crate::process::id()));
        let (out, into) = fifo(&path).expect("a FIFO");
        assert!(!path.exists());
        assert_eq!(write(into.as_fd(), b"x").expect("write"), 1);
        let mut room = [0; 2];
        assert_eq!(read(out.as_fd(), &mut room).expect("read"), 1);
        drop(into);
        assert_eq!(read(out.as_fd(), &mut room).expect("the end, not an error"), 0);
    }

    #[test]
    fn an_event_counter_adds_up() {
        let counter = eventfd().expect("an event counter");
        for n in [1u64, 2] {
            assert_eq!(write(counter.as_fd(), &n.to_ne_bytes()).expect("write"), 8);
        }
        let mut sum = [0; 8];
        assert_eq!(read(counter.as_fd(), &mut sum).expect("read"), 8);
        assert_eq!(u64::from_ne_bytes(sum), 3);
    }

    /// The read end is opened without blocking; its reads block all the same.
    #[test]
    fn fifos_and_counters_block() {
        use rustix::fs::fcntl_getfl;
        let path = std::env::temp_dir().join(format!("groma-fifo-waits-{}", crate::process::id()));
        let (out, into) = fifo(&path).expect("a FIFO");
        let counter = eventfd().expect("an event counter");
        let modes = [&out, &into, &counter].map(|fd| fcntl_getfl(fd).expect("F_GETFL"));
        assert!(modes.iter().all(|flags| !flags.contains(OFlags::NONBLOCK)), "{modes:?}");
        assert_eq!(modes.map(|flags| flags & OFlags::RWMODE), [OFlags::RDONLY, OFlags::WRONLY, OFlags::RDWR]);
        assert!(!crate::socket::is_ready(&counter) && !crate::socket::is_ready(&out), "there is nothing yet");
        // A name that is taken stays.
        std::fs::write(&path, "kept").expect("a file");
        assert!(fifo(&path).is_err());
        let kept = std::fs::read(&path);
        std::fs::remove_file(&path).expect("it was kept");
        assert_eq!(kept.expect("a file"), b"kept");
    }
}
