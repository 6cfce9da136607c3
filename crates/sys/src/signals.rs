//! Signals: the supervisor watches them through a descriptor, and the signal benchmarks install and
//! count them.
//!
//! # Safety
//! Signal sets and actions are owned and initialised before they are passed; the handlers touch
//! atomics, read a clock, and call `signal` and `kill`, all async-signal-safe.
#![expect(unsafe_code, reason = "signalfd, sigaction, tgkill")]

use crate::io::checked;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

/// Within this time, the same signal is one signal, in nanoseconds. `timeout` sends it to a program
/// and then to the group that the program is in; a person takes longer to mean it again.
const ONCE_NS: u64 = 1_000_000_000;

/// When a [`Watch`] last returned a signal.
static CAME_AT: AtomicU64 = AtomicU64::new(0);
/// A signal that came again, too late for a repeat: it ends the program once no watch exists.
static AGAIN: AtomicI32 = AtomicI32::new(0);
/// The number of watches.
static WATCHES: AtomicU32 = AtomicU32::new(0);

/// Handles a signal that a [`Watch`] has returned before.
extern "C" fn came_again(signal: libc::c_int) {
    if crate::sleep::now_ns().saturating_sub(CAME_AT.load(Ordering::SeqCst)) < ONCE_NS {
        return;
    }
    AGAIN.store(signal, Ordering::SeqCst);
    if WATCHES.load(Ordering::SeqCst) == 0 {
        take_effect(signal);
    }
}

/// Ends this process by a signal, as soon as it is not blocked.
fn take_effect(signal: i32) {
    restore_default(signal);
    // SAFETY: plain system call.
    unsafe { libc::kill(libc::getpid(), signal) };
}

/// Lets a signal that a watch returned take effect after all, as it would have without the watch:
/// on a handler of the program's, or by its default.
pub fn pass_on(signal: i32) {
    let ours = came_again as *const () as libc::sighandler_t;
    if action_of(signal).is_some_and(|action| action.sa_sigaction == ours) {
        restore_default(signal);
    }
    // SAFETY: plain system call.
    unsafe { libc::kill(libc::getpid(), signal) };
}

/// Whether a signal came that no watch has returned, or one came again that was no repeat. `watch`
/// is the descriptor of a [`Watch`], or a duplicate.
pub fn is_pending(watch: BorrowedFd<'_>) -> bool {
    AGAIN.load(Ordering::SeqCst) != 0 || crate::socket::is_ready(watch)
}

/// Signals as a readable descriptor, so that one `poll` waits for them and for everything else.
///
/// The signals stay blocked in this thread as long as this exists; `std::process` unblocks them in
/// the programs that it starts. After it is dropped, signals that arrived and were not read take
/// effect.
///
/// A signal that was returned is not blocked any more. From then on, also after the watch, its
/// repeats have no effect for a second. Later than that, it ends the program once no watch exists.
/// To leave repeats to the descriptor was rejected: it does not tell when they came, and what is
/// left to do after a signal may take longer than a second.
#[derive(Debug)]
pub struct Watch {
    fd: OwnedFd,
    /// What was blocked before.
    before: libc::sigset_t,
}

impl Watch {
    /// Watches for these signals.
    ///
    /// # Errors
    /// Those of `sigprocmask` and `signalfd`.
    pub fn new(signals: &[i32]) -> io::Result<Watch> {
        let (mut set, mut before) = (MaybeUninit::<libc::sigset_t>::zeroed(), MaybeUninit::<libc::sigset_t>::zeroed());
        // SAFETY: `set` is initialised by sigemptyset before it is used, `before` is zeroed, which
        // is a legal value, and written by pthread_sigmask; the descriptor is fresh and owned.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for &signal in signals {
                libc::sigaddset(set.as_mut_ptr(), signal);
            }
            let error = libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), before.as_mut_ptr());
            if error != 0 {
                return Err(io::Error::from_raw_os_error(error));
            }
            let before = before.assume_init();
            let fd = libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if fd < 0 {
                let error = io::Error::last_os_error();
                libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
                return Err(error);
            }
            WATCHES.fetch_add(1, Ordering::SeqCst);
            Ok(Watch { fd: OwnedFd::from_raw_fd(fd), before })
        }
    }

    /// In a fork of the process that watches: the signals take effect again as before the watch.
    pub fn forget_in_child(&self) {
        // SAFETY: the mask is the one that pthread_sigmask returned.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut()) };
    }

    /// The signal that came, if one did.
    pub fn next(&self) -> Option<i32> {
        let mut info = [0u8; size_of::<libc::signalfd_siginfo>()];
        let n = crate::io::read(self.fd.as_fd(), &mut info).ok()?;
        // The first field is `ssi_signo`.
        let signal = (n == info.len()).then(|| i32::from_ne_bytes([info[0], info[1], info[2], info[3]]))?;
        CAME_AT.store(crate::sleep::now_ns(), Ordering::SeqCst);
        // A signal with a handler of its own keeps it.
        if has_default(signal) && handle(signal, came_again, libc::SA_RESTART).is_ok() {
            unblock(Some(signal));
        }
        Some(signal)
    }
}

/// Unblocks one signal, or all, in this thread.
fn unblock(signal: Option<i32>) {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the set is initialised before it is used, and no old mask is asked for.
    unsafe {
        if let Some(signal) = signal {
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), signal);
        } else {
            libc::sigfillset(set.as_mut_ptr());
        }
        libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), std::ptr::null_mut());
    }
}

impl AsFd for Watch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.forget_in_child();
        if WATCHES.fetch_sub(1, Ordering::SeqCst) == 1 && AGAIN.load(Ordering::SeqCst) != 0 {
            take_effect(AGAIN.load(Ordering::SeqCst));
        }
    }
}

/// Whether this process ignores a signal, as under `nohup` SIGHUP. An ignored signal is still
/// queued where it is blocked, so a [`Watch`] would see it.
pub fn is_ignored(signal: i32) -> bool {
    action_of(signal).is_some_and(|action| action.sa_sigaction == libc::SIG_IGN)
}

/// The action of this process for a signal.
fn action_of(signal: i32) -> Option<libc::sigaction> {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a zeroed sigaction is legal, and is written by the call, which changes nothing.
    unsafe { (libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0).then(|| action.assume_init()) }
}

/// Whether a signal has its default action.
pub(crate) fn has_default(signal: i32) -> bool {
    action_of(signal).is_some_and(|action| action.sa_sigaction == libc::SIG_DFL)
}

/// The signals that are blocked in the calling thread.
#[cfg(test)]
pub(crate) fn blocked() -> Vec<i32> {
    let mut mask = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: there is no new set, and the room is that of a set, which zeroes are as well.
    unsafe {
        libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), mask.as_mut_ptr());
        let mask = mask.assume_init();
        (1..=64).filter(|signal| libc::sigismember(&raw const mask, *signal) == 1).collect()
    }
}

/// The first of the two signals that are free for programs to use.
pub const USER_1: i32 = libc::SIGUSR1;
/// The second.
pub const USER_2: i32 = libc::SIGUSR2;

/// Makes a write beyond `RLIMIT_FSIZE` fail with `EFBIG` instead of ending this process by SIGXFSZ.
///
/// By a handler that does nothing, not by ignoring the signal: a program that this one starts has
/// the default action again, while it would inherit an ignored signal.
///
/// # Errors
/// Those of `sigaction`.
pub fn survive_file_limit() -> io::Result<()> {
    extern "C" fn nothing(_signal: libc::c_int) {}
    if is_ignored(libc::SIGXFSZ) {
        return Ok(());
    }
    handle(libc::SIGXFSZ, nothing, libc::SA_RESTART)
}

static CAUGHT: AtomicU64 = AtomicU64::new(0);

extern "C" fn count(_signal: libc::c_int) {
    CAUGHT.fetch_add(1, Ordering::Relaxed);
}

/// The number of signals that the counting handler has caught in this process.
pub fn caught() -> u64 {
    CAUGHT.load(Ordering::Relaxed)
}

/// Installs the counting handler.
///
/// # Errors
/// Those of `sigaction`.
pub fn count_arrivals(signal: i32) -> io::Result<()> {
    handle(signal, count, 0)
}

/// Installs an async-signal-safe handler. Without SA_RESTART in `flags` it interrupts calls that
/// block.
pub(crate) fn handle(signal: i32, handler: extern "C" fn(libc::c_int), flags: libc::c_int) -> io::Result<()> {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a zeroed sigaction is legal; all handlers of this crate are async-signal-safe.
    checked(unsafe {
        (*action.as_mut_ptr()).sa_sigaction = handler as libc::sighandler_t;
        (*action.as_mut_ptr()).sa_flags = flags;
        libc::sigaction(signal, action.as_ptr(), std::ptr::null_mut())
    })
}

/// The kernel's own `struct sigaction`, for the raw system call.
#[repr(C)]
#[derive(Debug)]
pub struct RawAction {
    handler: usize,
    flags: u64,
    restorer: usize,
    mask: u64,
}

impl RawAction {
    /// An action that names the counting handler. Without a restorer it must never be delivered:
    /// `signal.install` installs it for a signal that is never sent, then restores the default.
    pub fn never_delivered() -> RawAction {
        RawAction { handler: count as extern "C" fn(libc::c_int) as usize, flags: 0, restorer: 0, mask: 0 }
    }

    /// `rt_sigaction` by number; returns what the kernel returned.
    #[inline]
    pub fn install(&self, signal: i32) -> isize {
        // SAFETY: the action is a valid kernel sigaction (the restorer's place is unused padding
        // where the architecture has none, and the mask is the last field the kernel reads), no old
        // action is asked for, and the set size is the kernel's.
        unsafe {
            crate::arch::syscall4(
                libc::SYS_rt_sigaction as usize,
                signal as usize,
                std::ptr::from_ref(self) as usize,
                0,
                size_of::<u64>(),
            )
        }
    }
}

/// Two actions for one signal that replace each other in turn; the kernel returns each time which
/// it replaced.
///
/// Like [`RawAction::never_delivered`], only for a signal that is never sent. Dropping it restores
/// the default action.
#[derive(Debug)]
pub struct Swap {
    signal: i32,
    actions: [RawAction; 2],
    replaced: RawAction,
    next: usize,
}

impl Swap {
    /// Installs the first of the two.
    ///
    /// # Errors
    /// Those of `rt_sigaction`.
    pub fn new(signal: i32) -> io::Result<Swap> {
        // Distinguished by their flags, which have the same place in the kernel's structure on
        // every architecture.
        let other = RawAction { flags: libc::SA_RESTART as u64, ..RawAction::never_delivered() };
        let actions = [RawAction::never_delivered(), other];
        match actions[0].install(signal) {
            0 => Ok(Swap { signal, actions, replaced: RawAction::never_delivered(), next: 1 }),
            error => Err(io::Error::from_raw_os_error(-error as i32)),
        }
    }

    /// `rt_sigaction` by number: installs the one that is not installed, and replaces the other.
    /// Returns whether the call succeeded and the replaced one was the other of the two.
    #[inline]
    pub fn turn(&mut self) -> bool {
        // SAFETY: as in `RawAction::install`; the old action is written to a structure of the same
        // layout that is exclusively borrowed.
        let result = unsafe {
            crate::arch::syscall4(
                libc::SYS_rt_sigaction as usize,
                self.signal as usize,
                std::ptr::from_ref(&self.actions[self.next]) as usize,
                std::ptr::from_mut(&mut self.replaced) as usize,
                size_of::<u64>(),
            )
        };
        self.next ^= 1;
        let other = &self.actions[self.next];
        result == 0 && self.replaced.handler == other.handler && self.replaced.flags == other.flags
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        restore_default(self.signal);
    }
}

/// The largest frame that the kernel pushes on the stack to deliver a signal on this CPU, in bytes;
/// its size follows the vector registers. `None` where the kernel does not say.
pub fn largest_frame() -> Option<u64> {
    /// `linux/auxvec.h`; x86 and 64-bit Arm have it.
    const AT_MINSIGSTKSZ: libc::c_ulong = 51;
    // SAFETY: the argument is a key by value.
    Some(unsafe { libc::getauxval(AT_MINSIGSTKSZ) }).filter(|n| *n > 0)
}

/// Restores the default action of a signal.
pub fn restore_default(signal: i32) {
    // SAFETY: SIG_DFL is a legal disposition.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// A thread of this process that signals are sent to, looked up before timing starts.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    process: i32,
    thread: i32,
}

impl Target {
    /// The calling thread.
    pub fn own() -> Target {
        // SAFETY: no arguments.
        Target { process: crate::process::id(), thread: unsafe { libc::gettid() } }
    }

    /// `tgkill` to this thread, by number. An unblocked signal to the caller itself is delivered
    /// before the call returns.
    #[inline]
    pub fn send(&self, signal: i32) -> isize {
        // SAFETY: three integers by value.
        unsafe {
            crate::arch::syscall3(
                libc::SYS_tgkill as usize,
                self.process as usize,
                self.thread as usize,
                signal as usize,
            )
        }
    }
}

/// Keeps children that end until they are waited for, even if the parent of this program ignored
/// SIGCHLD, which survives `execve` and makes every `wait` fail.
pub fn keep_children() {
    restore_default(libc::SIGCHLD);
}

/// A write to a pipe that nobody reads is an error instead of the end of this process.
pub fn ignore_broken_pipes() {
    // SAFETY: ignoring a signal runs no code of ours.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
}

/// Takes back what this program inherited: signals that are ignored or blocked, which would never
/// come. SIGPIPE is not touched, which Rust itself ignores.
pub fn take_defaults() {
    for signal in (1..=libc::SIGRTMAX()).filter(|signal| *signal != libc::SIGPIPE && is_ignored(*signal)) {
        restore_default(signal);
    }
    unblock(None);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swap_notices_what_it_did_not_install() {
        // A real-time signal: the tests of one process share their handlers.
        let signal = libc::SIGRTMIN() + 3;
        let mut swap = Swap::new(signal).expect("rt_sigaction");
        assert!((0..10).all(|_| swap.turn()));
        restore_default(signal);
        assert!(!swap.turn());
        assert!(swap.turn());
    }

    #[test]
    fn a_watched_signal_waits_and_takes_effect_after_the_watch() {
        let signal = libc::SIGRTMIN() + 5;
        count_arrivals(signal).expect("sigaction");
        let (me, before) = (Target::own(), caught());
        let watch = Watch::new(&[signal]).expect("signalfd");
        assert!(!is_pending(watch.as_fd()));
        assert_eq!((me.send(signal), is_pending(watch.as_fd())), (0, true));
        assert_eq!((watch.next(), watch.next()), (Some(signal), None));
        assert_eq!(me.send(signal), 0);
        let while_watched = caught();
        drop(watch);
        // Other tests of this process count signals of their own.
        assert!(caught() > while_watched && while_watched >= before);
        restore_default(signal);
        assert!(!is_ignored(signal));
    }

    /// In a child: sends itself SIGTERM, and again during the watch and after it, as if `passed_ns`
    /// had passed since the first.
    fn sent_again(passed_ns: u64, during: bool) -> crate::process::Exit {
        let child = crate::fork::fork(|| {
            let me = Target::own();
            let watch = Watch::new(&[libc::SIGTERM]).expect("signalfd");
            me.send(libc::SIGTERM);
            let first = watch.next();
            CAME_AT.fetch_sub(passed_ns, Ordering::SeqCst);
            if during {
                me.send(libc::SIGTERM);
            }
            let (pending, next) = (is_pending(watch.as_fd()), watch.next());
            let is_late = passed_ns >= ONCE_NS;
            if (first, next, pending) != (Some(libc::SIGTERM), None, during && is_late) {
                return 1;
            }
            drop(watch);
            if !during {
                me.send(libc::SIGTERM);
            }
            7
        });
        child.expect("fork").wait().expect("wait")
    }

    #[test]
    fn the_same_signal_again_is_one_signal_for_a_second_and_then_ends_the_program() {
        for during in [true, false] {
            assert_eq!(sent_again(0, during).code(), Some(7), "{during}");
            assert_eq!(sent_again(ONCE_NS, during).signal(), Some(libc::SIGTERM), "{during}");
        }
    }

    #[test]
    fn a_program_takes_back_what_it_inherited() {
        let exit = crate::testing::in_child(|| {
            let (ignored, waits) = ([libc::SIGALRM, libc::SIGUSR1], [libc::SIGUSR2, libc::SIGALRM]);
            for signal in ignored {
                // SAFETY: SIG_IGN is a legal disposition.
                unsafe { libc::signal(signal, libc::SIG_IGN) };
            }
            std::mem::forget(Watch::new(&waits));
            let before = waits.iter().all(|signal| blocked().contains(signal));
            let piped = is_ignored(libc::SIGPIPE);
            take_defaults();
            let default = ignored.iter().all(|signal| has_default(*signal));
            crate::testing::first_wrong(&[before, default, blocked().is_empty(), is_ignored(libc::SIGPIPE) == piped])
        });
        assert_eq!(exit, Some(0));
    }

    #[test]
    fn an_ignored_signal_is_reported() {
        let child = crate::fork::fork(|| {
            // SAFETY: SIG_IGN is a legal disposition.
            unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
            i32::from(!is_ignored(libc::SIGHUP) || is_ignored(libc::SIGTERM))
        });
        assert_eq!(child.expect("fork").wait().expect("wait").code(), Some(0));
    }

    #[test]
    fn a_swap_reports_a_signal_that_does_not_exist() {
        assert_eq!(Swap::new(1000).map(|_| ()).map_err(|e| e.raw_os_error()), Err(Some(libc::EINVAL)));
    }

    #[test]
    fn every_signal_sent_to_this_thread_is_caught_before_the_call_returns() {
        let signal = libc::SIGRTMIN() + 4;
        count_arrivals(signal).expect("sigaction");
        let (me, before) = (Target::own(), caught());
        for n in 1..=100 {
            assert_eq!(me.send(signal), 0);
            assert!(caught() >= before + n);
        }
        assert_eq!(me.send(0), 0);
        restore_default(signal);
    }

    #[test]
    fn a_watch_blocks_its_signals_and_afterwards_what_was_blocked_before() {
        let signal = libc::SIGRTMIN() + 6;
        let before = blocked();
        let outer = Watch::new(&[signal]).expect("signalfd");
        let one = blocked();
        let inner = Watch::new(&[signal, libc::SIGUSR2]).expect("signalfd");
        let both = blocked();
        assert!(one.contains(&signal) && !one.contains(&libc::SIGUSR2) && both.contains(&libc::SIGUSR2));
        drop(inner);
        assert_eq!(blocked(), one);
        drop(outer);
        assert_eq!(blocked(), before);
    }

    /// With SA_RESTART no signal would interrupt a call that waits.
    #[test]
    fn a_handler_interrupts_until_it_is_removed() {
        let signal = libc::SIGRTMIN() + 8;
        assert!(has_default(signal));
        count_arrivals(signal).expect("sigaction");
        let action = action_of(signal).expect("sigaction");
        let handler = count as extern "C" fn(libc::c_int) as usize;
        assert_eq!((action.sa_sigaction, action.sa_flags & (libc::SA_RESTART | libc::SA_RESETHAND)), (handler, 0));
        restore_default(signal);
        assert!(has_default(signal));
        let swap = Swap::new(signal).expect("rt_sigaction");
        assert!(!has_default(signal));
        drop(swap);
        assert!(has_default(signal));
        assert_eq!(count_arrivals(libc::SIGKILL).map_err(|e| e.raw_os_error()), Err(Some(libc::EINVAL)));
    }

    #[test]
    fn a_write_beyond_the_limit_of_a_file_fails_and_ends_nothing() {
        use rustix::process::{Resource, Rlimit, setrlimit};
        use std::os::fd::AsRawFd;
        let scratch = crate::testing::Scratch::new("signals-file-limit");
        let path = scratch.0.join("file");
        let exit = crate::testing::in_child(|| {
            let limit = Rlimit { current: Some(10), maximum: Some(10) };
            let set = survive_file_limit().is_ok() && setrlimit(Resource::Fsize, limit).is_ok();
            let Ok(file) = std::fs::File::create(&path) else { return 100 };
            // SAFETY: the buffer is as long as it is said to be, and the descriptor is open.
            let write = || unsafe { libc::write(file.as_raw_fd(), c"0123456789ab".as_ptr().cast(), 12) };
            let cut = write() == 10;
            let refused = write() == -1 && io::Error::last_os_error().raw_os_error() == Some(libc::EFBIG);
            // A program that is started from here has the default action, unlike with SIG_IGN.
            crate::testing::first_wrong(&[set, cut, refused, !is_ignored(libc::SIGXFSZ)])
        });
        assert_eq!(exit, Some(0));
    }

    #[test]
    fn children_are_kept_even_if_sigchld_was_ignored() {
        let exit = crate::testing::in_child(|| {
            // SAFETY: SIG_IGN is a legal disposition.
            unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
            let ignored = is_ignored(libc::SIGCHLD);
            keep_children();
            let kept =
                crate::fork::fork(|| 3).and_then(crate::fork::Child::wait).is_ok_and(|exit| exit.code() == Some(3));
            crate::testing::first_wrong(&[ignored, has_default(libc::SIGCHLD), kept])
        });
        assert_eq!(exit, Some(0));
    }

    /// The kernel's own list: pairs of words, the key first.
    #[test]
    fn the_largest_frame_is_that_of_the_auxiliary_vector() {
        let Ok(list) = std::fs::read("/proc/self/auxv") else { return println!("skipped: no /proc") };
        let words: Vec<usize> =
            list.chunks_exact(size_of::<usize>()).map(|word| word.try_into().map_or(0, usize::from_ne_bytes)).collect();
        let listed = words.chunks_exact(2).find(|pair| pair[0] == 51).map(|pair| pair[1] as u64);
        assert_eq!(largest_frame(), listed);
        assert!(listed.is_none_or(|bytes| (500..1 << 20).contains(&bytes)), "{listed:?}");
    }
}
