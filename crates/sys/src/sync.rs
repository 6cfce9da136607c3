//! The C library's semaphores and mutexes, and the futex call that they fall back on.
//!
//! # Safety
//! Semaphores are in a mapping that outlives them, are initialised when created, and hold no
//! pointers. A mutex is boxed, so it never moves, and is unlocked by the thread that locked it, or
//! an error is returned. A futex word is a live, aligned atomic.
#![expect(unsafe_code, reason = "sem_post and sem_wait, pthread_mutex_lock and _unlock, futex by number")]

use crate::arch::syscall4;
use crate::io::checked;
use crate::shared::{Shared, Zeroed};
use std::cell::UnsafeCell;
use std::fs::File;
use std::io;
use std::sync::atomic::AtomicU32;

/// A semaphore on cache lines of its own.
#[repr(C, align(128))]
struct Semaphore(UnsafeCell<libc::sem_t>);

// SAFETY: sem_t is designed to be shared; its functions synchronise.
unsafe impl Sync for Semaphore {}
// SAFETY: integers only, for all libcs of Linux, and initialised before it is used.
unsafe impl Zeroed for Semaphore {}

/// POSIX semaphores in memory that children forked later share, or that is mapped from a file.
pub struct Semaphores(Shared<Semaphore>);

impl Semaphores {
    /// `count` semaphores, all 0, for this process and its children.
    ///
    /// # Errors
    /// Those of `mmap`.
    pub fn new(count: usize) -> io::Result<Semaphores> {
        Semaphores::of(Key::Shared, count)
    }

    /// `count` semaphores, all 0, for threads of this process, or for its children as well.
    ///
    /// # Errors
    /// Those of `mmap`.
    pub fn of(key: Key, count: usize) -> io::Result<Semaphores> {
        let semaphores = Semaphores(Shared::new(count)?);
        semaphores.initialise(key)?;
        Ok(semaphores)
    }

    /// The semaphores in a file, for all processes that map it. The process that finds it empty
    /// initialises them while the others wait.
    ///
    /// # Errors
    /// Those of `flock`, `ftruncate`, `mmap`.
    pub fn in_file(file: &File, count: usize) -> io::Result<Semaphores> {
        file.lock()?;
        let fresh = file.metadata()?.len() == 0;
        let semaphores = Semaphores(Shared::in_file(file, count)?);
        if fresh {
            semaphores.initialise(Key::Shared)?;
        }
        file.unlock()?;
        Ok(semaphores)
    }

    /// Only before their first use.
    fn initialise(&self, key: Key) -> io::Result<()> {
        let shared = libc::c_int::from(key == Key::Shared);
        self.0.iter().try_for_each(|semaphore| {
            // SAFETY: memory for a sem_t that is not in use yet.
            checked(unsafe { libc::sem_init(semaphore.0.get(), shared, 0) })
        })
    }

    /// Adds 1, and wakes one waiter.
    ///
    /// # Errors
    /// Those of `sem_post`.
    #[inline]
    pub fn post(&self, which: usize) -> io::Result<()> {
        // SAFETY: an initialised semaphore.
        checked(unsafe { libc::sem_post(self.0[which].0.get()) })
    }

    /// Waits until it is above 0, and takes 1.
    ///
    /// # Errors
    /// Those of `sem_wait`.
    #[inline]
    pub fn wait(&self, which: usize) -> io::Result<()> {
        // SAFETY: an initialised semaphore.
        checked(unsafe { libc::sem_wait(self.0[which].0.get()) })
    }

    /// Its current value.
    ///
    /// # Errors
    /// Those of `sem_getvalue`.
    pub fn value(&self, which: usize) -> io::Result<i32> {
        let mut value = 0;
        // SAFETY: an initialised semaphore and a place for the result.
        checked(unsafe { libc::sem_getvalue(self.0[which].0.get(), &mut value) })?;
        Ok(value)
    }
}

/// A mutex of the default kind.
pub struct Mutex(Box<UnsafeCell<libc::pthread_mutex_t>>);

impl Mutex {
    /// Unlocked.
    #[expect(clippy::new_without_default, reason = "a default one has no use")]
    pub fn new() -> Mutex {
        Mutex(Box::new(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER)))
    }

    /// Locks and unlocks it; 0, or the number of an error.
    #[inline(always)]
    pub fn lock_unlock(&self) -> i32 {
        // SAFETY: initialised, and not shared: the type is not Sync.
        unsafe { libc::pthread_mutex_lock(self.0.get()) | libc::pthread_mutex_unlock(self.0.get()) }
    }
}

impl Drop for Mutex {
    fn drop(&mut self) {
        // SAFETY: initialised, unlocked, destroyed once.
        unsafe { libc::pthread_mutex_destroy(self.0.get()) };
    }
}

/// Who may wait on a futex word: whether the kernel uses this process's address or what is behind
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// Threads of this process.
    Private,
    /// Every process that maps it.
    Shared,
}

impl Key {
    fn flag(self) -> i32 {
        match self {
            Key::Private => libc::FUTEX_PRIVATE_FLAG,
            Key::Shared => 0,
        }
    }
}

/// Wakes one waiter of the word; the number woken, or a negative error number.
#[inline(always)]
pub fn futex_wake(word: &AtomicU32, key: Key) -> isize {
    let operation = (libc::FUTEX_WAKE | key.flag()) as usize;
    // SAFETY: the word outlives the call.
    unsafe { syscall4(libc::SYS_futex as usize, word.as_ptr() as usize, operation, 1, 0) }
}

/// Sleeps while the word holds `expected`; -EAGAIN where it does not.
#[inline(always)]
pub fn futex_wait(word: &AtomicU32, expected: u32, key: Key) -> isize {
    let operation = (libc::FUTEX_WAIT | key.flag()) as usize;
    // SAFETY: the word outlives the call; no timeout.
    unsafe { syscall4(libc::SYS_futex as usize, word.as_ptr() as usize, operation, expected as usize, 0) }
}

/// The result of a wait on a word with another value.
pub const OTHER_VALUE: isize = -(libc::EAGAIN as isize);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn semaphores_in_a_file_are_initialised_once_and_shared() {
        let file = std::env::temp_dir().join(format!("groma-sync-{}", crate::process::id()));
        let opened = File::options().read(true).write(true).create_new(true).open(&file).expect("a file");
        std::fs::remove_file(&file).expect("the file");
        let made = Semaphores::new(1).expect("memory");
        let found = Semaphores::in_file(&opened, 1).expect("memory");
        // SAFETY: both are mapped, and nothing changes them meanwhile.
        let bytes = |s: &Semaphores| unsafe { s.0[0].0.get().cast::<[u8; size_of::<libc::sem_t>()]>().read() };
        assert_eq!(bytes(&made), bytes(&found));
        let other = Semaphores::in_file(&opened, 1).expect("memory");
        found.post(0).expect("post");
        assert_eq!(found.value(0).expect("a value"), 1);
        other.wait(0).expect("the same semaphore, elsewhere");
    }

    #[test]
    fn a_mutex_locks_and_unlocks() {
        let mutex = Mutex::new();
        assert_eq!(mutex.lock_unlock() | mutex.lock_unlock(), 0);
    }

    #[test]
    fn a_futex_without_sleepers_wakes_none_and_another_value_is_refused() {
        let word = AtomicU32::new(1);
        for key in [Key::Private, Key::Shared] {
            assert_eq!(futex_wake(&word, key), 0);
            assert_eq!(futex_wait(&word, 0, key), OTHER_VALUE);
        }
    }

    /// Later processes find them as they are, and the lock of the file is released.
    #[test]
    fn semaphores_in_use_are_not_initialised_again() {
        use crate::file_lock::{Kind, LockFile};
        let path = std::env::temp_dir().join(format!("groma-sync-used-{}", crate::process::id()));
        let file = File::options().read(true).write(true).create_new(true).open(&path).expect("a file");
        let first = Semaphores::in_file(&file, 2).expect("memory");
        let held = LockFile::open(&path, Kind::Whole).and_then(|file| file.is_held_by_another(0));
        std::fs::remove_file(&path).expect("the file");
        assert!(!held.expect("tried"), "no other process can map it");
        first.post(0).expect("post");
        first.post(0).expect("post");
        first.post(1).expect("post");
        let second = Semaphores::in_file(&file, 2).expect("memory");
        assert_eq!([0, 1].map(|which| second.value(which).expect("a value")), [2, 1]);
        second.wait(0).expect("it is above 0");
        assert_eq!([0, 1].map(|which| first.value(which).expect("a value")), [1, 1]);
    }

    /// A semaphore of one process would sleep on an address that the other does not have.
    #[test]
    fn a_semaphore_wakes_a_waiter_in_another_process() {
        let semaphores = Semaphores::new(2).expect("memory");
        assert_eq!([0, 1].map(|which| semaphores.value(which).expect("a value")), [0, 0]);
        let child = crate::fork::fork(|| i32::from(semaphores.wait(0).and_then(|()| semaphores.post(1)).is_err()));
        let mut child = child.expect("fork");
        let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", child.pid())).unwrap_or_default();
        while !state().contains(") S ") && std::time::Instant::now() < until {
            std::thread::yield_now();
        }
        semaphores.post(0).expect("post");
        while child.poll().expect("wait").is_none() {
            assert!(std::time::Instant::now() < until, "it sleeps on");
            std::thread::yield_now();
        }
        assert_eq!(child.wait().expect("wait").code(), Some(0));
        assert_eq!([0, 1].map(|which| semaphores.value(which).expect("a value")), [0, 1]);
    }
}
