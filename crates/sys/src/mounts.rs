//! Mounts in a namespace of one's own, which go with it.
//!
//! # Safety
//! The namespace that is left is that of mounts, which holds no descriptors and no memory.
#![expect(unsafe_code, reason = "unshare")]

use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::io;
use std::path::Path;

/// What is mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A directory at a second place.
    Bind,
    /// A new file system in memory.
    Tmpfs,
}

/// Leaves the mount namespace for a copy of it, for ever; what is mounted from here on reaches
/// nobody else.
///
/// # Errors
/// Those of `unshare` and `mount`: `EPERM` without the right.
pub fn leave() -> io::Result<()> {
    // SAFETY: see the module's Safety section.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
    Ok(keep_private()?)
}

/// Keeps what is mounted from here on from the namespace that this one was copied from.
pub(crate) fn keep_private() -> rustix::io::Result<()> {
    rustix::mount::mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
}

/// Mounts; `from` is the directory of [`Kind::Bind`].
///
/// # Errors
/// Those of `mount`.
#[inline]
pub fn mount(kind: Kind, from: &Path, at: &Path) -> io::Result<()> {
    Ok(match kind {
        Kind::Bind => rustix::mount::mount_bind(from, at),
        Kind::Tmpfs => rustix::mount::mount(c"groma", at, c"tmpfs", MountFlags::empty(), None),
    }?)
}

/// Unmounts what is mounted there.
///
/// # Errors
/// Those of `umount`.
#[inline]
pub fn unmount(at: &Path) -> io::Result<()> {
    Ok(rustix::mount::unmount(at, UnmountFlags::empty())?)
}
