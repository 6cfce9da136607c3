//! Counted threads, so that the one-thread rule of [`crate::fork`] can be checked even without
//! `/proc`.

use crate::refused;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, JoinHandle};

/// Threads started through [`spawn`] that have not ended: held against [`MAX_THREADS`], and the
/// fallback of the check where `/proc` is missing.
static STARTED: AtomicUsize = AtomicUsize::new(0);

struct Counted;

impl Drop for Counted {
    fn drop(&mut self) {
        STARTED.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Threads whose mappings the kernel allows. One more fails where it is made, for want of a stack,
/// or after its start, for want of a signal stack: then the standard library aborts.
static MAX_THREADS: LazyLock<usize> =
    LazyLock::new(|| most(std::fs::read_to_string("/proc/sys/vm/max_map_count").ok().as_deref()));

/// How many threads may live at once under this limit of mappings.
fn most(limit: Option<&str>) -> usize {
    /// A stack and a stack for signals, each with its guard page.
    const EACH: usize = 4;
    /// What the process has besides.
    const OTHERS: usize = 500;
    let limit = limit.and_then(|limit| limit.trim().parse::<usize>().ok());
    limit.map_or(usize::MAX, |limit| limit.saturating_sub(OTHERS) / EACH)
}

/// Starts a thread with a stack of `stack` bytes.
///
/// # Errors
/// Those of thread creation: `EAGAIN` at a limit of tasks or, by `vm.max_map_count`, of mappings.
pub fn spawn<T: Send + 'static>(stack: usize, body: impl FnOnce() -> T + Send + 'static) -> io::Result<JoinHandle<T>> {
    let others = STARTED.fetch_add(1, Ordering::Relaxed);
    let counted = Counted;
    if others >= *MAX_THREADS {
        return Err(refused::note(io::Error::from_raw_os_error(libc::EAGAIN)));
    }
    let started = Builder::new().stack_size(stack).spawn(move || {
        let _counted = counted;
        body()
    });
    started.map_err(refused::note)
}

/// Whether another thread would be refused for its mappings.
pub(crate) fn mappings_used_up() -> bool {
    STARTED.load(Ordering::Relaxed) >= *MAX_THREADS
}

/// How many threads this process has.
pub fn count() -> usize {
    match std::fs::read_dir("/proc/self/task") {
        Ok(tasks) => tasks.count(),
        Err(_) => 1 + STARTED.load(Ordering::Relaxed),
    }
}

/// A thread whose state other threads of its process may look at.
#[derive(Debug)]
pub struct Watched(File);

impl Watched {
    /// The calling thread.
    ///
    /// # Errors
    /// Those of opening a file in `/proc`.
    pub fn myself() -> io::Result<Watched> {
        File::open("/proc/thread-self/stat").map(Watched)
    }

    /// Whether it sleeps, until it is woken or a signal comes.
    ///
    /// # Errors
    /// Those of reading a file in `/proc`.
    pub fn is_asleep(&self) -> io::Result<bool> {
        // The name of the thread, which may hold anything, is at most 64 bytes long.
        let mut text = [0; 128];
        let read = self.0.read_at(&mut text, 0)?;
        let after = text[..read].iter().rposition(|byte| *byte == b')').map_or(0, |at| at + 1);
        Ok(text[after..read].starts_with(b" S"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_threads_as_the_limit_of_mappings_has_room_for() {
        assert_eq!([Some("65530\n"), Some("100\n"), None].map(most), [16_257, 0, usize::MAX]);
    }

    /// In a child, where no other thread starts threads.
    #[test]
    fn threads_are_counted_from_their_start_to_their_end() {
        let exit = crate::testing::in_child(|| {
            let seen = || (count(), STARTED.load(Ordering::Relaxed));
            let (alone, (sender, receiver), (stay, leave)) =
                (seen(), std::sync::mpsc::channel(), std::sync::mpsc::channel::<()>());
            let body = move || {
                let said = sender.send(7).is_ok();
                (leave.recv().is_err(), said)
            };
            let Ok(other) = spawn(1 << 17, body) else { return 255 };
            let there = receiver.recv() == Ok(7);
            let two = seen();
            drop(stay);
            let result = other.join().ok();
            // The kernel counts a thread for a moment after it was joined.
            let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
            while count() != 1 && std::time::Instant::now() < until {
                std::thread::yield_now();
            }
            let started = alone.1;
            crate::testing::first_wrong(&[
                alone.0 == 1,
                there && two == (2, started + 1),
                result == Some((true, true)),
                seen() == (1, started),
            ])
        });
        assert_eq!(exit, Some(0));
    }

    /// And not a much larger one: a thousand of them must fit.
    #[test]
    fn a_thread_has_a_stack_of_the_requested_size() {
        let size = |bytes: usize| {
            let body = || {
                let here = 0u8;
                let at = std::ptr::from_ref(&here).addr();
                let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
                let number = |text: &str| usize::from_str_radix(text, 16).ok();
                maps.lines().find_map(|line| {
                    let (from, to) = line.split(' ').next()?.split_once('-')?;
                    let (from, to) = (number(from)?, number(to)?);
                    (from <= at && at < to).then(|| to - from)
                })
            };
            spawn(bytes, body).expect("a thread").join().expect("no panic")
        };
        let (Some(small), Some(large)) = (size(256 << 10), size(64 << 20)) else {
            return println!("skipped: no /proc");
        };
        assert!(large >= 64 << 20 && small < 32 << 20, "{small} {large}");
    }

    #[test]
    fn a_thread_is_asleep_from_its_wait_until_it_is_woken() {
        let (watched, waits) = (std::sync::mpsc::channel(), std::sync::mpsc::channel::<()>());
        let body = move || {
            let myself = Watched::myself().ok();
            let awake = myself.as_ref().is_some_and(|myself| myself.is_asleep().is_ok_and(|asleep| !asleep));
            watched.0.send(myself).is_ok() && waits.1.recv().is_err() && awake
        };
        let thread = spawn(128 << 10, body).expect("a thread");
        let Some(seen) = watched.1.recv().expect("it tells") else { return println!("skipped: no /proc") };
        let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while !seen.is_asleep().expect("a state") {
            assert!(std::time::Instant::now() < until, "it does not sleep");
            std::thread::yield_now();
        }
        drop(waits.0);
        assert!(thread.join().expect("no panic"));
    }
}
