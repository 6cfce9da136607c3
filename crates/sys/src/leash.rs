//! Kills what a worker started when the worker is gone.
//!
//! A child of [`crate::fork`] dies with its parent. A foreign program that `posix_spawn` starts
//! does not: if supervisor and worker were killed together, nobody would end it. A process in the
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
        let (ready, tell) = pipe()?;
        let waiting = fork::fork(|| {
            // Its own copy would keep the pipe from ending.
            fork::close_copies(&[held.as_fd()]);
            i32::from(wait(end.as_fd(), tell.as_fd()).is_err())
        })?;
        drop(tell);
        read_full(ready.as_fd(), &mut [0])?;
        Ok(Some(Leash { _waiting: waiting, _held: held }))
    }
}

fn wait(end: BorrowedFd<'_>, tell: BorrowedFd<'_>) -> io::Result<()> {
    // It must outlive the worker.
    set_parent_process_death_signal(None)?;
    write_full(tell, b"x")?;
    while let Err(e) = read(end, &mut [0]) {
        if e.kind() != io::ErrorKind::Interrupted {
            return Err(e);
        }
    }
    Ok(kill_current_process_group(Signal::KILL)?)
}
