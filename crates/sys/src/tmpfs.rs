//! A private file system in memory that has no path.
//!
//! The mount is never attached to the tree. It exists as long as its descriptor is open, and the
//! kernel removes it with the last one, after SIGKILL too. A directory in `/dev/shm` would outlive
//! a killed process, and a guardian process that removes it can be killed as well.
//!
//! Mounting requires the superuser. For other users a child mounts in a user namespace of its own,
//! in which it keeps its ids, passes the descriptor on and exits.
//!
//! # Safety
//! `unshare` is called in a freshly forked child with one thread, for namespaces that hold no
//! descriptors.
#![expect(unsafe_code, reason = "unshare")]

use crate::fork;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_string, fsmount, fsopen};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The `f_type` of a directory on such a file system.
const MAGIC: rustix::fs::FsWord = 0x0102_1994;

/// The error of a kernel that has no tmpfs.
pub const NO_SUCH_FILE_SYSTEM: i32 = Errno::NODEV.raw_os_error();

/// The file system; gone when this and all files opened below it are closed.
#[derive(Debug)]
pub struct Tmpfs {
    mount: OwnedFd,
}

impl Tmpfs {
    /// An empty one that holds up to `bytes`.
    ///
    /// # Errors
    /// Those of `fsopen`, `fsmount` and `unshare`: `EPERM` and others without the superuser or user
    /// namespaces, `ENOSYS` and `ENODEV` where the kernel lacks the feature; for users other than
    /// the superuser also those of [`fork::fork`].
    pub fn new(bytes: u64) -> io::Result<Tmpfs> {
        Tmpfs::with(bytes, MountAttrFlags::empty())
    }

    /// An empty, read-only one.
    ///
    /// # Errors
    /// Those of [`Tmpfs::new`].
    pub fn read_only() -> io::Result<Tmpfs> {
        Tmpfs::with(1 << 20, MountAttrFlags::MOUNT_ATTR_RDONLY)
    }

    fn with(bytes: u64, attributes: MountAttrFlags) -> io::Result<Tmpfs> {
        let mount = match mount(bytes, attributes) {
            Err(Errno::PERM) => made_by_a_child(|| {
                enter_namespace()?;
                Ok(mount(bytes, attributes)?)
            })?,
            mounted => mounted?,
        };
        Ok(Tmpfs { mount })
    }

    /// Its root directory, opened for reading.
    ///
    /// # Errors
    /// Those of `openat`.
    pub fn root(&self) -> io::Result<File> {
        root_of(&self.mount)
    }
}

/// The root directory of a mount, opened for reading.
pub(crate) fn root_of(mount: &OwnedFd) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(mount, c".", flags, Mode::empty())?.into())
}

/// Whether a file is on a file system in memory.
///
/// # Errors
/// Those of `fstatfs`.
pub fn holds(file: &File) -> io::Result<bool> {
    Ok(rustix::fs::fstatfs(file)?.f_type == MAGIC)
}

pub(crate) fn mount(bytes: u64, attributes: MountAttrFlags) -> rustix::io::Result<OwnedFd> {
    let making = fsopen(c"tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(making.as_fd(), c"size", bytes.to_string())?;
    fsconfig_create(making.as_fd())?;
    fsmount(making.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// Makes a child mount something, in namespaces that it enters for it, and receives the descriptor.
pub(crate) fn made_by_a_child(make: impl FnOnce() -> io::Result<OwnedFd>) -> io::Result<OwnedFd> {
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    let child = fork::fork(|| {
        fork::close_copies(&[ours.as_fd()]);
        let handed = make().and_then(|mount| hand_over(theirs.as_fd(), mount.as_fd()));
        handed.map_or_else(|e| e.raw_os_error().unwrap_or(255), |()| 0)
    })?;
    drop(theirs);
    let mount = take_over(ours.as_fd())?;
    match (child.wait()?.code(), mount) {
        (Some(0), Some(mount)) => Ok(mount),
        (Some(errno @ 1..255), _) => Err(io::Error::from_raw_os_error(errno)),
        (code, _) => Err(io::Error::other(format!("the child that mounts it left with {code:?}"))),
    }
}

/// A user namespace in which this process has its own ids and may mount.
pub(crate) fn enter_namespace() -> io::Result<()> {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    // SAFETY: see the module's Safety section.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWNS) }?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

fn hand_over(to: BorrowedFd<'_>, mount: BorrowedFd<'_>) -> io::Result<()> {
    let (fds, mut room) = ([mount], [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))]);
    let mut control = SendAncillaryBuffer::new(&mut room);
    control.push(SendAncillaryMessage::ScmRights(&fds));
    sendmsg(to, &[IoSlice::new(&[1])], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// The descriptor that was passed on; `None` when the peer ended without one.
fn take_over(from: BorrowedFd<'_>) -> io::Result<Option<OwnedFd>> {
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut room);
    let mut byte = [0];
    recvmsg(from, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let fd = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    });
    Ok(fd)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{pipe, read_full, write_full};
    use std::os::fd::AsRawFd;
    use std::path::PathBuf;

    fn path(dir: &File) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", dir.as_raw_fd()))
    }

    #[test]
    fn holds_files_up_to_its_size_and_is_on_no_path() {
        let mounts = || std::fs::read_to_string("/proc/self/mountinfo").expect("/proc");
        let before = mounts();
        let tmpfs = match Tmpfs::new(1 << 20) {
            Ok(tmpfs) => tmpfs,
            Err(e) => return eprintln!("skipped: {e}"),
        };
        let root = tmpfs.root().expect("its root");
        assert!(holds(&root).expect("fstatfs"));
        std::fs::write(path(&root).join("a"), b"xyz").expect("a file");
        assert_eq!(std::fs::read(path(&root).join("a")).expect("the file"), b"xyz");
        let full = std::fs::write(path(&root).join("b"), vec![1; 1 << 20]).map_err(|e| e.raw_os_error());
        assert_eq!(full, Err(Some(Errno::NOSPC.raw_os_error())));
        assert_eq!(mounts(), before);
        let other = Tmpfs::new(1 << 20).expect("as before").root().expect("its root");
        assert_eq!(std::fs::read_dir(path(&other)).expect("a directory").count(), 0);
    }

    #[test]
    fn a_read_only_one_cannot_be_written_to() {
        let Ok(tmpfs) = Tmpfs::read_only() else { return };
        let root = tmpfs.root().expect("its root");
        let refused = std::fs::write(path(&root).join("a"), b"xyz").map_err(|e| e.raw_os_error());
        assert_eq!(refused, Err(Some(Errno::ROFS.raw_os_error())));
    }

    #[test]
    fn it_is_gone_when_its_process_is_killed() {
        // The kernel's memory for all such file systems; the killed one is by far the largest.
        let held = || {
            let text = std::fs::read_to_string("/proc/meminfo").expect("/proc");
            let line = text.lines().find_map(|l| l.strip_prefix("Shmem:")).expect("Shmem").trim().to_owned();
            line.trim_end_matches(" kB").parse::<u64>().expect("a number") >> 10
        };
        let (receiver, sender) = pipe().expect("a pipe");
        let before = held();
        let child = fork::fork(|| {
            let Ok(root) = Tmpfs::new(256 << 20).and_then(|tmpfs| tmpfs.root()) else { return 1 };
            if std::fs::write(path(&root).join("large"), vec![1; 128 << 20]).is_err() {
                return 1;
            }
            let _ = write_full(sender.as_fd(), &[1]);
            loop {
                std::thread::park();
            }
        });
        let child = child.expect("a child");
        drop(sender);
        if read_full(receiver.as_fd(), &mut [0]).is_err() {
            return eprintln!("skipped: no file system available");
        }
        let meanwhile = held();
        assert_eq!(child.stop().expect("killed").signal(), Some(9));
        // Other tests hold some as well, and the kernel may take a moment.
        let gone = (0..200).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            held() + 64 < meanwhile.max(before + 65)
        });
        assert!(gone, "{before} MiB before, {meanwhile} MiB meanwhile, {} MiB after", held());
    }
}
