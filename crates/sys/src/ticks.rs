//! A signal to the calling thread at fixed intervals, so that none of its calls blocks for ever.
//!
//! A time-out of a socket (SO_RCVTIMEO) does the same, and arms and cancels a timer in each call
//! that blocks. This timer is armed once.
//!
//! # Safety
//! The handler does nothing. The structures of `timer_create` and `timer_settime` are
//! zeroed integers and pointers, then filled; the timer is deleted once.
#![expect(unsafe_code, reason = "POSIX timers and a handler, which rustix does not have")]

use crate::io::checked;
use crate::signals::handle;
use std::io;
use std::mem::MaybeUninit;
use std::time::Duration;

/// Nothing else here uses this signal, so its handler can stay: a tick may still be under way when
/// the timer is deleted.
const SIGNAL: i32 = libc::SIGVTALRM;

/// While this exists, a call of the thread that created it ends with `EINTR` if it blocks for
/// longer than an interval.
#[derive(Debug)]
pub struct Ticks(libc::timer_t);

extern "C" fn nothing(_signal: libc::c_int) {}

impl Ticks {
    /// Starts ticks for the calling thread.
    ///
    /// # Errors
    /// Those of `sigaction`, `timer_create` and `timer_settime`.
    pub fn every(interval: Duration) -> io::Result<Ticks> {
        handle(SIGNAL, nothing, 0)?;
        let mut event = MaybeUninit::<libc::sigevent>::zeroed();
        let mut timer = MaybeUninit::<libc::timer_t>::uninit();
        // SAFETY: a zeroed sigevent is legal; `timer` has room for the result.
        checked(unsafe {
            let event = event.as_mut_ptr();
            (*event).sigev_notify = libc::SIGEV_THREAD_ID;
            (*event).sigev_signo = SIGNAL;
            (*event).sigev_notify_thread_id = libc::gettid();
            libc::timer_create(libc::CLOCK_MONOTONIC, event, timer.as_mut_ptr())
        })?;
        // SAFETY: `timer_create` has filled it.
        let ticks = Ticks(unsafe { timer.assume_init() });
        let mut every = MaybeUninit::<libc::itimerspec>::zeroed();
        // SAFETY: a zeroed itimerspec is legal; the old value is not asked for.
        checked(unsafe {
            let every = every.as_mut_ptr();
            (*every).it_interval.tv_sec = interval.as_secs() as libc::time_t;
            (*every).it_interval.tv_nsec = interval.subsec_nanos() as _;
            (*every).it_value = (*every).it_interval;
            libc::timer_settime(ticks.0, 0, every, std::ptr::null_mut())
        })?;
        Ok(ticks)
    }
}

impl Drop for Ticks {
    fn drop(&mut self) {
        // SAFETY: the timer was made by `every`, and this is its only owner.
        unsafe { libc::timer_delete(self.0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{pipe, read, readable};
    use std::os::fd::AsFd;

    #[test]
    fn calls_that_block_are_interrupted_until_the_ticks_end() {
        let (never, _held) = pipe().expect("pipe");
        let ticks = Ticks::every(Duration::from_millis(5)).expect("a timer");
        for _ in 0..3 {
            assert_eq!(read(never.as_fd(), &mut [0]).map_err(|e| e.kind()), Err(io::ErrorKind::Interrupted));
        }
        drop(ticks);
        // A thread without ticks waits as long as it wants to.
        assert!(readable(&[never.as_fd()], Duration::from_millis(30)).is_empty());
        let other = Ticks::every(Duration::from_millis(5)).expect("a timer");
        let (out, into) = pipe().expect("pipe");
        let undisturbed = std::thread::spawn(move || read(out.as_fd(), &mut [0]));
        for _ in 0..3 {
            assert!(read(never.as_fd(), &mut [0]).is_err());
        }
        drop(other);
        assert_eq!(crate::io::write(into.as_fd(), &[1]).expect("a reader"), 1);
        assert_eq!(undisturbed.join().expect("no panic").expect("no interruption"), 1);
    }

    /// From the kernel's list, in a child that has no other timers.
    #[test]
    fn ticks_are_a_timer_of_the_thread_and_end_on_drop() {
        let timers = || std::fs::read_to_string("/proc/self/timers").ok();
        let exit = crate::testing::in_child(|| {
            let Some(none) = timers() else { return 255 };
            let Ok(ticks) = Ticks::every(Duration::from_secs(3600)) else { return 1 };
            let one = timers().unwrap_or_default();
            let mut left = MaybeUninit::<libc::itimerspec>::zeroed();
            // SAFETY: room for the answer; zeroes are a valid one.
            let left = unsafe {
                libc::timer_gettime(ticks.0, left.as_mut_ptr());
                left.assume_init()
            };
            drop(ticks);
            1 + crate::testing::first_wrong(&[
                none.is_empty(),
                one.contains("ClockID: 1\n") && one.contains(&format!("signal: {SIGNAL}/")),
                one.contains(&format!("notify: signal/tid.{}\n", crate::process::id())),
                left.it_interval.tv_sec == 3600 && left.it_value.tv_sec >= 3590,
                timers() == Some(String::new()),
            ])
        });
        match exit {
            Some(255) => println!("skipped: the kernel does not list timers"),
            exit => assert_eq!(exit, Some(1)),
        }
    }
}
