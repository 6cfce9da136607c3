//! Counted threads, so that the one-thread rule of [`crate::fork`] can be checked even without
//! `/proc`.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, JoinHandle};

/// Threads started through [`spawn`] that have not ended: the fallback of the check where `/proc`
/// is missing.
static STARTED: AtomicUsize = AtomicUsize::new(0);

struct Counted;

impl Drop for Counted {
    fn drop(&mut self) {
        STARTED.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Starts a thread with a stack of `stack` bytes.
///
/// # Errors
/// Those of thread creation: `EAGAIN` at a limit of tasks.
pub fn spawn<T: Send + 'static>(stack: usize, body: impl FnOnce() -> T + Send + 'static) -> io::Result<JoinHandle<T>> {
    STARTED.fetch_add(1, Ordering::Relaxed);
    let counted = Counted;
    Builder::new().stack_size(stack).spawn(move || {
        let _counted = counted;
        body()
    })
}

/// How many threads this process has.
pub fn count() -> usize {
    match std::fs::read_dir("/proc/self/task") {
        Ok(tasks) => tasks.count(),
        Err(_) => 1 + STARTED.load(Ordering::Relaxed),
    }
}
