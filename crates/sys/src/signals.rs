//! Signals: watched by the supervisor through a descriptor, installed and counted by the signal benchmarks.
//!
//! # Safety
//! Signal sets and actions are owned and initialised before they are passed; the only handler adds to an atomic.
#![expect(unsafe_code, reason = "signalfd, sigaction, tgkill")]

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// Signals turned into a readable descriptor, so that one `poll` waits for them and for everything else.
///
/// The signals stay blocked in this process; `std::process` unblocks them in the programs that it starts.
#[derive(Debug)]
pub struct Watch(OwnedFd);

impl Watch {
    /// Watches for these signals.
    ///
    /// # Errors
    /// Those of `sigprocmask` and `signalfd`.
    pub fn new(signals: &[i32]) -> io::Result<Watch> {
        let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: `set` is initialised by sigemptyset before it is used; the descriptor is fresh and owned.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for &signal in signals {
                libc::sigaddset(set.as_mut_ptr(), signal);
            }
            let error = libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut());
            if error != 0 {
                return Err(io::Error::from_raw_os_error(error));
            }
            let fd = libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(Watch(OwnedFd::from_raw_fd(fd))) }
        }
    }

    /// The signal that came, if one did.
    pub fn next(&self) -> Option<i32> {
        let mut info = [0u8; size_of::<libc::signalfd_siginfo>()];
        let n = crate::io::read(self.0.as_fd(), &mut info).ok()?;
        // The first field is `ssi_signo`.
        (n == info.len()).then(|| i32::from_ne_bytes([info[0], info[1], info[2], info[3]]))
    }
}

impl AsFd for Watch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

static CAUGHT: AtomicU64 = AtomicU64::new(0);

extern "C" fn count(_signal: libc::c_int) {
    CAUGHT.fetch_add(1, Ordering::Relaxed);
}

/// How many signals the counting handler has caught in this process.
pub fn caught() -> u64 {
    CAUGHT.load(Ordering::Relaxed)
}

/// Installs the counting handler.
///
/// # Errors
/// Those of `sigaction`.
pub fn count_arrivals(signal: i32) -> io::Result<()> {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a zeroed sigaction is legal; the handler is async-signal-safe.
    unsafe {
        (*action.as_mut_ptr()).sa_sigaction = count as extern "C" fn(libc::c_int) as libc::sighandler_t;
        if libc::sigaction(signal, action.as_ptr(), std::ptr::null_mut()) < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
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
    /// An action that names the counting handler. Without a restorer it must never be delivered: `signal.install`
    /// installs it for a signal that nobody sends, then puts the default back.
    pub fn never_delivered() -> RawAction {
        RawAction { handler: count as extern "C" fn(libc::c_int) as usize, flags: 0, restorer: 0, mask: 0 }
    }

    /// `rt_sigaction` by number; returns what the kernel returned.
    #[inline]
    pub fn install(&self, signal: i32) -> isize {
        // SAFETY: the action is a valid kernel sigaction (the restorer's place is unused padding where the architecture
        // has none, and the mask is the last field the kernel reads), no old action is asked for, and the set size is the
        // kernel's.
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

/// Puts the default action of a signal back.
pub fn restore_default(signal: i32) {
    // SAFETY: SIG_DFL is a legal disposition.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// The ids of the calling thread, looked up before timing starts.
#[derive(Clone, Copy, Debug)]
pub struct Myself {
    process: i32,
    thread: i32,
}

impl Myself {
    /// Of the calling thread.
    pub fn new() -> Myself {
        // SAFETY: no arguments.
        Myself { process: crate::process::id(), thread: unsafe { libc::gettid() } }
    }

    /// `tgkill` to this very thread, by number; an unblocked signal is delivered before the call returns.
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

impl Default for Myself {
    fn default() -> Self {
        Myself::new()
    }
}
