//! The other tasks of a benchmark, processes or threads that run the same code.

use groma_harness::prelude::*;
use groma_harness::sys::counters::Usage;
use groma_harness::sys::{fork, thread};
use std::io;
use std::os::fd::BorrowedFd;

/// Stack size of a thread: it makes system calls and little else.
const STACK: usize = 128 << 10;

/// The tasks besides the measuring one. They exit when told to, each benchmark in its own way;
/// processes also when this is dropped.
pub(super) enum Tasks {
    Processes(Vec<fork::Child>),
    Threads(Vec<std::thread::JoinHandle<(i32, Usage)>>),
}

impl Tasks {
    /// No tasks yet, of the kind `thread` or `process`.
    pub(super) fn of(kind: &str) -> Tasks {
        if kind == "thread" { Tasks::Threads(Vec::new()) } else { Tasks::Processes(Vec::new()) }
    }

    /// Starts another task. `close` lists the descriptors that a process must not keep open. The
    /// new task owns what `life` owns.
    pub(super) fn start(
        &mut self,
        ctx: &Ctx,
        close: &[BorrowedFd<'_>],
        life: impl FnOnce() -> i32 + Send + 'static,
    ) -> Outcome {
        match self {
            Tasks::Processes(children) => children.push(ctx.fork_peer(close, life)?),
            Tasks::Threads(threads) => {
                let counted = move || (life(), Usage::thread());
                threads.push(thread::spawn(STACK, counted).context("starting a thread")?);
            }
        }
        Ok(())
    }

    /// Waits for all tasks. Returns their exit codes and what the kernel counted for each.
    pub(super) fn wait(self) -> Result<Vec<(i32, Usage)>, BenchError> {
        match self {
            Tasks::Processes(children) => children
                .into_iter()
                .map(|child| child.wait().map(|exit| (exit.code().unwrap_or(-1), exit.usage)))
                .collect::<io::Result<_>>()
                .context("waiting for a process"),
            Tasks::Threads(threads) => threads
                .into_iter()
                .map(|thread| thread.join().map_err(|_| BenchError::Failed("a thread panicked".to_owned())))
                .collect(),
        }
    }
}
