//! Ends what a worker has started when the worker is gone.
//!
//! A child that [`crate::fork`] makes dies with its parent. A program of somebody else's, which
//! `posix_spawn` starts, does not: were supervisor and worker killed together, nobody would be left
//! to end it. So a process in the worker's group waits for the end of the worker, which a pipe
//! tells, and then kills that group, itself included. Being in the group it keeps the group's
//! number from becoming another one's.
//!
//! A program that leaves the group by `setsid` is out of its reach: those the worker and the
//! supervisor find among their descendants, as long as one of them lives. A control group would
//! hold them, but for the superuser only, and it would itself be left behind by a kill.

use crate::fork::{self, Child};
use crate::io::{pipe, read, read_full, write_full};
use crate::process;
use rustix::process::{Signal, getpgrp, kill_current_process_group, set_parent_process_death_signal};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The process that waits. Dropping it ends that process and nothing else.
#[derive(Debug)]
pub struct Leash {
    // Before the pipe: it must be gone when the pipe ends.
    _waiting: Child,
    _held: OwnedFd,
}

impl Leash {
    /// For the group of this worker. `None` in a process that is in somebody else's group: in unit
    /// tests, or when it was started by hand.
    ///
    /// # Errors
    /// Those of `pipe` and of the fork.
    pub fn new() -> io::Result<Option<Leash>> {
        let group = getpgrp().as_raw_pid();
        // A worker leads its group; the members of a worker group are its children.
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
