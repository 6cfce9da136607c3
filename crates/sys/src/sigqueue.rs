//! Signals that are queued and taken, not caught; each carries a value from one thread to another.
//!
//! # Safety
//! Sets and informations are owned and initialised before they are passed.
#![expect(unsafe_code, reason = "rt_tgsigqueueinfo, rt_sigtimedwait, sigmask")]

use crate::arch::syscall4;
use std::io;
use std::mem::MaybeUninit;

/// The signal that is sent: a real-time one, which the kernel queues in order without merging.
fn signal() -> libc::c_int {
    libc::SIGRTMIN() + 7
}

/// A sent value, in the layout of the kernel's `siginfo` for queued signals.
#[repr(C, align(8))]
struct Sent {
    signal: i32,
    error: i32,
    code: i32,
    rest: Rest,
    room: [u64; 12],
}

/// From here the kernel aligns like pointers.
#[repr(C)]
struct Rest {
    _align: [usize; 0],
    pid: i32,
    uid: u32,
    value: usize,
}

const _: () = assert!(size_of::<Sent>() >= size_of::<libc::siginfo_t>());

/// A thread that signals are sent to.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    process: i32,
    thread: i32,
}

impl Task {
    /// The calling thread.
    pub fn own() -> Task {
        // SAFETY: no arguments.
        Task { process: crate::process::id(), thread: unsafe { libc::gettid() } }
    }

    /// The first thread of a process, its only one in a process forked here.
    pub fn main_of(process: i32) -> Task {
        Task { process, thread: process }
    }

    /// `rt_tgsigqueueinfo` by number: queues the signal with this value.
    ///
    /// # Errors
    /// Those of the call: `EAGAIN` when too many are queued, `ESRCH` when the thread has ended.
    #[inline]
    pub fn send(&self, value: usize) -> io::Result<()> {
        let rest = Rest { _align: [], pid: 0, uid: 0, value };
        let sent = Sent { signal: signal(), error: 0, code: libc::SI_QUEUE, rest, room: [0; 12] };
        let (process, thread) = (self.process as usize, self.thread as usize);
        let at = std::ptr::from_ref(&sent) as usize;
        // SAFETY: the information is as long as the kernel's and lives across the call.
        match unsafe { syscall4(libc::SYS_rt_tgsigqueueinfo as usize, process, thread, sent.signal as usize, at) } {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(-error as i32)),
        }
    }
}

/// What was waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrived {
    /// A queued signal with this value.
    Value(usize),
    /// A child has ended.
    ChildEnded,
}

/// The signal, blocked in the calling thread and in processes that it forks, so that it can be
/// waited for; and with it SIGCHLD.
#[derive(Debug)]
pub struct Blocked {
    set: libc::sigset_t,
    before: libc::sigset_t,
}

impl Blocked {
    /// Blocks them.
    ///
    /// # Errors
    /// Those of `pthread_sigmask`.
    pub fn new() -> io::Result<Blocked> {
        // SAFETY: zeroes are valid for signal sets, which are initialised before they are used.
        unsafe {
            let mut set = MaybeUninit::<libc::sigset_t>::zeroed().assume_init();
            let mut before = set;
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, signal());
            libc::sigaddset(&raw mut set, libc::SIGCHLD);
            match libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, &raw mut before) {
                0 => Ok(Blocked { set, before }),
                error => Err(io::Error::from_raw_os_error(error)),
            }
        }
    }

    /// `rt_sigtimedwait` by number, without a timeout: takes the next signal.
    ///
    /// # Errors
    /// Those of the call; `InvalidData` when someone else sent one.
    #[inline]
    pub fn wait(&self) -> io::Result<Arrived> {
        const EINTR: isize = -(libc::EINTR as isize);
        /// The kernel's sets have 64 signals; libc's start with them.
        const SET: usize = 8;
        let mut sent = MaybeUninit::<Sent>::zeroed();
        let set = std::ptr::from_ref(&self.set) as usize;
        loop {
            // SAFETY: the set is longer than the kernel's, the information as long as the kernel's.
            let took = unsafe { syscall4(libc::SYS_rt_sigtimedwait as usize, set, sent.as_mut_ptr() as usize, 0, SET) };
            // SAFETY: zeroes, or what the kernel wrote: all integers.
            let sent = unsafe { sent.assume_init_ref() };
            return match took {
                // SIGCONT after SIGSTOP, or a tracer.
                EINTR => continue,
                error if error < 0 => Err(io::Error::from_raw_os_error(-error as i32)),
                child if child == libc::SIGCHLD as isize => Ok(Arrived::ChildEnded),
                _ if sent.code == libc::SI_QUEUE => Ok(Arrived::Value(sent.rest.value)),
                _ => Err(io::Error::new(io::ErrorKind::InvalidData, "a signal that this program did not send")),
            };
        }
    }
}

impl Drop for Blocked {
    /// Takes what has arrived and was not waited for first: it would end the process. A SIGCHLD
    /// among it would be ignored.
    fn drop(&mut self) {
        let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the sets are initialised, one by the kernel; nothing is written to.
        unsafe {
            while libc::sigtimedwait(&raw const self.set, std::ptr::null_mut(), &raw const now) > 0 {}
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals::blocked;
    use std::collections::BTreeSet;

    #[test]
    fn signals_to_oneself_come_in_order_with_their_values() {
        let signals = Blocked::new().expect("sigmask");
        let own = Task::own();
        for n in [1, usize::MAX, 3] {
            own.send(n).expect("queued");
        }
        for n in [1, usize::MAX, 3] {
            assert_eq!(signals.wait().expect("taken"), Arrived::Value(n));
        }
    }

    #[test]
    fn signals_are_delivered_again_afterwards() {
        let before = blocked();
        let signals = Blocked::new().expect("sigmask");
        let expected: BTreeSet<i32> = before.iter().copied().chain([libc::SIGCHLD, signal()]).collect();
        assert_eq!(blocked().into_iter().collect::<BTreeSet<_>>(), expected);
        drop(signals);
        assert_eq!(blocked(), before);
    }

    #[test]
    fn pending_signals_do_not_end_the_process() {
        let exit = crate::testing::in_child(|| {
            let Ok(signals) = Blocked::new() else { return 255 };
            let own = Task::own();
            let sent = (0..3).all(|n| own.send(n).is_ok());
            drop(signals);
            i32::from(!sent)
        });
        assert_eq!(exit, Some(0));
    }

    #[test]
    fn sending_to_a_missing_thread_fails() {
        let gone = Task { process: i32::MAX, thread: i32::MAX };
        assert_eq!(gone.send(1).map_err(|e| e.raw_os_error()), Err(Some(libc::ESRCH)));
    }

    /// In a process with one thread: another one would take the signal of the child.
    #[test]
    fn ended_children_and_signals_of_others_are_recognised() {
        let exit = crate::testing::in_child(|| {
            let Ok(signals) = Blocked::new() else { return 255 };
            let Ok(child) = crate::fork::fork(|| 0) else { return 255 };
            let ended = signals.wait().ok();
            let reaped = child.wait().is_ok_and(|exit| exit.success());
            // As `kill` sends it: without a value.
            // SAFETY: integers by value.
            let sent = unsafe { libc::kill(crate::process::id(), signal()) };
            let foreign = signals.wait().map_err(|e| e.kind());
            let own = Task::main_of(crate::process::id()).send(9).is_ok();
            let value = signals.wait().ok();
            crate::testing::first_wrong(&[
                ended == Some(Arrived::ChildEnded),
                reaped,
                sent == 0 && foreign == Err(io::ErrorKind::InvalidData),
                own && value == Some(Arrived::Value(9)),
            ])
        });
        assert_eq!(exit, Some(0));
    }
}
