//! System V objects and control groups, owned by a process that outlives the worker.
//!
//! A message queue or a semaphore set of System V has no descriptor, so nothing removes it when its
//! users are gone, and it cannot be removed early: that fails those who wait on it. Nor does
//! anything remove a control group. Each therefore belongs to a guardian, a process in a session of
//! its own, which neither the death of the worker nor SIGKILL to its group reaches. The guardian
//! creates the object before it reports its id, and removes it on request or when the pipe to the
//! worker ends, which happens however the worker ends. The object never exists without its guardian
//! (`docs/methods/operating-system.md#clean-up`).
//!
//! A private IPC namespace would do the same without a process, but only for the superuser, and
//! with limits (`kernel.msgmax` and others) that are not those of the system being measured.

use crate::fork::{self, Child};
use crate::io::{pipe, read, read_full, write_full};
use rustix::process::{set_parent_process_death_signal, setsid};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The owner of an object known by a number. Dropping it removes the object and waits until that is
/// done.
#[derive(Debug)]
pub struct Guardian {
    object: i32,
    leash: OwnedFd,
    child: Option<Child>,
}

impl Guardian {
    /// A process that creates something now and removes it at the end.
    ///
    /// # Errors
    /// Those of `make` and of the fork.
    pub fn new(
        make: impl FnOnce() -> io::Result<i32>,
        unmake: impl FnOnce(i32) -> io::Result<()>,
    ) -> io::Result<Guardian> {
        let (leash_end, leash) = pipe()?;
        let (news, news_end) = pipe()?;
        let child = fork::fork(|| {
            // Its own copy of the pipe's write end would keep the pipe from ending.
            fork::close_copies(&[leash.as_fd()]);
            i32::from(guard(make, unmake, leash_end.as_fd(), news_end.as_fd()).is_err())
        })?;
        drop((leash_end, news_end));
        let mut said = [0; 8];
        read_full(news.as_fd(), &mut said)?;
        let [object, error] =
            [&said[..4], &said[4..]].map(|half| i32::from_ne_bytes([half[0], half[1], half[2], half[3]]));
        if error != 0 {
            return Err(io::Error::from_raw_os_error(error));
        }
        Ok(Guardian { object, leash, child: Some(child) })
    }

    /// The number of the object.
    pub fn object(&self) -> i32 {
        self.object
    }
}

/// The life of a guardian.
fn guard(
    make: impl FnOnce() -> io::Result<i32>,
    unmake: impl FnOnce(i32) -> io::Result<()>,
    leash: BorrowedFd<'_>,
    news: BorrowedFd<'_>,
) -> io::Result<()> {
    setsid()?;
    set_parent_process_death_signal(None)?;
    let made = make();
    let error = made.as_ref().map_or_else(|e| e.raw_os_error().unwrap_or(-1), |_| 0);
    let object = *made.as_ref().unwrap_or(&0);
    let reported = write_full(news, &[object.to_ne_bytes(), error.to_ne_bytes()].concat());
    let object = made?;
    // A byte, end-of-file, or an error: there is nothing else to wait for.
    let _ = reported.and_then(|()| read(leash, &mut [0]));
    unmake(object)
}

impl Drop for Guardian {
    fn drop(&mut self) {
        // Not by closing: children forked in the meantime hold copies.
        let _ = write_full(self.leash.as_fd(), &[0]);
        if let Some(child) = self.child.take() {
            let _ = child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicI32, Ordering::SeqCst};

    /// The pipe on which a guardian reports what it did; set before the fork, so the child has it
    /// too.
    static NEWS: AtomicI32 = AtomicI32::new(-1);

    fn report(what: u8) {
        let path = format!("/proc/self/fd/{}", NEWS.load(SeqCst));
        let _ = std::fs::write(path, [what]);
    }

    /// The error of `make` reaches the caller.
    #[test]
    fn an_object_that_cannot_be_made_is_an_error() {
        let refused = || Err(io::Error::from_raw_os_error(rustix::io::Errno::NOSPC.raw_os_error()));
        let made = Guardian::new(refused, |_| Ok(())).map(|_| ()).map_err(|e| e.raw_os_error());
        assert_eq!(made, Err(Some(rustix::io::Errno::NOSPC.raw_os_error())));
    }

    #[test]
    fn drop_removes_the_object_once_and_waits_for_it() {
        use std::os::fd::AsRawFd;
        let (news, news_end) = pipe().expect("pipe");
        NEWS.store(news_end.as_raw_fd(), SeqCst);
        let make = || {
            report(1);
            Ok(4711)
        };
        let unmake = |object| {
            report(if object == 4711 { 2 } else { 9 });
            Ok(())
        };
        let guardian = Guardian::new(make, unmake).expect("a guardian");
        assert_eq!(guardian.object(), 4711);
        let pid = guardian.child.as_ref().map_or(0, Child::pid);
        let mut seen = [0; 8];
        assert_eq!((read(news.as_fd(), &mut seen).expect("read"), seen[0]), (1, 1));
        // In a session of its own, and not killed with its parent.
        let pid_of = rustix::process::Pid::from_raw(pid);
        assert_eq!(rustix::process::getsid(pid_of).expect("it is there").as_raw_pid(), pid);
        drop(guardian);
        assert!(crate::socket::is_ready(&news), "it was not waited for");
        drop(news_end);
        assert_eq!((read(news.as_fd(), &mut seen).expect("read"), seen[0]), (1, 2));
        assert!(!crate::process::exists(pid), "it was not reaped");
    }
}
