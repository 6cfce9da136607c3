//! Round trip of a word between two CPUs through their caches; neither process ever sleeps.
//!
//! **Measures:** A store that the peer sees, and one that comes back: at most four transfers
//! of a cache line and no kernel. It is the lower bound for any communication between two CPUs.
//!
//! **Does not measure:** Atomic operations on one word, or more than two CPUs.
//!
//! **Method:** As the other round trips (`trip.rs`), but in intervals of many, since one takes some
//! 100 ns. Each side spins on a word that only the other one writes, on its own cache line. A word
//! holds the number of its message, so none can be missed. The proof is that the peer answered
//! exactly as many.
//!
//! **Pitfalls:**
//! - On one CPU each side would spin until the scheduler preempts it; that placement is
//!   `unsupported`.
//! - A side that is not running makes the other one spin for a time slice, so on a busy machine
//!   half of the intervals can be disturbed.
//! - Two hardware threads of one core share its first-level cache. They are another placement with
//!   another value.
//!
//! **Sources:** None of the reference papers measures it. See
//! docs/methods/operating-system.md#round-trips.

use super::trip::{self, End};
use super::{WORDS, ends};
use crate::proofs;
use groma_harness::prelude::*;
use groma_harness::sys::shared::Shared;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering::Acquire, Ordering::Release};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Round trip of a word between two CPUs that spin on shared memory",
        about: about!("spin_rtt.rs"),
        iteration: "one round trip: a store and a wait on each side",
        scaling: Scaling::alone("a side that spins while the other one waits for a CPU measures the scheduler"),
        placements: &[Placement::SameLlc],
        needs: &[Need::Cpus(2)],
        target_half_width: 0.02,
        ..Info::new("ipc.spin_rtt")
    },
    run: Run::Here(run),
};

/// Loads of a word before the peer counts as gone. They take seconds, and time slices milliseconds.
const PATIENCE: u64 = 1 << 30;

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
        Ok(())
    }

    #[inline]
    fn receive(&mut self) -> io::Result<()> {
        self.received = self.received.wrapping_add(1);
        for _ in 0..PATIENCE {
            if self.input.load(Acquire) == self.received {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        Err(io::ErrorKind::TimedOut.into())
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    if proofs::on_one_cpu(ctx) {
        return Err(BenchError::Unsupported(
            "two processes that spin on one CPU wait for the scheduler, not for each other".to_owned(),
        ));
    }
    let words = Shared::<AtomicU32>::new(WORDS).context("sharing memory with the peer")?;
    let [mut here, there] = ends(&words).map(|(input, output)| Words { input, output, received: 0, sent: 0 });
    trip::measure(ctx, &mut here, || Ok(there))
}
