//! An overlay file system in memory that has no path: what containers have in place of a root file
//! system, over two layers of a tmpfs.
//!
//! As with [`crate::tmpfs::Tmpfs`], the kernel removes it with its last descriptor. The layers must
//! have paths while it is mounted, so a child mounts the tmpfs in a mount namespace of its own, and
//! all that outlives the child is the descriptor of the overlay. Layers on a disk were rejected:
//! the kernel leaves a directory there that an ordinary user cannot open to remove it.
//!
//! # Safety
//! `unshare` is called in a freshly forked child with one thread, for the mount namespace, which
//! holds no descriptors.
#![expect(unsafe_code, reason = "unshare")]

use crate::mounts;
use crate::tmpfs::{enter_namespace, made_by_a_child, mount, root_of};
use rustix::fs::CWD;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, fsconfig_create, fsconfig_set_flag, fsconfig_set_string,
    fsmount, fsopen, move_mount,
};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// The file system; gone when this and all files opened below it are closed.
#[derive(Debug)]
pub struct Overlay {
    mount: OwnedFd,
}

/// Files of a lower layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Files {
    /// How many.
    pub count: usize,
    /// Bytes of each.
    pub bytes: u64,
}

impl Files {
    /// What each byte is.
    pub const BYTE: u8 = 7;

    /// The name of a file, by its number.
    pub fn name(n: usize) -> String {
        format!("file-{n}")
    }
}

impl Overlay {
    /// An overlay of an empty layer over another, which together hold up to `bytes`. `at` is an
    /// existing directory, over which the child mounts the layers in its own namespace.
    ///
    /// # Errors
    /// Those of `unshare`, `fsopen`, `fsmount` and `move_mount`: `EPERM` and others without the
    /// superuser or user namespaces, `ENODEV` where the kernel has no overlay file system; also
    /// those of [`crate::fork::fork`].
    pub fn new(bytes: u64, at: &Path) -> io::Result<Overlay> {
        Overlay::with_files(bytes, at, Files { count: 0, bytes: 0 })
    }

    /// As [`Overlay::new`], with files in the lower layer.
    ///
    /// # Errors
    /// As [`Overlay::new`]; those of writing the files.
    pub fn with_files(bytes: u64, at: &Path, files: Files) -> io::Result<Overlay> {
        let mount = made_by_a_child(|| {
            // SAFETY: see the module's Safety section.
            let is_root = unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.is_ok();
            if !is_root {
                enter_namespace()?;
            }
            // What is mounted here must not reach the namespace that this one was copied from.
            mounts::keep_private()?;
            let layers = mount(bytes, MountAttrFlags::empty())?;
            move_mount(layers.as_fd(), c"", CWD, at, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
            let overlay = fsopen(c"overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
            for (key, name) in [("lowerdir", "lower"), ("upperdir", "upper"), ("workdir", "work")] {
                let layer = at.join(name);
                std::fs::create_dir(&layer)?;
                fsconfig_set_string(overlay.as_fd(), key, layer)?;
            }
            let content = vec![Files::BYTE; files.bytes as usize];
            for n in 0..files.count {
                std::fs::write(at.join("lower").join(Files::name(n)), &content)?;
            }
            if !is_root {
                // Its notes about files: an ordinary user cannot write those of the superuser.
                fsconfig_set_flag(overlay.as_fd(), c"userxattr")?;
            }
            fsconfig_create(overlay.as_fd())?;
            Ok(fsmount(overlay.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?)
        })?;
        Ok(Overlay { mount })
    }

    /// Its root directory, opened for reading.
    ///
    /// # Errors
    /// Those of `openat`.
    pub fn root(&self) -> io::Result<File> {
        root_of(&self.mount)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    /// The `f_type` of a directory on such a file system.
    const MAGIC: rustix::fs::FsWord = 0x794c_7630;

    #[test]
    fn it_holds_files_and_is_on_no_path() {
        let mounts = || std::fs::read_to_string("/proc/self/mountinfo").expect("/proc");
        let before = mounts();
        let at = crate::testing::Scratch::new("overlay");
        let overlay = match Overlay::new(1 << 20, &at.0) {
            Ok(overlay) => overlay,
            Err(e) => return eprintln!("skipped: {e}"),
        };
        let root = overlay.root().expect("its root");
        assert_eq!(rustix::fs::fstatfs(&root).expect("fstatfs").f_type, MAGIC);
        let file = format!("/proc/self/fd/{}/a", root.as_raw_fd());
        std::fs::write(&file, b"xyz").expect("a file");
        assert_eq!(std::fs::read(&file).expect("the file"), b"xyz");
        assert_eq!(mounts(), before);
        assert_eq!(std::fs::read_dir(&at.0).expect("the directory").count(), 0);
    }
}
