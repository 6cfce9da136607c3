//! Round trip of a signal between two processes over two words of shared memory and futexes.
//!
//! **Measures:** The smallest wake-up between processes: a store, FUTEX_WAKE, and in the peer
//! FUTEX_WAIT until the word has changed. Every lock and semaphore of a library comes down to this
//! when it has to wait.
//!
//! **Does not measure:** Spinning (`ipc.spin_rtt`).
//!
//! **Method:** As `ipc.pipe_rtt` (`trip.rs`). A word holds the number of its message. Both sides
//! always make the FUTEX_WAKE call, as if they did not know whether the other one sleeps. The words
//! are on separate cache lines and use shared futex keys.
//!
//! **Pitfalls:**
//! - A wait can return without a reason; it is then repeated.
//! - Futexes of other processes can share a bucket of the kernel's hash table.
//!
//! **Sources:** `perf bench futex` measures many waiters instead. See
//! docs/methods/operating-system.md#round-trips.

use super::trip::{self, End};
use super::{NEAR_PLACEMENTS, ONE_PROCESS_EACH, WORDS, ends};
use crate::work::FIRST_TRIPS;
use groma_harness::prelude::*;
use groma_harness::sys::fork::PeerWatch;
use groma_harness::sys::shared::{self, Shared};
use std::io;
use std::sync::atomic::{AtomicU32, Ordering::Acquire, Ordering::Release};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Round trip between two processes over shared memory and futexes",
        about: about!("futex_rtt.rs"),
        iteration: "one round trip: a wake and a wait on each side",
        timing: Timing::Each,
        outputs: &[Output::MAIN, FIRST_TRIPS],
        scaling: ONE_PROCESS_EACH,
        placements: NEAR_PLACEMENTS,
        interference: Interference::Blocking,
        target_half_width: 0.02,
        version: 2,
        ..Info::new("ipc.futex_rtt")
    },
    run: Run::Here(run),
};

/// An end: the word that it waits on, the word that it changes, and the number of messages so far.
struct Words<'a> {
    input: &'a AtomicU32,
    output: &'a AtomicU32,
    received: u32,
    sent: u32,
}

impl End for Words<'_> {
    fn message(&mut self) -> &mut [u8] {
        &mut []
    }

    #[inline]
    fn send(&mut self) -> io::Result<()> {
        self.sent = self.sent.wrapping_add(1);
        self.output.store(self.sent, Release);
        shared::wake(self.output);
        Ok(())
    }

    #[inline]
    fn receive(&mut self) -> io::Result<()> {
        let next = self.received.wrapping_add(1);
        loop {
            match self.input.load(Acquire) {
                seen if seen == next => break,
                seen if seen == self.received => {
                    if PeerWatch::saw_an_end() {
                        return Err(io::ErrorKind::Interrupted.into());
                    }
                    shared::wait(self.input, seen, None);
                }
                seen => return Err(io::Error::other(format!("number {seen} where {next} was to come"))),
            }
        }
        self.received = next;
        Ok(())
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let words = Shared::<AtomicU32>::new(WORDS).context("sharing memory with the peer")?;
    let [mut here, there] = ends(&words).map(|(input, output)| Words { input, output, received: 0, sent: 0 });
    trip::measure(ctx, &mut here, || Ok(there))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_out_of_turn_is_an_error() {
        let (input, output) = (AtomicU32::new(2), AtomicU32::new(0));
        let mut end = Words { input: &input, output: &output, received: 0, sent: 0 };
        assert!(end.receive().is_err());
    }
}
