//! A page that refuses accesses, and a handler that lets each access be refused repeatedly.
//!
//! The handler of a refused access returns, the instruction runs again, and is refused again, as
//! often as requested, with no other system call in between. The last time the handler opens the
//! page, and the access succeeds. No instruction is skipped, so this is the same on every CPU
//! (`docs/methods/operating-system.md#refused-accesses`).
//!
//! A process has one handler for all its threads, so there is one [`Trap`] at a time. A refused
//! access anywhere else goes to the previous handler.
//!
//! # Safety
//! The page is a mapping of our own that nothing borrows: it is only accessed by volatile accesses
//! through its address. The handler uses atomics and the system calls `mprotect` and `ftruncate`
//! only. It is installed while the page is mapped, and what it reads from the statics was stored
//! before the access that it handles.
#![expect(unsafe_code, reason = "a handler of SIGSEGV and SIGBUS, accesses that are refused")]

use crate::io::checked;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Why an access is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// A write to a read-only page.
    Write,
    /// A read of an inaccessible page.
    Read,
    /// A read of a page of a mapped file that lies beyond the file's end.
    PastEnd,
}

/// The handler's state: the address of the page, how to open it, and the numbers of accesses still
/// to refuse and refused so far.
static PAGE: AtomicUsize = AtomicUsize::new(0);
static PAGE_SIZE: AtomicUsize = AtomicUsize::new(0);
static OPENED_BY: AtomicI32 = AtomicI32::new(0);
static FILE: AtomicI32 = AtomicI32::new(-1);
static LEFT: AtomicU64 = AtomicU64::new(0);
static TAKEN: AtomicU64 = AtomicU64::new(0);

static ONE: Mutex<()> = Mutex::new(());

extern "C" fn refused(signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo, whose address is that of the access for both
    // signals.
    let at = unsafe { (*info).si_addr() } as usize;
    if at & !(PAGE_SIZE.load(Relaxed) - 1) != PAGE.load(Relaxed) || !open_at_last() {
        // Not ours, or not to be opened: run again without this handler, the access ends the
        // process.
        crate::signals::restore_default(signal);
    }
}

/// Counts a refusal; returns whether the access may be tried again.
fn open_at_last() -> bool {
    TAKEN.fetch_add(1, Relaxed);
    match LEFT.fetch_sub(1, Relaxed) {
        1 => open(),
        left => left > 1,
    }
}

/// Lets the access succeed.
fn open() -> bool {
    let (page, size) = (PAGE.load(Relaxed), PAGE_SIZE.load(Relaxed));
    match OPENED_BY.load(Relaxed) {
        // SAFETY: an integer by value; the file belongs to the trap.
        0 => unsafe { libc::ftruncate(FILE.load(Relaxed), size as libc::off_t) == 0 },
        // SAFETY: the page belongs to the trap, and nothing borrows it.
        protection => unsafe { libc::mprotect(std::ptr::without_provenance_mut(page), size, protection) == 0 },
    }
}

/// The page, the handler, and the handler's stack; dropping it restores everything.
#[derive(Debug)]
pub struct Trap {
    kind: Refused,
    page: *mut u8,
    _file: Option<OwnedFd>,
    before: [libc::sigaction; 2],
    stack: Option<(Vec<u8>, libc::stack_t)>,
    _only: MutexGuard<'static, ()>,
}

/// The signals of a refused access.
const SIGNALS: [libc::c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];
/// Bytes of a stack for a handler: four times the largest frame of the largest vector registers.
const STACK: usize = 64 << 10;

impl Trap {
    /// Maps the page, closed, and installs the handler, on the thread's own stack or on an
    /// alternate one.
    ///
    /// # Errors
    /// Those of `memfd_create`, `mmap`, `sigaltstack` and `sigaction`.
    pub fn new(kind: Refused, alternate: bool) -> io::Result<Trap> {
        let only = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let size = crate::pages::page_size();
        let file = match kind {
            Refused::PastEnd => Some(OwnedFd::from(crate::mapping::memory_file(0)?)),
            Refused::Write | Refused::Read => None,
        };
        let (protection, flags) = match kind {
            Refused::PastEnd => (libc::PROT_READ, libc::MAP_SHARED),
            Refused::Write | Refused::Read => {
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE)
            }
        };
        let fd = file.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        let fence = fence(3 * size)?;
        // SAFETY: the middle of the three pages is ours, and nothing has accessed it.
        let page = unsafe { libc::mmap(fence.add(size).cast(), size, protection, flags | libc::MAP_FIXED, fd, 0) };
        if page == libc::MAP_FAILED {
            let error = io::Error::last_os_error();
            // SAFETY: mapped with this length, unmapped once.
            unsafe { libc::munmap(fence.cast(), 3 * size) };
            return Err(error);
        }
        // SAFETY: zeroes are valid for the plain structures of the C library.
        let before = unsafe { MaybeUninit::<[libc::sigaction; 2]>::zeroed().assume_init() };
        let mut trap = Trap { kind, page: page.cast(), _file: file, before, stack: None, _only: only };
        PAGE.store(page as usize, Relaxed);
        PAGE_SIZE.store(size, Relaxed);
        FILE.store(fd, Relaxed);
        OPENED_BY.store(
            match kind {
                Refused::Write => libc::PROT_READ | libc::PROT_WRITE,
                Refused::Read => libc::PROT_READ,
                Refused::PastEnd => 0,
            },
            Relaxed,
        );
        trap.close()?;
        trap.install(alternate)?;
        Ok(trap)
    }

    fn install(&mut self, alternate: bool) -> io::Result<()> {
        // SAFETY: zeroes are valid for these plain structures; the stack outlives its use, since
        // dropping puts the old one back; the handler is async-signal-safe.
        unsafe {
            if alternate {
                let mut room = vec![0u8; STACK];
                let new = libc::stack_t { ss_sp: room.as_mut_ptr().cast(), ss_flags: 0, ss_size: STACK };
                let mut old = MaybeUninit::<libc::stack_t>::zeroed().assume_init();
                checked(libc::sigaltstack(&raw const new, &raw mut old))?;
                self.stack = Some((room, old));
            }
            let mut action = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
            action.sa_sigaction = refused as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_SIGINFO | if alternate { libc::SA_ONSTACK } else { 0 };
            for (signal, before) in SIGNALS.into_iter().zip(&mut self.before) {
                checked(libc::sigaction(signal, &raw const action, before))?;
            }
        }
        Ok(())
    }

    /// Accesses the page, and is refused `times` times; the last one also opens it.
    #[inline]
    pub fn touch(&self, times: u64) {
        LEFT.store(times, Relaxed);
        self.touch_open();
    }

    /// Accesses the page: no effect where it is open.
    #[inline]
    pub fn touch_open(&self) {
        // SAFETY: see the module's Safety section: the access ends only when it succeeds.
        unsafe {
            match self.kind {
                Refused::Write => std::ptr::write_volatile(self.page, 1),
                Refused::Read | Refused::PastEnd => drop(std::ptr::read_volatile(self.page)),
            }
        }
    }

    /// Opens the page as the handler does; returns whether that worked.
    #[inline]
    pub fn open(&self) -> bool {
        open()
    }

    /// Closes the page again.
    ///
    /// # Errors
    /// Those of `mprotect` and `ftruncate`.
    #[inline]
    pub fn close(&self) -> io::Result<()> {
        let protection = match self.kind {
            Refused::Write => libc::PROT_READ,
            Refused::Read => libc::PROT_NONE,
            // SAFETY: an integer by value; the file belongs to the trap.
            Refused::PastEnd => return checked(unsafe { libc::ftruncate(FILE.load(Relaxed), 0) }),
        };
        // SAFETY: the page belongs to the trap, and nothing borrows it.
        checked(unsafe { libc::mprotect(self.page.cast(), PAGE_SIZE.load(Relaxed), protection) })
    }

    /// Accesses refused since the process started.
    pub fn taken(&self) -> u64 {
        TAKEN.load(Relaxed)
    }
}

impl Drop for Trap {
    fn drop(&mut self) {
        // SAFETY: the kernel returned the previous state (or it is the default: zeroes); the page
        // was mapped between two others, and all three are unmapped once.
        unsafe {
            for (signal, before) in SIGNALS.into_iter().zip(&self.before) {
                libc::sigaction(signal, before, std::ptr::null_mut());
            }
            if let Some((_room, old)) = &self.stack {
                libc::sigaltstack(old, std::ptr::null_mut());
            }
            let size = PAGE_SIZE.load(Relaxed);
            libc::munmap(self.page.sub(size).cast(), 3 * size);
        }
    }
}

/// Inaccessible pages of a kind that the kernel merges with no other. It would merge the page with
/// a neighbour each time it is opened, and split them each time it is closed: 6.4 us for a write
/// barrier instead of 5.0.
fn fence(len: usize) -> io::Result<*mut u8> {
    let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping at an address that the kernel chooses affects nothing that exists.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), len, libc::PROT_NONE, flags, -1, 0) };
    if at == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(at.cast()) }
}

/// Reads an unreadable page: the kernel ends this process with SIGSEGV. For tests that must see a
/// worker crash: `raise(SIGSEGV)` does not end it, because the Rust runtime's handler returns.
///
/// # Errors
/// Those of `mmap`; `Other` if the read succeeded, which no kernel allows.
pub fn read_forbidden_page() -> io::Result<()> {
    let page = crate::pages::page_size();
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping at an address that the kernel chooses affects nothing that exists.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), page, libc::PROT_NONE, flags, -1, 0) };
    if at == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a mapped page that nothing else uses; volatile, so that the read is made.
    let byte = unsafe { at.cast::<u8>().read_volatile() };
    Err(io::Error::other(format!("a page without permission could be read: {byte}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::{Backing, Mapping};

    impl Trap {
        /// Whether the kernel has a mapping of the page alone, or does not say.
        fn is_apart(&self) -> bool {
            let (from, to) = (self.page as usize, self.page as usize + crate::pages::page_size());
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
            maps.is_empty() || maps.lines().any(|line| line.starts_with(&format!("{from:08x}-{to:08x} ")))
        }
    }

    /// What handles the two signals, with which flags, and the alternate stack of this thread.
    fn state() -> ([(usize, libc::c_int); 2], (usize, usize)) {
        let of = |signal| {
            let mut action = MaybeUninit::<libc::sigaction>::zeroed();
            // SAFETY: zeroes are a valid action, and no new one is passed.
            let action = unsafe {
                libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr());
                action.assume_init()
            };
            (action.sa_sigaction, action.sa_flags)
        };
        let mut stack = MaybeUninit::<libc::stack_t>::zeroed();
        // SAFETY: zeroes are a valid stack, and no new one is passed.
        let stack = unsafe {
            libc::sigaltstack(std::ptr::null(), stack.as_mut_ptr());
            stack.assume_init()
        };
        (SIGNALS.map(of), (stack.ss_sp as usize, stack.ss_size))
    }

    /// One test, because the child of another would find the one trap of the process in use
    /// forever.
    #[test]
    fn the_requested_accesses_are_refused_and_all_elsewhere() {
        let before = state();
        for alternate in [false, true] {
            for kind in [Refused::Write, Refused::Read, Refused::PastEnd] {
                // Mappings that the kernel could merge the page with, enough to fill the gaps
                // around it.
                let _neighbours = [(); 64].map(|()| Mapping::new(crate::pages::page_size(), Backing::Anonymous, false));
                let trap = Trap::new(kind, alternate).expect("a page");
                assert!(trap.is_apart(), "{kind:?}");
                let (handlers, stack) = state();
                let on_stack = handlers.map(|(handler, flags)| (handler, flags & libc::SA_ONSTACK != 0));
                assert_eq!(on_stack, [(refused as *const () as usize, alternate); 2], "{kind:?}");
                assert_eq!(stack != before.1, alternate, "{kind:?}");
                let before = trap.taken();
                trap.touch(10);
                trap.touch_open();
                assert_eq!(trap.taken() - before, 10, "{kind:?}");
                assert!(trap.is_apart(), "{kind:?}");
                trap.close().expect("closed");
                trap.touch(1);
                assert_eq!(trap.taken() - before, 11, "{kind:?}");
                trap.close().expect("closed");
                assert!(trap.open());
                trap.touch_open();
                assert_eq!(trap.taken() - before, 11, "{kind:?}");
            }
            assert_eq!(state(), before, "what was there before is there again");
        }
        let child = crate::fork::fork(|| {
            crate::process::no_core_file();
            let Ok(_trap) = Trap::new(Refused::Write, false) else { return 1 };
            drop(read_forbidden_page());
            0
        });
        assert_eq!(child.expect("fork").wait().expect("wait").signal(), Some(libc::SIGSEGV));
    }
}
