//! Round trip of one message between two processes over two POSIX message queues.
//!
//! **Measures:** `mq_send` and `mq_receive` on each side: a message is copied into the kernel,
//! queued by priority (all have the same), handed to the waiting process, and copied out.
//!
//! **Does not measure:** Notification, priorities, or time-outs.
//!
//! **Method:** As `ipc.pipe_rtt` (`trip.rs`); the calls are made by number. A queue has room for
//! one message, and never holds more. A queue loses its name as soon as it is open and goes with
//! its last descriptor, so nothing is left behind.
//!
//! **Pitfalls:** Limits apply. Without privilege a message has at most `fs.mqueue.msgsize_max`
//! bytes (8192 by default) and a user 819,200 bytes in all queues (RLIMIT_MSGQUEUE). Larger sizes
//! are `unsupported`.
//!
//! **Sources:** None of the reference papers measures it. See
//! docs/methods/operating-system.md#round-trips.

use super::ends::{all, length, message};
use super::trip::{self, End};
use super::{NEAR_PLACEMENTS, ONE_PROCESS_EACH, beyond, sizes};
use groma_harness::prelude::*;
use groma_harness::sys::mq;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Round trip of a message over two POSIX message queues",
        about: about!("mq_rtt.rs"),
        iteration: "one round trip: a send and a receive on each side",
        timing: Timing::Each,
        params: &[sizes(&["1", "64", "1K", "8K"])],
        scaling: ONE_PROCESS_EACH,
        placements: NEAR_PLACEMENTS,
        interference: Interference::Blocking,
        target_half_width: 0.02,
        version: 2,
        ..Info::new("ipc.mq_rtt")
    },
    run: Run::Here(run),
};

/// An end: the queue that it receives from and the queue that it sends to.
struct Queues {
    input: OwnedFd,
    output: OwnedFd,
    message: Vec<u8>,
}

impl End for Queues {
    fn message(&mut self) -> &mut [u8] {
        &mut self.message
    }

    #[inline]
    fn send(&mut self) -> io::Result<()> {
        mq::send(self.output.as_fd(), &self.message)
    }

    #[inline]
    fn receive(&mut self) -> io::Result<()> {
        all(mq::receive(self.input.as_fd(), &mut self.message)?, self.message.len())
    }
}

/// Creates a queue for messages of `size` bytes; `Unsupported` where a limit forbids it.
fn queue(size: usize) -> Result<OwnedFd, BenchError> {
    let queue = mq::queue(1, size);
    match queue.as_ref().map_err(io::Error::kind) {
        Err(io::ErrorKind::InvalidInput) => Err(beyond(size, "fs.mqueue.msgsize_max", mq::most_bytes())),
        // EMFILE: the limit on the bytes in all queues of this user, not on descriptors.
        Err(_) if queue.as_ref().is_err_and(mq::is_limit_of_user) => {
            Err(BenchError::Unsupported("this user has as many bytes in queues as RLIMIT_MSGQUEUE allows".to_owned()))
        }
        _ => queue.context("making a POSIX message queue"),
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let size = length(ctx)?;
    let (forth, back) = (queue(size)?, queue(size)?);
    let message = message(ctx)?;
    let again = |queue: &OwnedFd| queue.try_clone().context("duplicating a descriptor");
    let mut here = Queues { input: again(&back)?, output: again(&forth)?, message: message.clone() };
    let there = Queues { input: forth, output: back, message };
    trip::measure(ctx, &mut here, || Ok(there))
}

#[cfg(test)]
mod tests {
    use super::*;

    use groma_harness::testing::try_out;

    #[test]
    fn a_message_beyond_every_limit_is_unsupported() {
        // 16 MiB is the maximum even for the superuser.
        assert!(matches!(try_out(&BENCH, &[("size", "32M")], None), Err(BenchError::Unsupported(_))));
    }
}
