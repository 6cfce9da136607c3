//! Whether the kernel refused this process a task: the same error number, EAGAIN, is what a
//! descriptor without data returns, so an error alone does not tell.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

static REFUSED: AtomicBool = AtomicBool::new(false);

/// Notes an error of a call that creates a process or a thread, and returns it.
pub(crate) fn note(error: io::Error) -> io::Error {
    if error.raw_os_error() == Some(libc::EAGAIN) {
        REFUSED.store(true, Ordering::Relaxed);
    }
    error
}

/// Whether a limit refused a process or a thread to this process so far.
pub fn any_task() -> bool {
    REFUSED.load(Ordering::Relaxed)
}
