//! Memory shared between the members of a worker group, or between a benchmark and its partners,
//! and the futex that they wait on.
//!
//! An anonymous shared mapping, created before the members are forked: no descriptor per member,
//! nothing in the file system, gone with the last process.
//!
//! # Safety
//! [`Shared`] places values of a `Sync` type that is valid as zeroes in zeroed, aligned memory and
//! only returns shared references to them; interior mutability is that of the type's atomics.
#![expect(unsafe_code, reason = "typed view of a shared mapping; futex system call")]

use crate::clock::{Clock, Monotonic};
use crate::pages::Map;
use std::io;
use std::ops::Deref;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

/// Types that may be in shared memory: atomics only, valid when all bytes are zero, without
/// pointers or `Drop`.
///
/// # Safety
/// The implementer promises just that.
pub unsafe trait Zeroed: Sync {}

// SAFETY: atomics are valid as zeroes and hold no pointers.
unsafe impl Zeroed for AtomicU32 {}
// SAFETY: as above.
unsafe impl Zeroed for std::sync::atomic::AtomicU64 {}
// SAFETY: as above.
unsafe impl Zeroed for std::sync::atomic::AtomicI64 {}

/// A slice of `T`s that children forked later share with this process.
#[derive(Debug)]
pub struct Shared<T> {
    map: Map,
    len: usize,
    _values: std::marker::PhantomData<T>,
}

impl<T: Zeroed> Shared<T> {
    /// `len` values, all bytes zero, already present in memory.
    ///
    /// # Errors
    /// Those of `mmap`.
    pub fn new(len: usize) -> io::Result<Shared<T>> {
        const { assert!(align_of::<T>() <= 4096, "a mapping is aligned to pages only") };
        Ok(Shared { map: Map::shared(len.max(1) * size_of::<T>())?, len, _values: std::marker::PhantomData })
    }

    /// `len` values, all bytes zero, whose pages are not present: each is allocated where it is
    /// first written.
    ///
    /// # Errors
    /// Those of `mmap`.
    pub fn untouched(len: usize) -> io::Result<Shared<T>> {
        const { assert!(align_of::<T>() <= 4096, "a mapping is aligned to pages only") };
        let map = Map::shared_untouched(len.max(1) * size_of::<T>())?;
        Ok(Shared { map, len, _values: std::marker::PhantomData })
    }

    /// `len` values at the start of a file, which grows as needed: all processes that do this share
    /// them. The file is empty, or used by others in the same way.
    ///
    /// # Errors
    /// Those of `ftruncate` and `mmap`.
    pub fn in_file(file: &std::fs::File, len: usize) -> io::Result<Shared<T>> {
        const { assert!(align_of::<T>() <= 4096, "a mapping is aligned to pages only") };
        let bytes = crate::pages::round_up(len.max(1) * size_of::<T>(), crate::pages::page_size());
        file.set_len(bytes as u64)?;
        Ok(Shared { map: Map::file(file, bytes, true)?, len, _values: std::marker::PhantomData })
    }

    /// Bytes of the mapping.
    pub fn bytes(&self) -> usize {
        self.map.len()
    }
}

impl<T: Zeroed> Deref for Shared<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the mapping is page-aligned, zeroed, at least `len * size_of::<T>()` long, and
        // `T: Zeroed` is valid there and `Sync`; the reference lives no longer than the mapping.
        unsafe { std::slice::from_raw_parts(self.map.as_ptr().cast::<T>(), self.len) }
    }
}

/// How long [`Word::wait_until`] sleeps between two checks.
const LOOK: Duration = Duration::from_millis(20);

/// A word to coordinate by. It has cache lines of its own, so that those who poll it are not slowed
/// down by writes to another: no processor has lines longer than 256 bytes.
///
/// It dereferences to the atomic, for timed loops that load and store it without waking anyone.
#[derive(Debug, Default)]
#[repr(C, align(256))]
pub struct Word(AtomicU32);

// SAFETY: an atomic and padding.
unsafe impl Zeroed for Word {}

impl Deref for Word {
    type Target = AtomicU32;

    fn deref(&self) -> &AtomicU32 {
        &self.0
    }
}

impl Word {
    /// Stores a value and wakes all who sleep on the word.
    pub fn set(&self, value: u32) {
        self.store(value, SeqCst);
        wake(self);
    }

    /// Adds 1 and wakes all who sleep on the word.
    pub fn count(&self) {
        self.fetch_add(1, SeqCst);
        wake(self);
    }

    /// Spins while the word holds `old`, for at most `ns` nanoseconds.
    pub fn spin_while(&self, old: u32, ns: u64) {
        let since = Monotonic.now_ns();
        while self.load(SeqCst) == old && Monotonic.now_ns().saturating_sub(since) <= ns {}
    }

    /// Sleeps while the word holds `old`, and returns what it holds then.
    pub fn wait_while(&self, old: u32) -> u32 {
        loop {
            match self.load(SeqCst) {
                seen if seen == old => wait(self, old, None),
                seen => return seen,
            }
        }
    }

    /// Sleeps until `done` accepts the value, and returns it. Calls `check` whenever the word has
    /// stayed the same for 20 ms: the process that should change it may have died.
    ///
    /// # Errors
    /// Those of `check`.
    pub fn wait_until<E>(
        &self,
        done: impl Fn(u32) -> bool,
        mut check: impl FnMut() -> Result<(), E>,
    ) -> Result<u32, E> {
        loop {
            let seen = self.load(SeqCst);
            if done(seen) {
                return Ok(seen);
            }
            wait(self, seen, Some(LOOK));
            if self.load(SeqCst) == seen {
                check()?;
            }
        }
    }
}

/// Sleeps until [`wake`] is called on the word, unless it no longer holds `expected`; may return
/// spuriously.
pub fn wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) {
    let timeout = timeout.map(|t| libc::timespec {
        tv_sec: t.as_secs() as libc::time_t,
        tv_nsec: libc::c_long::from(t.subsec_nanos() as i32),
    });
    let timeout = timeout.as_ref().map_or(std::ptr::null(), |t| t as *const libc::timespec);
    // SAFETY: the word is a live, aligned 32-bit atomic; the timeout is null or a valid timespec.
    // Not FUTEX_PRIVATE: the waker may be another process.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, expected, timeout) };
}

/// Wakes all waiters of the word.
pub fn wake(word: &AtomicU32) {
    // SAFETY: the word is a live, aligned 32-bit atomic.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn starts_as_zeroes_and_keeps_what_is_stored() {
        let words = Shared::<AtomicU32>::new(1000).expect("memory");
        assert!(words.iter().all(|w| w.load(Ordering::Relaxed) == 0));
        words[999].store(7, Ordering::Relaxed);
        assert_eq!(words[999].load(Ordering::Relaxed), 7);
    }

    #[test]
    fn untouched_pages_come_with_the_first_write() {
        let words = Shared::<AtomicU32>::untouched(3 * crate::pages::page_size() / 4).expect("memory");
        let present = || words.map.resident_pages().expect("mincore");
        // mincore of shared memory reports the object, which has not been written to.
        assert_eq!(present(), 0);
        words[0].store(1, Ordering::Relaxed);
        assert_eq!((present(), words[0].load(Ordering::Relaxed)), (1, 1));
    }

    #[test]
    fn words_have_lines_of_their_own() {
        let words = Shared::<Word>::new(3).expect("memory");
        assert!(words.iter().all(|w| std::ptr::from_ref(w).addr().is_multiple_of(256)));
        words[1].count();
        words[1].count();
        words[2].set(9);
        assert_eq!([0, 1, 2].map(|i| words[i].load(Ordering::Relaxed)), [0, 2, 9]);
    }

    #[test]
    fn a_wait_ends_when_the_word_changes_or_the_check_fails() {
        let word = Word::default();
        assert_eq!(word.wait_until(|_| false, || Err("the peer died")), Err("the peer died"));
        word.spin_while(0, 1000);
        std::thread::scope(|scope| {
            let sleepers = [scope.spawn(|| word.wait_while(0)), scope.spawn(|| word.wait_while(0))];
            let patient = scope.spawn(|| word.wait_until(|value| value == 7, || Ok::<(), ()>(())));
            word.set(5);
            assert_eq!(sleepers.map(|sleeper| sleeper.join().expect("no panic")), [5, 5]);
            word.set(7);
            assert_eq!(patient.join().expect("no panic"), Ok(7));
        });
        word.spin_while(0, u64::MAX);
        assert_eq!(word.wait_while(0), 7);
    }

    #[test]
    fn a_wait_on_another_value_returns() {
        let word = AtomicU32::new(1);
        wait(&word, 0, None);
        wait(&word, 1, Some(Duration::from_millis(1)));
    }

    /// In another process, so that the kernel must use the page behind the address.
    #[test]
    fn a_word_wakes_sleepers_in_other_processes() {
        type Wake = fn(&Word);
        for wake in [(|word| word.set(1)) as Wake, |word| word.count()] {
            let words = Shared::<Word>::new(1).expect("memory");
            let mut child = crate::fork::fork(|| i32::from(words[0].wait_while(0) != 1)).expect("fork");
            let until = std::time::Instant::now() + Duration::from_secs(60);
            let state = || std::fs::read_to_string(format!("/proc/{}/stat", child.pid())).unwrap_or_default();
            while !state().contains(") S ") && std::time::Instant::now() < until {
                std::thread::yield_now();
            }
            wake(&words[0]);
            let exit = loop {
                match child.poll().expect("wait") {
                    Some(exit) => break exit.code(),
                    None => assert!(std::time::Instant::now() < until, "it sleeps on"),
                }
                std::thread::yield_now();
            };
            assert_eq!(exit, Some(0));
        }
    }

    #[test]
    fn values_in_a_file_are_shared_by_all_that_map_it() {
        let file = crate::mapping::memory_file(0).expect("a file in memory");
        let [first, second] = [(); 2].map(|()| Shared::<AtomicU32>::in_file(&file, 1000).expect("memory"));
        assert_eq!((first.len(), second.bytes()), (1000, crate::pages::round_up(4000, crate::pages::page_size())));
        assert_eq!(file.metadata().expect("fstat").len(), second.bytes() as u64);
        first[999].store(7, Ordering::Relaxed);
        assert_eq!(second[999].load(Ordering::Relaxed), 7);
        // A third one finds what was stored.
        let third = Shared::<AtomicU32>::in_file(&file, 1000).expect("memory");
        assert_eq!(third[999].load(Ordering::Relaxed), 7);
    }

    #[test]
    fn a_word_is_polled_until_it_changes_or_time_is_up() {
        let word = Word::default();
        let since = Monotonic.now_ns();
        word.spin_while(0, 3_000_000);
        assert!(Monotonic.now_ns() - since >= 3_000_000);
        let checks = std::cell::Cell::new(0);
        let given_up =
            word.wait_until(|value| value == 1, || if checks.replace(checks.get() + 1) < 2 { Ok(()) } else { Err(()) });
        assert_eq!((given_up, checks.get()), (Err(()), 3));
        word.set(1);
        assert_eq!(word.wait_until(|value| value == 1, || Err(())), Ok(1), "it is there already");
    }
}
