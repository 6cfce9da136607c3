//! Round trip of one message between two processes over a System V message queue.
//!
//! **Measures:** `msgsnd` and `msgrcv` on each side: one queue with one message type for each
//! direction, as a server and a client use it.
//!
//! **Does not measure:** A queue with a backlog, or creating a queue.
//!
//! **Method:** As `ipc.pipe_rtt` (`trip.rs`). The queue cannot be removed early, which would wake
//! all waiters with an error, nor does it go with its users. So it belongs to a guardian
//! (`groma_sys::guardian`), and nothing is left behind, not even after SIGKILL.
//!
//! **Pitfalls:**
//! - Queues left behind by killed benchmarks, until the system has no more.
//! - A message has at most `kernel.msgmax` bytes (8192 by default). Larger sizes are `unsupported`.
//!
//! **Sources:** None of the reference papers measures it. See
//! docs/methods/operating-system.md#round-trips.

use super::ends::all;
use super::trip::{self, End};
use super::{NEAR_PLACEMENTS, ONE_PROCESS_EACH, beyond, ends, sizes};
use groma_harness::prelude::*;
use groma_harness::sys::sysv::{self, Message, Queue};
use std::io;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Round trip of a message over a System V message queue",
        about: about!("sysv_msg_rtt.rs"),
        iteration: "one round trip: a send and a receive on each side",
        timing: Timing::Each,
        params: &[sizes(&["1", "64", "1K", "8K"])],
        scaling: ONE_PROCESS_EACH,
        placements: NEAR_PLACEMENTS,
        interference: Interference::Blocking,
        target_half_width: 0.02,
        tier: Tier::Standard,
        version: 2,
        ..Info::new("ipc.sysv_msg_rtt")
    },
    run: Run::Here(run),
};

/// An end: the queue, and the message types that it receives and sends.
struct Typed {
    queue: i32,
    input: i64,
    output: i64,
    message: Message,
}

impl End for Typed {
    fn message(&mut self) -> &mut [u8] {
        self.message.text()
    }

    #[inline]
    fn send(&mut self) -> io::Result<()> {
        self.message.send(self.queue, self.output)
    }

    #[inline]
    fn receive(&mut self) -> io::Result<()> {
        let expected = self.message.text().len();
        all(self.message.receive(self.queue, self.input)?, expected)
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let size = ends::length(ctx)?;
    if let Some(limit) = sysv::limit("msgmax")
        && size as u64 > limit
    {
        return Err(beyond(size, "kernel.msgmax", Some(limit)));
    }
    let queue = Queue::new().context("making a System V message queue")?;
    let end = |input, output| Typed { queue: queue.id(), input, output, message: Message::new(size) };
    let (mut here, there) = (end(2, 1), end(1, 2));
    trip::measure(ctx, &mut here, || Ok(there))
}

#[cfg(test)]
mod tests {
    use super::*;

    use groma_harness::testing::try_out;

    #[test]
    fn a_message_beyond_the_limit_is_unsupported() {
        assert!(matches!(try_out(&BENCH, &[("size", "1G")], None), Err(BenchError::Unsupported(_))));
    }
}
