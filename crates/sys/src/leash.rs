//! Kills what a worker started when the worker is gone.
//!
//! A child of [`crate::fork`] dies with its parent. A foreign program that `posix_spawn` starts
//! does not: if supervisor and worker were killed together, it would run on. A process in the
//! worker's group therefore waits for the end of the worker, which a pipe reports, and then kills
//! that group, itself included. As a member of the group it keeps the group's id from being reused
//! (`docs/methods/operating-system.md#clean-up`).
//!
//! A program that leaves the group by `setsid` is out of its reach. Worker and supervisor find
//! those among their descendants, as long as one of them lives. A control group would hold them,
//! but only for the superuser, and a kill would leave the group itself behind.

use crate::fork::{self, Child};
use crate::io::{pipe, read, read_full, write_full};
use crate::process;
use rustix::process::{Signal, getpgrp, kill_current_process_group, set_parent_process_death_signal};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The process that waits. Dropping it ends only that process.
#[derive(Debug)]
pub struct Leash {
    // Declared before the pipe: it must be gone when the pipe ends.
    _waiting: Child,
    _held: OwnedFd,
}

impl Leash {
    /// For the group of this worker. `None` in a process that does not lead its group: in unit
    /// tests, or when started by hand.
    ///
    /// # Errors
    /// Those of `pipe` and of the fork.
    pub fn new() -> io::Result<Option<Leash>> {
        let group = getpgrp().as_raw_pid();
        // A worker leads its group; group members are its children.
        let own = group == process::id() || group == process::parent_id();
        if !(own && fork::one_thread_is_enforced()) {
            return Ok(None);
        }
        let (end, held) = pipe()?;
        let (ready, news) = pipe()?;
        let waiting = fork::fork(|| {
            // Its own copy would keep the pipe from ending.
            fork::close_copies(&[held.as_fd()]);
            i32::from(wait(end.as_fd(), news.as_fd()).is_err())
        })?;
        drop(news);
        read_full(ready.as_fd(), &mut [0])?;
        Ok(Some(Leash { _waiting: waiting, _held: held }))
    }
}

fn wait(end: BorrowedFd<'_>, news: BorrowedFd<'_>) -> io::Result<()> {
    // It must outlive the worker.
    set_parent_process_death_signal(None)?;
    write_full(news, b"x")?;
    while let Err(e) = read(end, &mut [0]) {
        if e.kind() != io::ErrorKind::Interrupted {
            return Err(e);
        }
    }
    Ok(kill_current_process_group(Signal::KILL)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::readable;
    use rustix::process::setpgid;
    use std::time::Duration;

    /// Far longer than any wait on a busy machine, and shorter than the life of the other process.
    const PATIENCE: Duration = Duration::from_mins(1);

    /// Whether the pipe has something to read, or its end, within the patience.
    fn says_something(end: BorrowedFd<'_>) -> bool {
        (0..60).any(|_| !readable(&[end], PATIENCE / 60).is_empty())
    }

    /// A worker with another process in its group, which does not die with its parent and holds the
    /// pipe `news`. The worker writes 1 there if it has a leash, and keeps the leash if `keep`.
    fn worker(keep: bool, news: BorrowedFd<'_>, others: &[BorrowedFd<'_>]) -> io::Result<Child> {
        fork::fork(|| {
            fork::close_copies(others);
            if setpgid(None, None).is_err() {
                return 1;
            }
            fork::enforce_one_thread();
            let Ok(leash) = Leash::new() else { return 2 };
            let other = fork::fork(|| {
                // A program that is executed has no copy of the pipe.
                if let Some(leash) = &leash {
                    fork::close_copies(&[leash._held.as_fd()]);
                }
                let outlives = set_parent_process_death_signal(None);
                std::thread::sleep(2 * PATIENCE);
                i32::from(outlives.is_err())
            });
            let held = leash.is_some() && other.is_ok();
            let leash = leash.filter(|_| keep);
            // Not reached if dropping the leash has killed the group.
            if write_full(news, &[u8::from(held)]).is_err() {
                return 3;
            }
            std::thread::sleep(2 * PATIENCE);
            drop((leash, other));
            0
        })
    }

    #[test]
    fn a_group_ends_with_its_worker() {
        let (end, held) = pipe().expect("pipe");
        let worker = worker(true, held.as_fd(), &[end.as_fd()]).expect("fork");
        drop(held);
        let mut said = [9];
        assert_eq!(read(end.as_fd(), &mut said).expect("a byte"), 1);
        assert_eq!(said, [1], "no leash");
        // All that is left of the group holds the other end.
        drop(worker);
        assert!(says_something(end.as_fd()), "the other lives");
        assert_eq!(read(end.as_fd(), &mut said).expect("it has ended"), 0);
    }

    #[test]
    fn a_dropped_leash_kills_no_process() {
        let (end, held) = pipe().expect("pipe");
        let worker = worker(false, held.as_fd(), &[end.as_fd()]).expect("fork");
        drop(held);
        let mut said = [9];
        assert_eq!(read(end.as_fd(), &mut said).expect("a byte"), 1, "the group has ended");
        assert_eq!(said, [1], "no leash");
        crate::process::kill_group(worker.pid());
        drop(worker);
        assert!(says_something(end.as_fd()), "somebody is not of the group");
        assert_eq!(read(end.as_fd(), &mut said).expect("it has ended"), 0);
    }

    #[test]
    fn a_process_with_threads_that_is_no_worker_has_no_leash() {
        assert!(Leash::new().expect("it needs none").is_none());
    }
}
