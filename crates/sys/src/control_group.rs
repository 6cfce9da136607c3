//! A control group of one's own: made, entered, left and removed.
//!
//! It is below that of this process, or, where a group of the unified hierarchy has to enable a
//! controller for its children and does not, below the nearest ancestor that does. No setting of an
//! existing group is changed.
//!
//! A guardian owns the group, so it goes however the worker ends. Members that are left in it then
//! go back to where this process was.

use crate::facts::{Directory, group_directory};
use crate::guardian::Guardian;
use crate::raw;
use rustix::fs::{AtFlags, Mode};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The file that holds the members of a group.
const MEMBERS: &str = "cgroup.procs";
/// The controllers that a group of the unified hierarchy enables for its children.
const ENABLED: &str = "cgroup.subtree_control";
/// How long the kernel may take to let go of the last member.
const PATIENCE: Duration = Duration::from_secs(2);

/// A control group of this process's own.
#[derive(Debug)]
pub struct ControlGroup {
    path: PathBuf,
    unified: bool,
    dir: File,
    /// The lists of members of this group and of the one that this process was in.
    members: File,
    home: File,
    _guardian: Guardian,
}

impl ControlGroup {
    /// One in the hierarchy that has this controller (`cpu`, `memory`, `pids`); with `None` in the
    /// unified one.
    ///
    /// # Errors
    /// `NotFound` where no hierarchy has the controller; those of `mkdir`: `EACCES`, `EROFS` where
    /// groups may not be made.
    pub fn new(controller: Option<&str>) -> io::Result<ControlGroup> {
        ControlGroup::nested(controller, "", 1)
    }

    /// As [`ControlGroup::new`], the lowest of `depth` groups, of which each is in the one before;
    /// `name` tells several of a process apart.
    ///
    /// # Errors
    /// As [`ControlGroup::new`]; `Unsupported` where no group at or above that of this process
    /// enables the controller for its children.
    ///
    /// # Panics
    /// When the depth is 0.
    pub fn nested(controller: Option<&str>, name: &str, depth: usize) -> io::Result<ControlGroup> {
        let Directory { path: home, above, unified } = group_directory(controller).ok_or(io::ErrorKind::NotFound)?;
        let enabled = controller.filter(|_| unified).map(str::to_owned);
        let parent = match &enabled {
            None => home.clone(),
            Some(name) => {
                let enables = |group: &&PathBuf| {
                    let list = std::fs::read_to_string(group.join(ENABLED)).unwrap_or_default();
                    list.split_ascii_whitespace().any(|one| one == name)
                };
                let found = std::iter::once(&home).chain(&above).find(enables);
                found.ok_or(io::ErrorKind::Unsupported)?.clone()
            }
        };
        let top = parent.join(format!("groma-{}{name}", std::process::id()));
        let mut paths = vec![top];
        for _ in 1..depth {
            paths.push(paths[paths.len() - 1].join(INNER));
        }
        let path = paths[depth - 1].clone();
        let made = paths.clone();
        let guardian = Guardian::new(
            move || {
                let make = |path: &PathBuf| {
                    std::fs::create_dir(path)?;
                    match &enabled {
                        // The lowest one has members, and so may not.
                        Some(name) if made.last() != Some(path) => {
                            std::fs::write(path.join(ENABLED), format!("+{name}"))
                        }
                        _ => Ok(()),
                    }
                };
                let all = made.iter().try_for_each(make);
                if all.is_err() {
                    made.iter().rev().for_each(|path| drop(std::fs::remove_dir(path)));
                }
                all.map(|()| 0)
            },
            {
                let home = home.clone();
                move |_| {
                    // A group that was measured in may be left.
                    let _ = std::fs::remove_dir(paths[depth - 1].join(INNER));
                    paths.iter().rev().try_for_each(|path| remove(path, &home))
                }
            },
        )?;
        let members = |of: &Path| File::options().write(true).open(of.join(MEMBERS));
        Ok(ControlGroup {
            unified,
            dir: File::open(&path)?,
            members: members(&path)?,
            home: members(&home)?,
            path,
            _guardian: guardian,
        })
    }

    /// Moves this process into the group: one `write`. Returns its result.
    #[inline]
    pub fn enter(&self) -> isize {
        raw::pwrite(self.members.as_fd(), b"0")
    }

    /// Moves this process back to where it was. Returns the result of the `write`.
    #[inline]
    pub fn leave(&self) -> isize {
        raw::pwrite(self.home.as_fd(), b"0")
    }

    /// Its directory, for [`fork_into`](crate::clone::fork_into).
    pub fn directory(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    /// CPU time of all members so far, in nanoseconds, which the kernel counts in microseconds;
    /// `None` where it does not (version 1).
    pub fn cpu_ns(&self) -> Option<u64> {
        let text = std::fs::read_to_string(self.path.join("cpu.stat")).ok()?;
        let used = text.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
        used.parse::<u64>().ok().map(|us| us * 1000)
    }

    /// How many processes are in the group.
    ///
    /// # Errors
    /// Those of reading.
    pub fn members(&self) -> io::Result<usize> {
        Ok(std::fs::read_to_string(self.path.join(MEMBERS))?.lines().count())
    }

    /// Makes a group in this one.
    ///
    /// # Errors
    /// Those of `mkdir`.
    #[inline]
    pub fn make_inner(&self) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.dir, INNER, Mode::RWXU)?)
    }

    /// Removes it.
    ///
    /// # Errors
    /// Those of `rmdir`.
    #[inline]
    pub fn remove_inner(&self) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.dir, INNER, AtFlags::REMOVEDIR)?)
    }

    /// Whether there is a group in this one.
    pub fn has_inner(&self) -> bool {
        self.path.join(INNER).is_dir()
    }

    /// Limits the memory of the group, in bytes.
    ///
    /// # Errors
    /// Those of writing.
    pub fn limit_memory(&self, bytes: u64) -> io::Result<()> {
        let file = if self.unified { "memory.max" } else { "memory.limit_in_bytes" };
        std::fs::write(self.path.join(file), bytes.to_string())
    }
}

/// Removes a group; members go to the group `home`.
fn remove(path: &Path, home: &Path) -> io::Result<()> {
    let began = Instant::now();
    loop {
        for member in std::fs::read_to_string(path.join(MEMBERS)).unwrap_or_default().lines() {
            drop(std::fs::write(home.join(MEMBERS), member));
        }
        match std::fs::remove_dir(path) {
            Err(_) if began.elapsed() < PATIENCE => std::thread::yield_now(),
            done => return done,
        }
    }
}

/// The name of a group in a group.
const INNER: &str = "inner";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{first_wrong, in_child};

    /// In a child: a move is of the whole process, and other tests fork.
    #[test]
    fn a_group_is_entered_left_and_gone() {
        for (controller, depth) in [(None, 1), (Some("memory"), 1), (Some("cpu"), 3), (Some("hugetlb"), 3)] {
            let group = match ControlGroup::nested(controller, "-test", depth) {
                Ok(group) => group,
                Err(e) => {
                    println!("no groups ({controller:?}): {e}");
                    continue;
                }
            };
            let path = group.path.clone();
            assert_eq!(group.members().expect("a list"), 0);
            let before = group.cpu_ns();
            let code = in_child(|| {
                let entered = group.enter();
                let members = group.members().map_or(-1, |n| n as isize);
                // The kernel charges whole stretches of running, to the group that the process is
                // in when one ends: a member that leaves at once may be charged to its home alone.
                let deadline = Instant::now() + Duration::from_secs(60);
                let uncharged = || before.is_some() && group.cpu_ns() <= before;
                while uncharged() && Instant::now() < deadline {}
                first_wrong(&[entered == 1, members == 1, !uncharged(), group.leave() == 1])
            });
            assert_eq!(code, Some(0));
            group.make_inner().expect("mkdir");
            assert!(group.has_inner());
            // What is left inside goes as well.
            drop(group);
            assert!(path.ancestors().take(depth).all(|group| !group.exists()), "{}", path.display());
        }
    }
}
