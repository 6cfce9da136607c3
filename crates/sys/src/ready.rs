//! Which of many descriptors are ready, by number; and things that become ready.
//!
//! The calls are those that every architecture has: `pselect6`, `ppoll` and `epoll_pwait` without a
//! signal mask. `select`, `poll` and `epoll_wait` are the same code in the kernel, where they exist
//! at all (`docs/methods/operating-system.md#readiness`).
//!
//! # Safety
//! Sets, arrays and timeouts are owned, initialised, and passed with their true length. A
//! descriptor that is closed in the meantime makes a result wrong, but no memory unsafe: the kernel
//! gets numbers.
#![expect(unsafe_code, reason = "raw pselect6, ppoll, epoll_pwait, epoll_ctl")]

use crate::arch::{syscall4, syscall5, syscall6};
use crate::process::limit;
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// A way to ask, without waiting, which of some descriptors are readable.
pub trait Asking {
    /// Asks; returns the number that are ready, or a negative error number.
    fn ask(&mut self) -> isize;
    /// The ones that the last call returned, by their position among those asked about.
    fn ready(&self) -> Vec<usize>;
}

const NOW: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 0 };

/// `select` can only ask about numbers below this.
pub const SELECT_LIMIT: usize = libc::FD_SETSIZE;

const WORD: usize = usize::BITS as usize;

type FdSet = [usize; SELECT_LIMIT / WORD];

/// `select` for reading. The kernel overwrites the set, so each call starts by copying it.
#[derive(Debug)]
pub struct Select {
    fds: Vec<usize>,
    wanted: FdSet,
    answer: FdSet,
    /// The highest number plus one: how far the kernel scans.
    numbers: usize,
}

impl Select {
    /// Over these; fails with the first number that is too high.
    ///
    /// # Errors
    /// That number: at least [`SELECT_LIMIT`].
    pub fn over(fds: &[BorrowedFd<'_>]) -> Result<Select, usize> {
        let fds: Vec<usize> = fds.iter().map(|fd| fd.as_raw_fd() as usize).collect();
        let highest = fds.iter().copied().max().unwrap_or(0);
        if highest >= SELECT_LIMIT {
            return Err(highest);
        }
        let mut wanted = FdSet::default();
        for fd in &fds {
            wanted[fd / WORD] |= 1 << (fd % WORD);
        }
        Ok(Select { fds, wanted, answer: FdSet::default(), numbers: highest + 1 })
    }

    /// The number of descriptors that the kernel scans.
    pub fn numbers(&self) -> usize {
        self.numbers
    }
}

impl Asking for Select {
    #[inline]
    fn ask(&mut self) -> isize {
        let words = self.numbers.div_ceil(WORD);
        self.answer[..words].copy_from_slice(&self.wanted[..words]);
        let answer = self.answer.as_mut_ptr() as usize;
        let now = std::ptr::from_ref(&NOW) as usize;
        // SAFETY: the set holds `numbers` bits; a timeout of zero is not written back; no mask.
        unsafe { syscall6(libc::SYS_pselect6 as usize, self.numbers, answer, 0, 0, now, 0) }
    }

    fn ready(&self) -> Vec<usize> {
        (0..self.fds.len()).filter(|i| self.answer[self.fds[*i] / WORD] >> (self.fds[*i] % WORD) & 1 == 1).collect()
    }
}

/// `poll` for reading.
#[derive(Debug)]
pub struct Poll(Vec<libc::pollfd>);

impl Poll {
    /// Over these.
    pub fn over(fds: &[BorrowedFd<'_>]) -> Poll {
        Poll(fds.iter().map(|fd| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 }).collect())
    }
}

impl Asking for Poll {
    #[inline]
    fn ask(&mut self) -> isize {
        let now = std::ptr::from_ref(&NOW) as usize;
        // SAFETY: the array is as long as it says; a timeout of zero is not written back; no mask.
        unsafe { syscall5(libc::SYS_ppoll as usize, self.0.as_mut_ptr() as usize, self.0.len(), now, 0, 0) }
    }

    fn ready(&self) -> Vec<usize> {
        (0..self.0.len()).filter(|i| self.0[*i].revents & libc::POLLIN != 0).collect()
    }
}

/// `epoll` for reading, level-triggered unless [`Epoll::add_edge`] says otherwise.
#[derive(Debug)]
pub struct Epoll {
    fd: OwnedFd,
    events: Vec<libc::epoll_event>,
    answered: usize,
}

const EVENT: libc::epoll_event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };

impl Epoll {
    /// Over these, with space for all of them in one result.
    ///
    /// # Errors
    /// Those of `epoll_create1` and `epoll_ctl`: `ENOSPC` beyond the user's `max_user_watches`.
    pub fn over(fds: &[BorrowedFd<'_>]) -> io::Result<Epoll> {
        // SAFETY: no pointers; the descriptor is new and has no other owner.
        let fd = unsafe {
            let fd = libc::epoll_create1(libc::EPOLL_CLOEXEC);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd)
        };
        let epoll = Epoll { fd, events: vec![EVENT; fds.len().max(1)], answered: 0 };
        for (place, fd) in fds.iter().enumerate() {
            match epoll.control(libc::EPOLL_CTL_ADD, *fd, place) {
                0 => {}
                error => return Err(io::Error::from_raw_os_error(-error as i32)),
            }
        }
        Ok(epoll)
    }

    #[inline]
    fn control(&self, operation: i32, fd: BorrowedFd<'_>, place: usize) -> isize {
        self.control_as(operation, fd, libc::epoll_event { u64: place as u64, ..EVENT })
    }

    #[inline]
    fn control_as(&self, operation: i32, fd: BorrowedFd<'_>, event: libc::epoll_event) -> isize {
        let at = std::ptr::from_ref(&event) as usize;
        let (own, fd) = (self.fd.as_raw_fd() as usize, fd.as_raw_fd() as usize);
        // SAFETY: the event lives across the call.
        unsafe { syscall4(libc::SYS_epoll_ctl as usize, own, operation as usize, fd, at) }
    }

    /// `epoll_ctl`: adds one, which results name by this position; 0 or a negative error number.
    #[inline]
    pub fn add(&self, fd: BorrowedFd<'_>, place: usize) -> isize {
        self.control(libc::EPOLL_CTL_ADD, fd, place)
    }

    /// As [`Epoll::add`], edge-triggered: it is reported once for each time that something arrives.
    #[inline]
    pub fn add_edge(&self, fd: BorrowedFd<'_>, place: usize) -> isize {
        let events = EVENT.events | libc::EPOLLET as u32;
        self.control_as(libc::EPOLL_CTL_ADD, fd, libc::epoll_event { events, u64: place as u64 })
    }

    /// As [`Epoll::add`]: of several `epoll`s that wait for it so, what arrives wakes one
    /// (`EPOLLEXCLUSIVE`, Linux 4.5).
    pub fn add_exclusive(&self, fd: BorrowedFd<'_>, place: usize) -> isize {
        let events = EVENT.events | libc::EPOLLEXCLUSIVE as u32;
        self.control_as(libc::EPOLL_CTL_ADD, fd, libc::epoll_event { events, u64: place as u64 })
    }

    /// Space for so many in one result.
    pub fn make_room(&mut self, most: usize) {
        self.events.resize(most.max(1), EVENT);
    }

    /// Waits until at least one is ready; the positions of those that are, as many as there is
    /// space for.
    ///
    /// # Errors
    /// Those of `epoll_pwait`; an interrupted call is made again.
    #[inline]
    pub fn wait(&mut self) -> io::Result<impl Iterator<Item = usize> + '_> {
        let (own, room) = (self.fd.as_raw_fd() as usize, self.events.as_mut_ptr() as usize);
        self.answered = loop {
            // SAFETY: the buffer is as long as it says; -1 waits without a limit; no mask.
            let answer =
                unsafe { syscall6(libc::SYS_epoll_pwait as usize, own, room, self.events.len(), usize::MAX, 0, 0) };
            match answer {
                0.. => break answer as usize,
                error if error == -(libc::EINTR as isize) => {}
                error => return Err(io::Error::from_raw_os_error(-error as i32)),
            }
        };
        Ok(self.events[..self.answered].iter().map(|event| event.u64 as usize))
    }

    /// `epoll_ctl`: modifies one without a change.
    #[inline]
    pub fn modify(&self, fd: BorrowedFd<'_>, place: usize) -> isize {
        self.control(libc::EPOLL_CTL_MOD, fd, place)
    }

    /// `epoll_ctl`: no longer this one.
    #[inline]
    pub fn remove(&self, fd: BorrowedFd<'_>) -> isize {
        self.control(libc::EPOLL_CTL_DEL, fd, 0)
    }
}

impl Asking for Epoll {
    #[inline]
    fn ask(&mut self) -> isize {
        let (own, room) = (self.fd.as_raw_fd() as usize, self.events.as_mut_ptr() as usize);
        // SAFETY: the buffer is as long as it says; no mask.
        let answer = unsafe { syscall6(libc::SYS_epoll_pwait as usize, own, room, self.events.len(), 0, 0, 0) };
        self.answered = answer.max(0) as usize;
        answer
    }

    fn ready(&self) -> Vec<usize> {
        let mut all: Vec<usize> = self.events[..self.answered].iter().map(|event| event.u64 as usize).collect();
        all.sort_unstable();
        all
    }
}

/// A timer that becomes readable when it expires (`timerfd`), not started.
///
/// # Errors
/// Those of `timerfd_create`.
pub fn timer() -> io::Result<OwnedFd> {
    Ok(rustix::time::timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?)
}

/// Lets a timer expire in a nanosecond.
///
/// # Errors
/// Those of `timerfd_settime`.
pub fn expire(timer: BorrowedFd<'_>) -> io::Result<()> {
    let moment = Timespec { tv_sec: 0, tv_nsec: 1 };
    let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: moment };
    rustix::time::timerfd_settime(timer, TimerfdTimerFlags::empty(), &once)?;
    Ok(())
}

/// The same open file under a number of at least `floor`; the old number is free afterwards.
///
/// # Errors
/// Those of `fcntl`: `EMFILE`, or `EINVAL` where the floor is beyond the limit.
pub fn move_up(fd: OwnedFd, floor: usize) -> io::Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(&fd, floor as i32)?)
}

/// Raises the limit of descriptor numbers of this process to `wanted`, or to the hard limit, which
/// it returns where that is lower.
///
/// # Errors
/// The hard limit, where that is below `wanted`.
pub fn allow_descriptors(wanted: u64) -> Result<(), u64> {
    // Where it cannot be read, making the descriptors shows it.
    let Ok(limit) = limit(Resource::Nofile) else { return Ok(()) };
    if limit.current.is_none_or(|soft| soft >= wanted) {
        return Ok(());
    }
    let most = limit.maximum.unwrap_or(u64::MAX);
    let raised = Rlimit { current: Some(wanted), maximum: limit.maximum };
    if most < wanted || setrlimit(Resource::Nofile, raised).is_err() { Err(most) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{pipe, write_full};
    use rustix::process::getrlimit;
    use std::os::fd::AsFd;

    #[test]
    fn select_poll_and_epoll_agree() {
        let pipes: Vec<_> = (0..70).map(|_| pipe().expect("pipe")).collect();
        let fds: Vec<_> = pipes.iter().map(|(near, _)| near.as_fd()).collect();
        let mut ways: [Box<dyn Asking>; 3] = [
            Box::new(Select::over(&fds).expect("low numbers")),
            Box::new(Poll::over(&fds)),
            Box::new(Epoll::over(&fds).expect("epoll")),
        ];
        for ready in [&[][..], &[3], &[3, 69]] {
            if let Some(last) = ready.last() {
                write_full(pipes[*last].1.as_fd(), &[1]).expect("write");
            }
            for way in &mut ways {
                // Twice: level-triggered readiness stays.
                assert_eq!((way.ask(), way.ask()), (ready.len() as isize, ready.len() as isize));
                assert_eq!(way.ready(), ready);
            }
        }
    }

    #[test]
    fn counters_and_timers_become_ready() {
        let (counter, timer) = (crate::kernel_objects::eventfd().expect("eventfd"), timer().expect("timerfd"));
        let fds = [counter.as_fd(), timer.as_fd()];
        let mut poll = Poll::over(&fds);
        assert_eq!(poll.ask(), 0);
        write_full(counter.as_fd(), &1u64.to_ne_bytes()).expect("write");
        expire(timer.as_fd()).expect("timerfd_settime");
        while poll.ask() < 2 {}
        assert_eq!(poll.ready(), [0, 1]);
    }

    #[test]
    fn a_member_of_an_epoll_can_leave() {
        let (near, far) = pipe().expect("pipe");
        write_full(far.as_fd(), &[1]).expect("write");
        let mut epoll = Epoll::over(&[]).expect("epoll");
        assert_eq!(epoll.add(near.as_fd(), 7), 0);
        assert_eq!(epoll.add(near.as_fd(), 7), -libc::EEXIST as isize);
        assert_eq!((epoll.modify(near.as_fd(), 8), epoll.ask(), epoll.ready()), (0, 1, vec![8]));
        assert_eq!((epoll.remove(near.as_fd()), epoll.ask()), (0, 0));
        assert_eq!(epoll.remove(near.as_fd()), -libc::ENOENT as isize);
    }

    /// What has arrived and was not read is told again, or once.
    #[test]
    fn an_edge_is_told_once_and_a_level_as_long_as_it_lasts() {
        let (near, far) = pipe().expect("pipe");
        write_full(far.as_fd(), &[1]).expect("write");
        let mut level = Epoll::over(&[near.as_fd()]).expect("epoll");
        let mut edge = Epoll::over(&[]).expect("epoll");
        assert_eq!(edge.add_edge(near.as_fd(), 5), 0);
        for told in [vec![0], vec![0]] {
            assert_eq!(level.wait().expect("it is ready").collect::<Vec<_>>(), told);
        }
        assert_eq!(edge.wait().expect("it is ready").collect::<Vec<_>>(), [5]);
        assert_eq!(edge.ask(), 0);
        write_full(far.as_fd(), &[1]).expect("write");
        assert_eq!(edge.wait().expect("it is ready again").collect::<Vec<_>>(), [5]);
    }

    #[test]
    fn numbers_beyond_what_select_can_name_are_refused() {
        if let Err(most) = allow_descriptors(SELECT_LIMIT as u64 + 64) {
            return eprintln!("no more than {most} descriptors are available here");
        }
        let (near, _far) = pipe().expect("pipe");
        let high = move_up(near, SELECT_LIMIT).expect("F_DUPFD");
        let number = high.as_raw_fd() as usize;
        assert!(number >= SELECT_LIMIT);
        assert_eq!(Select::over(&[high.as_fd()]).map(|s| s.numbers()), Err(number));
        assert!(allow_descriptors(u64::MAX - 1).is_err());
    }

    /// What `/proc/self/fdinfo` says of a timer.
    #[test]
    fn a_timer_expires_once_and_by_the_monotonic_clock() {
        let timer = timer().expect("timerfd");
        let path = format!("/proc/self/fdinfo/{}", timer.as_raw_fd());
        let clock = |text: &str| {
            let of =
                |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(|rest| rest.trim().to_owned());
            (of("clockid:"), of("it_interval:"))
        };
        expire(timer.as_fd()).expect("timerfd_settime");
        let mut expired = [0; 8];
        assert_eq!(crate::io::read(timer.as_fd(), &mut expired).expect("it expires"), 8);
        assert_eq!(u64::from_ne_bytes(expired), 1);
        if let Some((id, interval)) = std::fs::read_to_string(path).ok().map(|text| clock(&text)) {
            assert!(id.is_none_or(|id| id == "1"), "another clock");
            assert!(interval.is_none_or(|interval| interval == "(0, 0)"), "it expires again");
        }
    }

    #[test]
    fn move_up_leaves_one_high_number() {
        let (near, far) = pipe().expect("pipe");
        let high = move_up(near, 100).expect("F_DUPFD");
        assert!(high.as_raw_fd() >= 100);
        assert!(rustix::io::fcntl_getfd(&high).expect("F_GETFD").contains(rustix::io::FdFlags::CLOEXEC));
        write_full(far.as_fd(), &[1]).expect("it is the same pipe");
        assert_eq!(crate::io::read(high.as_fd(), &mut [0]).expect("read"), 1);
    }

    /// In a child, because it changes its limits.
    #[test]
    fn descriptors_are_allowed_up_to_the_hard_limit() {
        let exit = crate::testing::in_child(|| {
            let set =
                |soft, hard| setrlimit(Resource::Nofile, Rlimit { current: Some(soft), maximum: Some(hard) }).is_ok();
            let soft = || getrlimit(Resource::Nofile).current;
            let low = set(200, 300);
            let same = allow_descriptors(150) == Ok(()) && soft() == Some(200);
            let more = allow_descriptors(250) == Ok(()) && soft() == Some(250);
            let most = allow_descriptors(301) == Err(300) && soft() == Some(250);
            let all = allow_descriptors(300) == Ok(()) && soft() == Some(300);
            crate::testing::first_wrong(&[low, same, more, most, all, getrlimit(Resource::Nofile).maximum == Some(300)])
        });
        assert_eq!(exit, Some(0));
    }
}
