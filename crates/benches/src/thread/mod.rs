//! Threads: creating and joining them.

use groma_harness::{BenchError, Benchmark};
use std::io;

mod create_join;
mod create_many;

pub(crate) const ALL: &[&Benchmark] = &[&create_join::BENCH, &create_many::BENCH];

/// Stack size of a thread, in bytes.
const STACK: usize = 64 << 10;

/// The error for a thread that could not be created. A limit on tasks is a refusal by the system
/// and not a failure of groma.
fn no_thread(what: &str, error: &io::Error) -> BenchError {
    match error.kind() {
        // EAGAIN, from the kernel, or from libc where the kernel said ENOMEM.
        io::ErrorKind::WouldBlock => BenchError::Denied(format!("{what}: {error} (a limit on tasks or memory)")),
        _ => BenchError::from_io(what, error),
    }
}
