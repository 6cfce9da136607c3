//! Namespaces: children that begin in new ones, as containers do (`clone3` with `CLONE_NEW…`), and
//! the number by which one is told from another. Children without are in `clone.rs`.
//!
//! # Safety
//! A child has a copy of the memory, calls `stat` and exits; its path is a C string that the copy
//! holds. The namespaces that a thread leaves hold no descriptors and no memory.
#![expect(unsafe_code, reason = "a child that only calls stat and exits, unshare, setns")]

use crate::clone::fork_with;
use crate::pages::checked;
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

/// A set of new namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Namespaces {
    /// The `CLONE_NEW…` flags; none for a child in those of its parent.
    flags: u64,
    /// The name below `/proc/self/ns` of the one that the child looks at.
    look: &'static str,
}

/// `CLONE_NEWTIME`, which libc does not define for every target.
const NEW_TIME: u64 = 0x80;

impl Namespaces {
    /// Those of this word: `mount`, `uts`, `ipc`, `user`, `pid`, `net`, `cgroup`, `time`; `all`:
    /// what a container has (all but `user` and `time`); or `no_net`: these without `net`.
    pub fn named(word: &str) -> Option<Namespaces> {
        let of = |flags: i32, look| Some(Namespaces { flags: flags as u32 as u64, look });
        let contained = libc::CLONE_NEWNS
            | libc::CLONE_NEWUTS
            | libc::CLONE_NEWIPC
            | libc::CLONE_NEWPID
            | libc::CLONE_NEWNET
            | libc::CLONE_NEWCGROUP;
        match word {
            "mount" => of(libc::CLONE_NEWNS, "mnt"),
            "uts" => of(libc::CLONE_NEWUTS, "uts"),
            "ipc" => of(libc::CLONE_NEWIPC, "ipc"),
            "user" => of(libc::CLONE_NEWUSER, "user"),
            "pid" => of(libc::CLONE_NEWPID, "pid"),
            "net" => of(libc::CLONE_NEWNET, "net"),
            "cgroup" => of(libc::CLONE_NEWCGROUP, "cgroup"),
            "time" => Some(Namespaces { flags: NEW_TIME, look: "time" }),
            "all" => of(contained, "net"),
            "no_net" => of(contained & !libc::CLONE_NEWNET, "pid"),
            _ => None,
        }
    }

    pub(crate) fn flags(self) -> u64 {
        self.flags
    }

    /// None of them new; the child looks at the same one.
    pub fn none(self) -> Namespaces {
        Namespaces { flags: 0, ..self }
    }
}

/// Leaves the network namespace for a new one, for ever.
///
/// # Errors
/// Those of `unshare`: `EPERM` without the right.
pub fn leave_network() -> io::Result<()> {
    // SAFETY: see the module's Safety section.
    Ok(unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?)
}

/// The namespace of this thread and a second one of its kind.
#[derive(Debug)]
pub struct Crossing {
    path: String,
    own: File,
    other: File,
    /// The number of the other one.
    number: u64,
}

impl Crossing {
    /// Makes the second one: `net`, `uts`, `ipc` or `cgroup`.
    ///
    /// # Errors
    /// Those of `unshare` and `setns`: `EPERM` without the right; `NotFound` where the kernel has
    /// no such namespaces.
    pub fn new(word: &str) -> io::Result<Crossing> {
        let named = Namespaces::named(word).ok_or(io::ErrorKind::NotFound)?;
        let path = format!("/proc/thread-self/ns/{}", named.look);
        let own = File::open(&path)?;
        // SAFETY: see the module's Safety section.
        unsafe { unshare_unsafe(UnshareFlags::from_bits_retain(named.flags as u32)) }?;
        let other = File::open(&path)?;
        let number = other.metadata()?.ino();
        let crossing = Crossing { path, own, other, number };
        checked(crossing.back())?;
        Ok(crossing)
    }

    /// Enters the second one: one `setns` by number. 0, or a negative error number.
    #[inline]
    pub fn there(&self) -> isize {
        set(&self.other)
    }

    /// Goes back to the first one.
    #[inline]
    pub fn back(&self) -> isize {
        set(&self.own)
    }

    /// Whether this thread is in the second one.
    ///
    /// # Errors
    /// Those of `stat`.
    pub fn is_there(&self) -> io::Result<bool> {
        Ok(std::fs::metadata(&self.path)?.ino() == self.number)
    }
}

#[inline]
fn set(namespace: &File) -> isize {
    // SAFETY: integers by value; see the module's Safety section.
    unsafe { crate::arch::syscall3(libc::SYS_setns as usize, namespace.as_raw_fd() as usize, 0, 0) }
}

/// The exit codes of a child: in the namespace of its parent, in another, or it cannot tell.
pub const SAME: i32 = 43;
/// See [`SAME`].
pub const OTHER: i32 = 44;
const UNKNOWN: i32 = 45;

/// A child that looks whether its namespace is that of its parent, and exits with what it saw.
#[derive(Debug)]
pub struct Look {
    namespaces: Namespaces,
    path: CString,
    own: u64,
}

impl Look {
    /// For children in these namespaces.
    ///
    /// # Errors
    /// Those of `stat`: `NotFound` where the kernel has no such namespaces.
    pub fn new(namespaces: Namespaces) -> io::Result<Look> {
        let path = format!("/proc/self/ns/{}", namespaces.look);
        let own = std::fs::metadata(&path)?.ino();
        Ok(Look { namespaces, path: CString::new(path)?, own })
    }

    /// Makes a child; returns its id.
    ///
    /// # Errors
    /// Those of `clone3`: `EPERM` without the right to make such a namespace, `ENOSPC` where there
    /// are too many.
    pub fn start(&self) -> io::Result<i32> {
        fork_with(self.namespaces.flags, body, std::ptr::from_ref(self) as usize)
    }
}

extern "C" fn body(look: usize) -> i32 {
    // SAFETY: the number is the `&Look` that `start` passes; the child has a copy of it.
    let look = unsafe { &*(look as *const Look) };
    // SAFETY: all zero is a valid `stat`, which the call fills in.
    let (seen, stat) = unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        (libc::stat(look.path.as_ptr(), &raw mut stat), stat)
    };
    crate::fork::exit_now(match seen {
        0 if stat.st_ino == look.own => SAME,
        0 => OTHER,
        _ => UNKNOWN,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_sees_whether_its_namespace_is_new() {
        for word in ["mount", "uts", "ipc", "user", "pid", "net", "cgroup", "time", "all"] {
            let new = Namespaces::named(word).expect("a word");
            let exit = |namespaces: Namespaces| {
                let pid = Look::new(namespaces)?.start()?;
                crate::process::wait(pid).map(|exit| exit.code())
            };
            assert_eq!(exit(new.none()).expect("a child"), Some(SAME), "{word}");
            match exit(new) {
                Ok(code) => assert_eq!(code, Some(OTHER), "{word}"),
                Err(e) => eprintln!("{word}: {e}"),
            }
        }
        assert_eq!(Namespaces::named("other"), None);
    }
}
