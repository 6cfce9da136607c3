//! Rules about files that a thread gives to itself (Landlock, Linux 5.13).
//!
//! # Safety
//! The structures are the kernel's, of the sizes that the calls are told, and outlive them.
#![expect(unsafe_code, reason = "landlock_create_ruleset, landlock_add_rule, landlock_restrict_self")]

use crate::io::checked;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

/// Numbers of the calls, the same on all CPUs of this project.
const CREATE_RULESET: libc::c_long = 444;
const ADD_RULE: libc::c_long = 445;
const RESTRICT_SELF: libc::c_long = 446;
/// `LANDLOCK_RULE_PATH_BENEATH`.
const PATH_BENEATH: libc::c_int = 1;
/// `LANDLOCK_ACCESS_FS_READ_FILE`.
const READ_FILE: u64 = 1 << 2;

/// `struct landlock_path_beneath_attr`.
#[repr(C, packed)]
struct Beneath {
    allowed: u64,
    parent: i32,
}

/// Lets this thread, and what it starts, open files for reading beneath these directories only, for
/// ever. Each call adds a layer: all of them have to allow an access.
///
/// # Errors
/// Those of the calls: `EOPNOTSUPP` where Landlock is off, `ENOSYS` without it, `E2BIG` beyond 16
/// layers; those of opening the directories.
pub fn read_only_beneath(directories: &[&Path]) -> io::Result<()> {
    let handled = READ_FILE;
    // SAFETY: the kernel reads 8 bytes.
    let set = unsafe { libc::syscall(CREATE_RULESET, &raw const handled, size_of_val(&handled), 0) };
    checked(set)?;
    // SAFETY: the kernel has just made it for this process.
    let set = unsafe { OwnedFd::from_raw_fd(set as i32) };
    for directory in directories {
        let directory = File::open(directory)?;
        let rule = Beneath { allowed: READ_FILE, parent: directory.as_raw_fd() };
        // SAFETY: the kernel reads the rule, whose size follows from its kind.
        checked(unsafe { libc::syscall(ADD_RULE, set.as_raw_fd(), PATH_BENEATH, &raw const rule, 0) })?;
    }
    // SAFETY: integers by value.
    checked(unsafe { libc::syscall(libc::SYS_prctl, libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })?;
    // SAFETY: integers by value.
    checked(unsafe { libc::syscall(RESTRICT_SELF, set.as_raw_fd(), 0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a thread, which alone is restricted.
    #[test]
    fn only_what_is_beneath_is_read() {
        let seen = std::thread::spawn(|| {
            read_only_beneath(&[Path::new("/proc")]).map(|()| {
                let opens = |path: &str| File::open(path).map(drop).map_err(|e| e.kind());
                [opens("/proc/self/stat"), opens("/dev/null")]
            })
        });
        match seen.join().expect("no panic") {
            Ok(seen) => assert_eq!(seen, [Ok(()), Err(io::ErrorKind::PermissionDenied)]),
            Err(e) => println!("no Landlock here: {e}"),
        }
    }
}
