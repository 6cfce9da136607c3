//! The one place that forks.
//!
//! A child of [`fork`] runs a closure, never returns into its caller, exits by `_exit`, and dies
//! with its parent. In a worker the calling process must have exactly one thread: a lock held by
//! another thread at that moment would stay locked in the child forever. Benchmarks that use
//! threads therefore do not fork afterwards, and a check enforces it. Unit tests run on threads;
//! there the check is off, and the closures must be as careful as in C.
//!
//! # Safety
//! `fork` duplicates a process with one thread (or, in tests, runs a closure that takes no lock).
//! The child ends by `_exit`, so no destructor of the parent runs twice. The handlers of a
//! [`PeerWatch`] store to an atomic and call `setitimer`, both async-signal-safe.
#![expect(unsafe_code, reason = "fork, _exit, the handlers of a peer_watch")]

use crate::process::{self, Exit};
use crate::refused;
use crate::signals::handle;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// The exit code of a child whose closure panicked, as for Rust programs.
const PANICKED: i32 = 101;

static ONE_THREAD_RULE: AtomicBool = AtomicBool::new(false);

/// Makes [`fork`] refuse a process with several threads. A worker calls it first.
pub fn enforce_one_thread() {
    ONE_THREAD_RULE.store(true, Ordering::Relaxed);
}

/// Whether [`enforce_one_thread`] was called: in a worker.
pub(crate) fn one_thread_is_enforced() -> bool {
    ONE_THREAD_RULE.load(Ordering::Relaxed)
}

/// A forked child; dropping it kills and reaps it.
#[derive(Debug)]
pub struct Child {
    pid: i32,
    /// Its result, once reaped: the kernel reports it only once.
    exit: Option<Exit>,
}

/// Forks; the child runs `body` and exits with what it returns.
///
/// # Errors
/// `Other` when the process has more than one thread; those of `fork` (`EAGAIN` at a task limit).
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
        -1 => Err(refused::note(io::Error::last_os_error())),
        0 => {
            let code = match process::die_with_parent(parent) {
                Ok(()) => catch_unwind(AssertUnwindSafe(body)).unwrap_or(PANICKED),
                Err(_) => PANICKED,
            };
            exit_now(code)
        }
        pid => Ok(Child { pid, exit: None }),
    }
}

/// Closes a child's copies of its parent's descriptors, which the child never drops.
///
/// Only for a freshly forked child, which must not use or drop the owners of these afterwards.
pub fn close_copies(fds: &[BorrowedFd<'_>]) {
    for fd in fds {
        // SAFETY: the descriptors are this process's own copies; their owners live in stack frames
        // above the fork, to which the child never returns.
        unsafe { libc::close(fd.as_raw_fd()) };
    }
}

static ENDED: AtomicBool = AtomicBool::new(false);

/// While this exists, the end of a child interrupts every blocking call of this process repeatedly.
/// A process that waits for a peer over a channel without end-of-file (a queue, a semaphore, a
/// counter) gets `EINTR` and can check the peer.
#[derive(Debug)]
pub struct PeerWatch(());

extern "C" fn keep_interrupting(_signal: libc::c_int) {
    ENDED.store(true, Ordering::Relaxed);
    // The call to be interrupted may begin only after this signal.
    set_timer(20_000);
}

extern "C" fn interrupt(_signal: libc::c_int) {}

/// SIGALRM every `microseconds`; never for 0.
fn set_timer(micros: libc::suseconds_t) {
    let every = libc::timeval { tv_sec: 0, tv_usec: micros };
    let timer = libc::itimerval { it_interval: every, it_value: every };
    // SAFETY: a valid structure; the old value is not asked for. (The wrappers of musl and glibc
    // are the plain call, except for time64.)
    unsafe { libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut()) };
}

impl PeerWatch {
    /// Watches this child, and any other children. `None` in a process that may have several
    /// threads, such as a unit test, since a signal interrupts any of them.
    ///
    /// # Errors
    /// Those of `sigaction` and `wait4`.
    pub fn over(child: &mut Child) -> io::Result<Option<PeerWatch>> {
        if !ONE_THREAD_RULE.load(Ordering::Relaxed) {
            return Ok(None);
        }
        ENDED.store(false, Ordering::Relaxed);
        let peer_watch = PeerWatch(());
        handle(libc::SIGALRM, interrupt, 0)?;
        handle(libc::SIGCHLD, keep_interrupting, libc::SA_NOCLDSTOP)?;
        if child.poll()?.is_some() {
            keep_interrupting(0);
        }
        Ok(Some(peer_watch))
    }

    /// Whether a child has ended during the last watch.
    #[inline]
    pub fn saw_an_end() -> bool {
        ENDED.load(Ordering::Relaxed)
    }
}

impl Drop for PeerWatch {
    fn drop(&mut self) {
        crate::signals::restore_default(libc::SIGCHLD);
        // Delivers what is pending before the handler is removed.
        set_timer(0);
        crate::signals::restore_default(libc::SIGALRM);
        ENDED.store(false, Ordering::Relaxed);
    }
}

/// Exits the process at once, without destructors or exit handlers.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: `_exit` does not return and touches no memory of ours.
    unsafe { libc::_exit(code) }
}

impl Child {
    /// Its process id.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Its process id, for a caller that ends and reaps it itself.
    pub fn release(self) -> i32 {
        let pid = self.pid;
        std::mem::forget(self);
        pid
    }

    /// Waits for it to end by itself.
    ///
    /// # Errors
    /// Those of `wait4`.
    pub fn wait(mut self) -> io::Result<Exit> {
        let exit = match self.exit {
            Some(exit) => exit,
            None => process::wait(self.pid)?,
        };
        self.exit = Some(exit);
        Ok(exit)
    }

    /// Its result, if it has ended.
    ///
    /// # Errors
    /// Those of `wait4`.
    pub fn poll(&mut self) -> io::Result<Option<Exit>> {
        if self.exit.is_none() {
            self.exit = process::reap(self.pid)?;
        }
        Ok(self.exit)
    }

    /// Kills it if it still runs, and reaps it.
    ///
    /// # Errors
    /// Those of `wait4`.
    pub fn stop(self) -> io::Result<Exit> {
        if self.exit.is_none() {
            process::kill(self.pid);
        }
        self.wait()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.exit.is_none() {
            process::kill(self.pid);
            // Reaped so that it does not stay a zombie; its result no longer matters.
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
    fn a_result_can_be_polled_again() {
        let mut child = fork(|| 7).expect("fork");
        let patience = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while child.poll().expect("wait").is_none() {
            assert!(std::time::Instant::now() < patience, "it never ended");
            std::thread::yield_now();
        }
        assert_eq!(child.poll().expect("its end is known").and_then(|exit| exit.code()), Some(7));
        assert_eq!(child.wait().expect("its end is known").code(), Some(7));
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
    fn a_peer_watch_interrupts_a_wait_for_a_child_that_ended() {
        /// A worker whose peer ends silently, before the watch or after it.
        fn worker(late: bool) -> io::Result<()> {
            use crate::io::{pipe, read, write_full};
            use std::os::fd::AsFd;
            enforce_one_thread();
            let ((never, _held), (go, gone)) = (pipe()?, pipe()?);
            let mut child = fork(|| i32::from(late && read(go.as_fd(), &mut [0]).is_err()))?;
            if !late {
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
            let peer_watch = PeerWatch::over(&mut child)?;
            assert!(peer_watch.is_some());
            write_full(gone.as_fd(), &[1])?;
            for _ in 0..3 {
                let seen = read(never.as_fd(), &mut [0]).map_err(|e| e.kind());
                assert_eq!(seen, Err(io::ErrorKind::Interrupted));
            }
            assert!(PeerWatch::saw_an_end());
            drop(peer_watch);
            assert!(!PeerWatch::saw_an_end());
            // SAFETY: room for the answer, and zeroes are a valid one.
            let (left, set) = unsafe {
                let mut left = std::mem::zeroed::<libc::itimerval>();
                let failed = libc::getitimer(libc::ITIMER_REAL, &raw mut left);
                (left.it_value, failed == 0 && left.it_interval.tv_usec == 0)
            };
            assert!(set && (left.tv_sec, left.tv_usec) == (0, 0));
            assert!([libc::SIGCHLD, libc::SIGALRM].map(crate::signals::has_default).iter().all(|default| *default));
            // Neither timer nor handler is left.
            std::thread::sleep(std::time::Duration::from_millis(60));
            Ok(())
        }
        for late in [false, true] {
            let mut child = fork(|| i32::from(worker(late).is_err())).expect("fork");
            let patience = std::time::Instant::now() + std::time::Duration::from_secs(60);
            let exit = loop {
                if let Some(exit) = child.poll().expect("wait") {
                    break exit;
                }
                assert!(std::time::Instant::now() < patience, "no signal interrupted it");
                std::thread::sleep(std::time::Duration::from_millis(5));
            };
            assert_eq!(exit.code(), Some(0), "late: {late}");
        }
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

    /// The signal at the death of the parent, and the exit code of a panic.
    #[test]
    fn a_child_dies_with_its_parent_and_a_panic_is_no_success() {
        let asked = || {
            let mut signal: libc::c_int = 0;
            // SAFETY: room for one number.
            let failed = unsafe { libc::prctl(libc::PR_GET_PDEATHSIG, &raw mut signal) };
            if failed == 0 { signal } else { 255 }
        };
        assert_eq!(fork(asked).expect("fork").wait().expect("wait").code(), Some(libc::SIGKILL));
        let panics = fork(|| {
            std::panic::set_hook(Box::new(|_| {}));
            panic!("on purpose")
        });
        assert_eq!(panics.expect("fork").wait().expect("wait").code(), Some(PANICKED));
    }

    /// A lock that another thread holds would stay locked in the child.
    #[test]
    fn a_worker_forks_only_while_it_has_one_thread() {
        let exit = crate::testing::in_child(|| {
            let before = one_thread_is_enforced();
            enforce_one_thread();
            let alone = fork(|| 3).and_then(Child::wait).is_ok_and(|exit| exit.code() == Some(3));
            let (stay, leave) = std::sync::mpsc::channel::<()>();
            let Ok(other) = crate::thread::spawn(1 << 16, move || leave.recv().is_err()) else { return 255 };
            let refused = fork(|| 0).map(|_| ()).map_err(|e| e.to_string());
            drop(stay);
            let left = other.join().is_ok();
            // The kernel counts a thread for a moment after it was joined.
            let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
            while crate::thread::count() != 1 && std::time::Instant::now() < until {
                std::thread::yield_now();
            }
            let again = fork(|| 4).and_then(Child::wait).is_ok_and(|exit| exit.code() == Some(4));
            let refused = refused == Err("refused to fork a process with 2 threads".to_owned());
            crate::testing::first_wrong(&[!before, one_thread_is_enforced(), alone, refused, left, again])
        });
        assert_eq!(exit, Some(0));
    }

    #[test]
    fn a_child_that_still_runs_has_no_result_and_its_copies_are_closed() {
        use std::os::fd::AsFd;
        let ((end, held), (answer, sender)) = (crate::io::pipe().expect("pipe"), crate::io::pipe().expect("pipe"));
        let mut child = fork(|| {
            close_copies(&[held.as_fd(), answer.as_fd()]);
            let open = [held.as_fd(), answer.as_fd()].map(|fd| rustix::io::fcntl_getfd(fd).is_ok());
            if crate::io::write_full(sender.as_fd(), &open.map(u8::from)).is_err() {
                return 1;
            }
            i32::from(crate::io::read(end.as_fd(), &mut [0]).is_err())
        })
        .expect("fork");
        let mut open = [9; 2];
        crate::io::read_full(answer.as_fd(), &mut open).expect("the child says");
        assert_eq!(open, [0, 0]);
        assert!(child.poll().expect("it is our child").is_none());
        crate::io::write_full(held.as_fd(), &[1]).expect("it reads");
        assert_eq!(child.wait().expect("wait").code(), Some(0));
    }
}
