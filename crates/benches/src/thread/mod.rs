//! Threads.

use groma_harness::{BenchError, Benchmark};
use std::io;

mod create_join;
mod create_many;

pub(crate) const ALL: &[&Benchmark] = &[&create_join::BENCH, &create_many::BENCH];

/// Bytes of stack.
const STACK: usize = 64 << 10;

/// A limit on tasks is the system's refusal, and no fault of this program.
fn no_thread(what: &str, error: &io::Error) -> BenchError {
    match error.kind() {
        // EAGAIN, from the kernel or from libc for the kernel's ENOMEM.
        io::ErrorKind::WouldBlock => BenchError::Denied(format!("{what}: {error} (a limit on tasks or memory)")),
        _ => BenchError::from_io(what, error),
    }
}
