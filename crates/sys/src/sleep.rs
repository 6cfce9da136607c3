//! The ways a program can sleep for a time, behind one interface.
//!
//! A [`Sleeper`] sleeps repeatedly for its length and returns each time how late it woke, by
//! `CLOCK_MONOTONIC`, the clock of the kernel's timers. The harness's own clock is not slewed by
//! NTP and would see a sleep of 10 ms end up to 5 us early
//! (`docs/methods/operating-system.md#sleep`).
//!
//! # Safety
//! Every call gets owned values that live across it. The sleeper owns its descriptors. It deletes a
//! signal's timer and consumes the signal before it unblocks the signal.
#![expect(unsafe_code, reason = "nanosleep and its relatives, timers, sigtimedwait")]

use crate::io::checked;
use crate::io::read;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::ptr::null_mut;
use std::sync::atomic::AtomicU32;

/// The clock that timers run on, in nanoseconds.
pub fn now_ns() -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is a valid timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

fn timespec(ns: u64) -> libc::timespec {
    libc::timespec { tv_sec: (ns / 1_000_000_000) as libc::time_t, tv_nsec: (ns % 1_000_000_000) as libc::c_long }
}

/// Times of day count microseconds.
fn timeval(ns: u64) -> libc::timeval {
    libc::timeval {
        tv_sec: (ns / 1_000_000_000) as libc::time_t,
        tv_usec: (ns % 1_000_000_000 / 1000) as libc::suseconds_t,
    }
}

/// Sleeps until `CLOCK_MONOTONIC` reaches this time.
///
/// # Errors
/// Those of `clock_nanosleep`: `Interrupted` when a signal was caught.
pub fn until(ns: u64) -> io::Result<()> {
    let at = timespec(ns);
    // SAFETY: the time is valid and owned; the remaining time is not asked for.
    match unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &at, null_mut()) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// A way to sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// `nanosleep`: relative.
    Nanosleep,
    /// `clock_nanosleep` with an absolute time of `CLOCK_MONOTONIC`.
    ClockNanosleepAbs,
    /// `select` without descriptors, with a timeout.
    Select,
    /// `ppoll` without descriptors, with a timeout: `poll` with less than a millisecond.
    Ppoll,
    /// `epoll_pwait2` on an empty set, with a timeout (Linux 5.11).
    EpollPwait2,
    /// `timerfd_settime` and the `read` that waits for it.
    Timerfd,
    /// `setitimer` and the wait for its signal.
    Itimer,
    /// `timer_settime` and the wait for its signal, sent to this thread.
    PosixTimer,
    /// `FUTEX_WAIT` with a timeout on a word that is never woken.
    Futex,
    /// libc's `usleep`.
    Usleep,
}

/// What a way of sleeping needs besides the calls.
#[derive(Debug)]
enum Kit {
    Nothing,
    Descriptor(OwnedFd),
    Signal(Blocked),
    Timer(i32, Blocked),
    Word(AtomicU32),
}

/// Sleeps for one length in one way.
#[derive(Debug)]
pub struct Sleeper {
    way: Way,
    length_ns: u64,
    kit: Kit,
}

impl Sleeper {
    /// Prepares to sleep for `length_ns`, whole microseconds, an hour at most.
    ///
    /// # Errors
    /// Those of what this way of sleeping needs: `ENOSYS` where the kernel lacks it. `Other` for
    /// `setitimer` in a process with several threads, any of which may get the signal.
    pub fn new(way: Way, length_ns: u64) -> io::Result<Sleeper> {
        let owned = |fd: libc::c_int| {
            checked(fd)?;
            // SAFETY: the descriptor is new and has no other owner.
            Ok::<_, io::Error>(Kit::Descriptor(unsafe { OwnedFd::from_raw_fd(fd) }))
        };
        let kit = match way {
            Way::Nanosleep | Way::ClockNanosleepAbs | Way::Select | Way::Ppoll | Way::Usleep => Kit::Nothing,
            // SAFETY: flags by value.
            Way::EpollPwait2 => owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?,
            // SAFETY: flags by value.
            Way::Timerfd => owned(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC) })?,
            Way::Itimer => match crate::thread::count() {
                1 => Kit::Signal(Blocked::new(libc::SIGALRM)?),
                n => return Err(io::Error::other(format!("one of {n} threads would get the signal"))),
            },
            Way::PosixTimer => {
                let signal = libc::SIGRTMIN() + 5;
                let blocked = Blocked::new(signal)?;
                Kit::Timer(make_timer(signal)?, blocked)
            }
            Way::Futex => Kit::Word(AtomicU32::new(0)),
        };
        Ok(Sleeper { way, length_ns, kit })
    }

    /// Sleeps once; returns how late it woke, in nanoseconds, negative when early. The call that
    /// sets a timer is part of the sleep, as in `nanosleep`.
    ///
    /// # Errors
    /// Those of the calls: `Interrupted` when a signal was caught, `InvalidData` when something
    /// other than the timeout ended the sleep.
    pub fn sleep(&self) -> io::Result<i64> {
        let target = now_ns() + self.length_ns;
        self.wait(target)?;
        Ok(now_ns() as i64 - target as i64)
    }

    fn wait(&self, target: u64) -> io::Result<()> {
        let mut length = timespec(self.length_ns);
        let mut short = timeval(self.length_ns);
        // SAFETY (of all calls below): pointers are null where the kernel takes null, or to owned
        // values of the right type.
        let ended = match (self.way, &self.kit) {
            // SAFETY: as above.
            (Way::Nanosleep, _) => unsafe { libc::nanosleep(&length, null_mut()) },
            (Way::ClockNanosleepAbs, _) => return until(target),
            // SAFETY: a number by value.
            (Way::Usleep, _) => unsafe { libc::usleep((self.length_ns / 1000) as libc::useconds_t) },
            // SAFETY: as above; no set has a descriptor in it.
            (Way::Select, _) => unsafe { libc::select(0, null_mut(), null_mut(), null_mut(), &mut short) },
            // SAFETY: as above; the array has no entries.
            (Way::Ppoll, _) => unsafe { libc::ppoll(null_mut(), 0, &length, std::ptr::null()) },
            (Way::EpollPwait2, Kit::Descriptor(fd)) => {
                let mut event = MaybeUninit::<libc::epoll_event>::zeroed();
                let mask = std::ptr::null::<libc::sigset_t>();
                let nr = libc::SYS_epoll_pwait2;
                // SAFETY: as above; there is room for the one event that is asked for.
                unsafe { libc::syscall(nr, fd.as_raw_fd(), event.as_mut_ptr(), 1, &length, mask, 8usize) as i32 }
            }
            (Way::Timerfd, Kit::Descriptor(fd)) => {
                let once = libc::itimerspec { it_interval: timespec(0), it_value: length };
                // SAFETY: as above.
                checked(unsafe { libc::timerfd_settime(fd.as_raw_fd(), 0, &once, null_mut()) })?;
                let mut expired = [0; 8];
                let got = read(fd.as_fd(), &mut expired)?;
                i32::from(got != expired.len() || u64::from_ne_bytes(expired) != 1)
            }
            (Way::Itimer, Kit::Signal(signal)) => {
                let once = libc::itimerval { it_interval: timeval(0), it_value: short };
                // SAFETY: as above; by number, since the type of the first argument differs between
                // libcs.
                let set = unsafe { libc::syscall(libc::SYS_setitimer, 0, &once, null_mut::<libc::itimerval>()) };
                checked(set)?;
                return signal.wait();
            }
            (Way::PosixTimer, Kit::Timer(timer, signal)) => {
                let once = libc::itimerspec { it_interval: timespec(0), it_value: length };
                let nr = libc::SYS_timer_settime;
                // SAFETY: as above.
                checked(unsafe { libc::syscall(nr, *timer, 0, &once, null_mut::<libc::itimerspec>()) })?;
                return signal.wait();
            }
            (Way::Futex, Kit::Word(word)) => {
                let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
                // SAFETY: as above; the word lives as long as the sleeper.
                let ended = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, 0, &mut length) };
                match io::Error::last_os_error().raw_os_error() {
                    Some(libc::ETIMEDOUT) if ended < 0 => 0,
                    // Woken by something unknown.
                    _ if ended == 0 => 1,
                    _ => -1,
                }
            }
            _ => return Err(io::Error::other("a sleeper without its kit")),
        };
        checked(ended)?;
        // Something other than the timeout: a ready descriptor, a wake-up, a timer that expired
        // twice.
        if ended == 0 { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        match &self.kit {
            // SAFETY: the timer belongs to this sleeper.
            Kit::Timer(timer, _) => drop(unsafe { libc::syscall(libc::SYS_timer_delete, *timer) }),
            Kit::Signal(_) => {
                let never = libc::itimerval { it_interval: timeval(0), it_value: timeval(0) };
                // SAFETY: an owned structure.
                unsafe { libc::syscall(libc::SYS_setitimer, 0, &never, null_mut::<libc::itimerval>()) };
            }
            _ => {}
        }
    }
}

/// A kernel timer that sends the signal to the calling thread. By number, because some systems have
/// the function in a separate library.
fn make_timer(signal: i32) -> io::Result<i32> {
    let mut event = MaybeUninit::<libc::sigevent>::zeroed();
    let mut timer: libc::c_int = 0;
    // SAFETY: a zeroed sigevent is legal, its fields are set before the call, and both live across
    // it.
    unsafe {
        let event = event.assume_init_mut();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal;
        event.sigev_notify_thread_id = libc::gettid();
        let at = std::ptr::from_mut(event);
        checked(libc::syscall(libc::SYS_timer_create, libc::CLOCK_MONOTONIC, at, &mut timer))?;
    }
    Ok(timer)
}

/// A signal that this thread waits for instead of catching.
struct Blocked {
    signal: i32,
    set: libc::sigset_t,
    before: libc::sigset_t,
}

impl std::fmt::Debug for Blocked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Blocked({})", self.signal)
    }
}

impl Blocked {
    fn new(signal: i32) -> io::Result<Blocked> {
        let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
        let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: `set` is initialised by sigemptyset before it is used; `before` is written by
        // pthread_sigmask, and is a legal, empty set where that failed.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), signal);
            match libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), before.as_mut_ptr()) {
                0 => Ok(Blocked { signal, set: set.assume_init(), before: before.assume_init() }),
                error => Err(io::Error::from_raw_os_error(error)),
            }
        }
    }

    fn wait(&self) -> io::Result<()> {
        // SAFETY: the set is initialised; nothing else is asked for.
        let got = unsafe { libc::sigwaitinfo(&self.set, null_mut()) };
        checked(got)?;
        if got == self.signal { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        let at_once = timespec(0);
        // SAFETY: initialised sets. A pending signal is consumed first, because its default action
        // would end the process.
        unsafe {
            libc::sigtimedwait(&self.set, null_mut(), &at_once);
            libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, null_mut());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAYS: [Way; 9] = [
        Way::Nanosleep,
        Way::ClockNanosleepAbs,
        Way::Select,
        Way::Ppoll,
        Way::EpollPwait2,
        Way::Timerfd,
        Way::PosixTimer,
        Way::Futex,
        Way::Usleep,
    ];

    fn never_early(way: Way) -> io::Result<()> {
        let sleeper = Sleeper::new(way, 100_000)?;
        for _ in 0..5 {
            let late = sleeper.sleep()?;
            assert!(late >= 0, "{way:?} woke {late} ns late");
        }
        Ok(())
    }

    #[test]
    fn a_time_is_cut_into_seconds_and_the_rest() {
        let (of_timer, of_day) = (timespec(3_000_004_005), timeval(3_000_004_005));
        assert_eq!((of_timer.tv_sec, of_timer.tv_nsec), (3, 4_005));
        assert_eq!((of_day.tv_sec, of_day.tv_usec), (3, 4));
        assert_eq!((timespec(999_999_999).tv_sec, timeval(999_999_999).tv_usec), (0, 999_999));
    }

    #[test]
    fn no_way_wakes_early() {
        for way in WAYS {
            match never_early(way) {
                Err(e) if e.raw_os_error() == Some(libc::ENOSYS) => {}
                other => other.unwrap_or_else(|e| panic!("{way:?}: {e}")),
            }
        }
    }

    #[test]
    fn an_interval_timer_needs_a_process_with_one_thread() {
        let child = crate::fork::fork(|| i32::from(never_early(Way::Itimer).is_err())).expect("fork");
        assert_eq!(child.wait().expect("wait").code(), Some(0));
        // The test runner has threads.
        if crate::thread::count() > 1 {
            assert!(Sleeper::new(Way::Itimer, 1000).is_err());
        }
    }

    #[test]
    fn a_pending_signal_is_consumed_before_it_can_end_the_process() {
        let sleeper = Sleeper::new(Way::PosixTimer, 1000).expect("a timer");
        let Kit::Timer(timer, _) = &sleeper.kit else { panic!("a timer") };
        let soon = libc::itimerspec { it_interval: timespec(0), it_value: timespec(1000) };
        // SAFETY: an owned structure; the timer is the sleeper's.
        unsafe { libc::syscall(libc::SYS_timer_settime, *timer, 0, &soon, null_mut::<libc::itimerspec>()) };
        until(now_ns() + 1_000_000).expect("a sleep");
        drop(sleeper);
    }

    /// From the kernel's list of timers, with clock and target, in a child that has no others.
    #[test]
    fn a_timer_signals_its_thread_by_the_monotonic_clock_and_goes_with_its_sleeper() {
        let timers = || std::fs::read_to_string("/proc/self/timers").ok();
        let exit = crate::testing::in_child(|| {
            let before = crate::signals::blocked();
            let (Some(none), Ok(sleeper)) = (timers(), Sleeper::new(Way::PosixTimer, 1000)) else { return 255 };
            let (one, signal) = (timers().unwrap_or_default(), libc::SIGRTMIN() + 5);
            let blocked = crate::signals::blocked();
            drop(sleeper);
            crate::testing::first_wrong(&[
                none.is_empty(),
                one.contains("ClockID: 1\n"),
                one.contains(&format!("notify: signal/tid.{}\n", crate::process::id())),
                one.contains(&format!("signal: {signal}/")),
                blocked.contains(&signal) && !before.contains(&signal),
                timers() == Some(String::new()),
                crate::signals::blocked() == before,
            ])
        });
        match exit {
            Some(255) => println!("skipped: the kernel does not list timers"),
            exit => assert_eq!(exit, Some(0)),
        }
    }

    /// The signal of a forgotten timer would end the process.
    #[test]
    fn an_interval_timer_is_stopped_with_its_sleeper() {
        let exit = crate::testing::in_child(|| {
            let before = crate::signals::blocked();
            let Ok(sleeper) = Sleeper::new(Way::Itimer, 1000) else { return 255 };
            let blocked = crate::signals::blocked().contains(&libc::SIGALRM);
            let long = libc::itimerval { it_interval: timeval(0), it_value: timeval(3_600_000_000_000) };
            // SAFETY: owned structures; zeroes are valid.
            let left = unsafe {
                libc::syscall(libc::SYS_setitimer, 0, &long, null_mut::<libc::itimerval>());
                drop(sleeper);
                let mut left = MaybeUninit::<libc::itimerval>::zeroed().assume_init();
                libc::syscall(libc::SYS_getitimer, 0, &raw mut left);
                left.it_value.tv_sec
            };
            crate::testing::first_wrong(&[blocked, left == 0, crate::signals::blocked() == before])
        });
        assert_eq!(exit, Some(0));
    }

    #[test]
    fn a_sleep_that_something_else_ended_is_an_error() {
        let word = Sleeper { way: Way::Futex, length_ns: 3_600_000_000_000, kit: Kit::Word(AtomicU32::new(1)) };
        assert!(word.sleep().is_err(), "a word that changed does not let anyone sleep");
        let timer = Sleeper::new(Way::EpollPwait2, 3_600_000_000_000).expect("an epoll");
        let Kit::Descriptor(epoll) = &timer.kit else { panic!("a descriptor") };
        let ready = crate::kernel_objects::eventfd().expect("an event counter");
        crate::io::write_full(ready.as_fd(), &1u64.to_ne_bytes()).expect("it is ready");
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
        // SAFETY: a valid event and two open descriptors.
        unsafe { libc::epoll_ctl(epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, ready.as_raw_fd(), &mut event) };
        match timer.sleep().map_err(|e| (e.kind(), e.raw_os_error())) {
            Err((_, Some(libc::ENOSYS))) => println!("skipped: no epoll_pwait2 here"),
            ended => assert_eq!(ended.map_err(|(kind, _)| kind), Err(io::ErrorKind::InvalidData)),
        }
    }

    /// By the clock of timers, which is not that of the harness.
    #[test]
    fn a_sleep_ends_at_a_time_of_the_clock_of_timers() {
        use rustix::time::{ClockId, clock_gettime};
        let ns = || {
            let t = clock_gettime(ClockId::Monotonic);
            t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
        };
        let seen = [ns(), now_ns(), ns()];
        assert!(seen.is_sorted(), "{seen:?}");
        let at = now_ns() + 2_000_000;
        until(at).expect("a sleep");
        assert!(ns() >= at);
        until(1).expect("a time that is over");
    }
}
