//! The C library's objects that tasks wait at: mutex, spin lock, read-write lock, condition
//! variable, barrier.
//!
//! Each is in a mapping of its own that children forked later share, and for threads of one process
//! or for processes ([`Key`]). Whoever takes a lock here gives it back: sections are closures, so a
//! thread cannot release what another one holds. [`crate::sync`] has a mutex that nobody else can
//! reach.
//!
//! # Safety
//! An object is initialised before anybody can reach it, is never moved, and lives as long as its
//! mapping, which outlives every call. It is not destroyed: in the C libraries of Linux that frees
//! nothing, and other processes may still use it. A lock is released by the thread that took it,
//! once.
#![expect(unsafe_code, reason = "pthread_mutex_*, pthread_spin_*, pthread_rwlock_*, pthread_cond_*, pthread_barrier_*")]

use crate::shared::{Shared, Zeroed};
use crate::sync::Key;
use libc::c_int;
use std::cell::UnsafeCell;
use std::io;
use std::mem::{MaybeUninit, forget};

/// An object on cache lines of its own: no processor has lines longer than 256 bytes.
#[repr(C, align(256))]
struct Object<T>(UnsafeCell<T>);

// SAFETY: the objects below are made to be shared; their functions synchronise.
unsafe impl<T> Sync for Object<T> {}
// SAFETY: nobody reads an object before its initialisation has overwritten the zeroes.
unsafe impl<T> Zeroed for Object<T> {}

/// 0, or the number of an error.
#[inline(always)]
fn checked(error: c_int) -> io::Result<()> {
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

/// A new object, made by `initialise`.
fn object<T>(initialise: impl FnOnce(*mut T) -> io::Result<()>) -> io::Result<Shared<Object<T>>> {
    let object = Shared::<Object<T>>::new(1)?;
    initialise(object[0].0.get())?;
    Ok(object)
}

impl Key {
    fn sharing(self) -> c_int {
        match self {
            Key::Private => libc::PTHREAD_PROCESS_PRIVATE,
            Key::Shared => libc::PTHREAD_PROCESS_SHARED,
        }
    }
}

/// Releases a lock when it goes out of scope, even by a panic.
struct Held<F: Fn() -> c_int>(F);

impl<F: Fn() -> c_int> Held<F> {
    /// Releases it now, and says whether that worked.
    #[inline(always)]
    fn release(self) -> io::Result<()> {
        let released = (self.0)();
        forget(self);
        checked(released)
    }
}

impl<F: Fn() -> c_int> Drop for Held<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Runs `section` between `take` and `release`.
#[inline(always)]
fn between<T>(taken: c_int, release: impl Fn() -> c_int, section: impl FnOnce() -> T) -> io::Result<T> {
    checked(taken)?;
    let held = Held(release);
    let value = section();
    held.release()?;
    Ok(value)
}

/// A mutex of the default kind, or one whose holder inherits the priority of those who wait.
pub struct ContendedMutex(Shared<Object<libc::pthread_mutex_t>>);

impl ContendedMutex {
    /// Unlocked.
    ///
    /// # Errors
    /// Those of `mmap`, `pthread_mutexattr_setprotocol`, `pthread_mutex_init`.
    pub fn new(key: Key, inherits_priority: bool) -> io::Result<ContendedMutex> {
        let made = object(|mutex| {
            let mut attributes = MaybeUninit::uninit();
            let attributes = attributes.as_mut_ptr();
            // SAFETY: attributes initialised by the first call and destroyed by the last; memory
            // for a mutex that is not in use yet.
            unsafe {
                checked(libc::pthread_mutexattr_init(attributes))?;
                let mut made = checked(libc::pthread_mutexattr_setpshared(attributes, key.sharing()));
                if inherits_priority {
                    let set = || checked(libc::pthread_mutexattr_setprotocol(attributes, libc::PTHREAD_PRIO_INHERIT));
                    made = made.and_then(|()| set());
                }
                made = made.and_then(|()| checked(libc::pthread_mutex_init(mutex, attributes)));
                libc::pthread_mutexattr_destroy(attributes);
                made
            }
        });
        made.map(ContendedMutex)
    }

    #[inline(always)]
    fn raw(&self) -> *mut libc::pthread_mutex_t {
        self.0[0].0.get()
    }

    /// Runs `section` while the mutex is locked.
    ///
    /// # Errors
    /// Those of `pthread_mutex_lock` and `pthread_mutex_unlock`.
    #[inline(always)]
    pub fn hold<T>(&self, section: impl FnOnce() -> T) -> io::Result<T> {
        let lock = self.raw();
        // SAFETY: initialised.
        let taken = unsafe { libc::pthread_mutex_lock(lock) };
        // SAFETY: only if this thread has taken it.
        between(taken, || unsafe { libc::pthread_mutex_unlock(lock) }, section)
    }
}

/// A lock whose waiters never sleep.
pub struct SpinLock(Shared<Object<libc::pthread_spinlock_t>>);

impl SpinLock {
    /// Unlocked.
    ///
    /// # Errors
    /// Those of `mmap` and `pthread_spin_init`.
    pub fn new(key: Key) -> io::Result<SpinLock> {
        // SAFETY: memory for a lock that is not in use yet.
        object(|lock| checked(unsafe { libc::pthread_spin_init(lock, key.sharing()) })).map(SpinLock)
    }

    /// Runs `section` while the lock is taken.
    ///
    /// # Errors
    /// Those of `pthread_spin_lock` and `pthread_spin_unlock`.
    #[inline(always)]
    pub fn hold<T>(&self, section: impl FnOnce() -> T) -> io::Result<T> {
        let lock = self.0[0].0.get();
        // SAFETY: initialised.
        let taken = unsafe { libc::pthread_spin_lock(lock) };
        // SAFETY: only if this thread has taken it.
        between(taken, || unsafe { libc::pthread_spin_unlock(lock) }, section)
    }
}

/// A read-write lock of the default kind.
pub struct ReadWriteLock(Shared<Object<libc::pthread_rwlock_t>>);

impl ReadWriteLock {
    /// Unlocked.
    ///
    /// # Errors
    /// Those of `mmap` and `pthread_rwlock_init`.
    pub fn new(key: Key) -> io::Result<ReadWriteLock> {
        let made = object(|lock| {
            let mut attributes = MaybeUninit::uninit();
            let attributes = attributes.as_mut_ptr();
            // SAFETY: as for a mutex.
            unsafe {
                checked(libc::pthread_rwlockattr_init(attributes))?;
                let made = checked(libc::pthread_rwlockattr_setpshared(attributes, key.sharing()));
                let made = made.and_then(|()| checked(libc::pthread_rwlock_init(lock, attributes)));
                libc::pthread_rwlockattr_destroy(attributes);
                made
            }
        });
        made.map(ReadWriteLock)
    }

    /// Runs `section` while nobody else has the lock.
    ///
    /// # Errors
    /// Those of `pthread_rwlock_wrlock` and `pthread_rwlock_unlock`.
    #[inline(always)]
    pub fn write<T>(&self, section: impl FnOnce() -> T) -> io::Result<T> {
        let lock = self.0[0].0.get();
        // SAFETY: initialised.
        let taken = unsafe { libc::pthread_rwlock_wrlock(lock) };
        // SAFETY: only if this thread has taken it.
        between(taken, || unsafe { libc::pthread_rwlock_unlock(lock) }, section)
    }

    /// Runs `section` while nobody writes.
    ///
    /// # Errors
    /// Those of `pthread_rwlock_rdlock` and `pthread_rwlock_unlock`.
    #[inline(always)]
    pub fn read<T>(&self, section: impl FnOnce() -> T) -> io::Result<T> {
        let lock = self.0[0].0.get();
        // SAFETY: initialised.
        let taken = unsafe { libc::pthread_rwlock_rdlock(lock) };
        // SAFETY: only if this thread has taken it.
        between(taken, || unsafe { libc::pthread_rwlock_unlock(lock) }, section)
    }
}

/// A mutex and a condition variable, for threads of this process.
pub struct Monitor {
    mutex: ContendedMutex,
    condition: Shared<Object<libc::pthread_cond_t>>,
}

impl Monitor {
    /// Unlocked, and nobody waits.
    ///
    /// # Errors
    /// Those of `mmap`, `pthread_mutex_init`, `pthread_cond_init`.
    pub fn new() -> io::Result<Monitor> {
        let mutex = ContendedMutex::new(Key::Private, false)?;
        // SAFETY: memory for a condition variable that is not in use yet; null is the default kind.
        let condition = object(|condition| checked(unsafe { libc::pthread_cond_init(condition, std::ptr::null()) }))?;
        Ok(Monitor { mutex, condition })
    }

    #[inline(always)]
    fn raw(&self) -> *mut libc::pthread_cond_t {
        self.condition[0].0.get()
    }

    /// Runs `section` while the mutex is locked.
    ///
    /// # Errors
    /// Those of `pthread_mutex_lock` and `pthread_mutex_unlock`.
    pub fn hold<T>(&self, section: impl FnOnce() -> T) -> io::Result<T> {
        self.mutex.hold(section)
    }

    /// Locks the mutex, waits at the condition variable until `holds`, and runs `section`. `holds`
    /// is asked with the mutex locked: first before any wait, then after each.
    ///
    /// # Errors
    /// Those of the mutex and of `pthread_cond_wait`.
    pub fn hold_when<T>(&self, mut holds: impl FnMut() -> bool, section: impl FnOnce() -> T) -> io::Result<T> {
        self.mutex.hold(|| {
            while !holds() {
                // SAFETY: both are initialised, and this thread holds the mutex, as it does again
                // when the call returns.
                checked(unsafe { libc::pthread_cond_wait(self.raw(), self.mutex.raw()) })?;
            }
            Ok(section())
        })?
    }

    /// Wakes one waiter.
    ///
    /// # Errors
    /// Those of `pthread_cond_signal`.
    #[inline(always)]
    pub fn signal(&self) -> io::Result<()> {
        // SAFETY: initialised.
        checked(unsafe { libc::pthread_cond_signal(self.raw()) })
    }

    /// Wakes all waiters.
    ///
    /// # Errors
    /// Those of `pthread_cond_broadcast`.
    #[inline(always)]
    pub fn broadcast(&self) -> io::Result<()> {
        // SAFETY: initialised.
        checked(unsafe { libc::pthread_cond_broadcast(self.raw()) })
    }
}

/// Where a number of tasks wait for each other.
pub struct Barrier(Shared<Object<libc::pthread_barrier_t>>);

impl Barrier {
    /// For `members` tasks.
    ///
    /// # Errors
    /// Those of `mmap` and `pthread_barrier_init`.
    pub fn new(key: Key, members: u32) -> io::Result<Barrier> {
        let made = object(|barrier| {
            let mut attributes = MaybeUninit::uninit();
            let attributes = attributes.as_mut_ptr();
            // SAFETY: as for a mutex.
            unsafe {
                checked(libc::pthread_barrierattr_init(attributes))?;
                let made = checked(libc::pthread_barrierattr_setpshared(attributes, key.sharing()));
                let made = made.and_then(|()| checked(libc::pthread_barrier_init(barrier, attributes, members)));
                libc::pthread_barrierattr_destroy(attributes);
                made
            }
        });
        made.map(Barrier)
    }

    /// Waits until all have come. True for one of them.
    ///
    /// # Errors
    /// Those of `pthread_barrier_wait`.
    #[inline(always)]
    pub fn wait(&self) -> io::Result<bool> {
        // SAFETY: initialised.
        match unsafe { libc::pthread_barrier_wait(self.0[0].0.get()) } {
            libc::PTHREAD_BARRIER_SERIAL_THREAD => Ok(true),
            other => checked(other).map(|()| false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    /// Adds to a word in two steps, each of which another one's step between them would undo.
    fn add(word: &AtomicU64) {
        let before = word.load(Relaxed);
        std::hint::spin_loop();
        word.store(before + 1, Relaxed);
    }

    /// What two tasks added with a lock that lets both in at once would be less.
    #[test]
    fn a_section_excludes_the_threads_and_the_processes_that_share_the_lock() {
        const TIMES: u64 = 200_000;
        type Hold = Box<dyn Fn(&AtomicU64) -> io::Result<()> + Send + Sync>;
        for key in [Key::Private, Key::Shared] {
            let mutex = |inherits| ContendedMutex::new(key, inherits).expect("a mutex");
            let (plain, inheriting) = (mutex(false), mutex(true));
            let (spin, read_write) = (SpinLock::new(key).expect("a lock"), ReadWriteLock::new(key).expect("a lock"));
            let all: [Hold; 4] = [
                Box::new(move |word| plain.hold(|| add(word))),
                Box::new(move |word| inheriting.hold(|| add(word))),
                Box::new(move |word| spin.hold(|| add(word))),
                Box::new(move |word| read_write.write(|| add(word))),
            ];
            for (i, hold) in all.iter().enumerate() {
                let words = Shared::<AtomicU64>::new(1).expect("memory");
                let many = || i32::from((0..TIMES).any(|_| hold(&words[0]).is_err()));
                let failed = match key {
                    Key::Private => std::thread::scope(|scope| {
                        let other = scope.spawn(many);
                        many() + other.join().expect("no panic")
                    }),
                    Key::Shared => {
                        let other = crate::fork::fork(many).expect("fork");
                        many() + other.wait().expect("wait").code().unwrap_or(1)
                    }
                };
                assert_eq!((failed, words[0].load(Relaxed)), (0, 2 * TIMES), "lock {i}, {key:?}");
            }
        }
    }

    #[test]
    fn readers_share_a_lock_and_a_panic_gives_it_back() {
        let lock = ReadWriteLock::new(Key::Private).expect("a lock");
        assert_eq!(lock.read(|| lock.read(|| 7).expect("a second reader")).expect("a reader"), 7);
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| lock.write(|| panic!("as wanted"))));
        assert!(caught.is_err());
        assert_eq!(lock.write(|| 8).expect("it was given back"), 8);
    }

    #[test]
    fn one_of_those_that_cross_a_barrier_is_told_so() {
        let barrier = Barrier::new(Key::Private, 3).expect("a barrier");
        let cross = || (0..1000).filter(|_| barrier.wait().expect("crossed")).count();
        let told: usize = std::thread::scope(|scope| {
            let others = [(); 2].map(|()| scope.spawn(cross));
            cross() + others.map(|other| other.join().expect("no panic")).iter().sum::<usize>()
        });
        assert_eq!(told, 1000);
    }

    #[test]
    fn a_waiter_goes_on_when_it_is_signalled_and_it_is_so() {
        let (monitor, word) = (Monitor::new().expect("a monitor"), AtomicU64::new(0));
        std::thread::scope(|scope| {
            let waiters = [(); 3].map(|()| scope.spawn(|| monitor.hold_when(|| word.load(Relaxed) == 2, || 5)));
            for wake in [Monitor::signal, Monitor::broadcast] {
                monitor.hold(|| word.fetch_add(1, Relaxed)).expect("held");
                wake(&monitor).expect("woken");
            }
            assert_eq!(waiters.map(|waiter| waiter.join().expect("no panic").expect("no error")), [5; 3]);
        });
    }
}
