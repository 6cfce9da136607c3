//! The one place that forks.
//!
//! A child made by [`fork`] runs a closure, never returns into its caller, leaves by `_exit`, and dies with its parent.
//! In a worker the calling process must have exactly one thread: a lock held by another thread at that moment would stay
//! locked in the child for ever. Benchmarks that use threads therefore do not fork afterwards, and the check makes the
//! rule. Unit tests run on threads; there the check is off and the closures must be as careful as in C.
//!
//! # Safety
//! `fork` duplicates a process with one thread (or, in tests, runs a closure that takes no lock); the child ends by
//! `_exit`, so no destructor of the parent runs twice.
#![expect(unsafe_code, reason = "fork, _exit")]

use crate::process::{self, Exit};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// The exit code of a child whose closure panicked, as Rust programs have it.
const PANICKED: i32 = 101;

static ONE_THREAD_RULE: AtomicBool = AtomicBool::new(false);

/// From now on [`fork`] refuses to fork a process with several threads. A worker calls it first of all.
pub fn enforce_one_thread() {
    ONE_THREAD_RULE.store(true, Ordering::Relaxed);
}

/// A forked child that is ended and reaped when it is dropped.
#[derive(Debug)]
pub struct Child {
    pid: i32,
    reaped: bool,
}

/// Forks; the child runs `body` and exits with what it returns.
///
/// # Errors
/// `Other` when the process has more than one thread; those of `fork` (`EAGAIN` at a limit of tasks).
pub fn fork(body: impl FnOnce() -> i32) -> io::Result<Child> {
    if ONE_THREAD_RULE.load(Ordering::Relaxed) {
        let threads = crate::thread::count();
        if threads != 1 {
            return Err(io::Error::other(format!("refused to fork a process with {threads} threads")));
        }
    }
    let parent = process::id();
    // SAFETY: see the module's Safety section.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let code = match process::die_with_parent(parent) {
                Ok(()) => catch_unwind(AssertUnwindSafe(body)).unwrap_or(PANICKED),
                Err(_) => PANICKED,
            };
            exit_now(code)
        }
        pid => Ok(Child { pid, reaped: false }),
    }
}

/// Closes a child's copies of descriptors that belong to its parent, which the child never drops.
///
/// Only for a freshly forked child: it must not use or drop the owners of these afterwards.
pub fn close_copies(fds: &[BorrowedFd<'_>]) {
    for fd in fds {
        // SAFETY: the descriptors are this process's own copies; their owners live in stack frames above the fork, to which
        // the child never returns.
        unsafe { libc::close(fd.as_raw_fd()) };
    }
}

/// Leaves the process at once, without destructors or exit handlers.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: `_exit` does not return and touches no memory of ours.
    unsafe { libc::_exit(code) }
}

impl Child {
    /// Its process id.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Waits for it to end by itself.
    ///
    /// # Errors
    /// Those of `wait4`.
    pub fn wait(mut self) -> io::Result<Exit> {
        self.reaped = true;
        process::wait(self.pid)
    }

    /// Its end, if it has ended.
    ///
    /// # Errors
    /// Those of `wait4`.
    pub fn poll(&mut self) -> io::Result<Option<Exit>> {
        let exit = process::reap(self.pid)?;
        self.reaped |= exit.is_some();
        Ok(exit)
    }

    /// Ends it, if it still runs, and reaps it.
    ///
    /// # Errors
    /// Those of `wait4`.
    pub fn stop(self) -> io::Result<Exit> {
        process::kill(self.pid);
        self.wait()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.reaped {
            process::kill(self.pid);
            // Reaped so that it does not stay as a zombie; its end is of no interest any more.
            drop(process::wait(self.pid));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_ends_with_the_code_of_its_body() {
        assert_eq!(fork(|| 7).expect("fork").wait().expect("wait").code(), Some(7));
    }

    #[test]
    fn stopping_reaps_and_says_how_it_ended() {
        let child = fork(|| {
            loop {
                std::thread::park()
            }
        })
        .expect("fork");
        let exit = child.stop().expect("wait");
        assert_eq!(exit.signal(), Some(libc::SIGKILL));
        assert_eq!(exit.to_string(), "ended by signal 9 (SIGKILL)");
    }

    #[test]
    fn a_dropped_child_leaves_no_zombie() {
        let child = fork(|| {
            loop {
                std::thread::park()
            }
        })
        .expect("fork");
        let pid = child.pid();
        drop(child);
        assert_eq!(process::reap(pid).map(|_| ()).map_err(|e| e.raw_os_error()), Err(Some(libc::ECHILD)));
    }
}
