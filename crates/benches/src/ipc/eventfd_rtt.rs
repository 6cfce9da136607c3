//! Round trip of a signal between two processes over two eventfd counters.
//!
//! **Measures:** A write and a read of an `eventfd` on each side. A write adds an 8-byte number to
//! a counter in the kernel: the smallest object with a descriptor that one process can wait on and
//! another can signal.
//!
//! **Does not measure:** `epoll` in between, or one task that writes to itself (`lock.eventfd`).
//!
//! **Method:** As `ipc.pipe_rtt` (`trip.rs`). Each read must return 1, so no signal is lost or
//! counted twice.
//!
//! **Pitfalls:** will-it-scale `eventfd1` has one task that talks to itself, and calls it IPC.
//!
//! **Sources:** None of the reference papers measures it. See
//! docs/methods/operating-system.md#round-trips.

use super::trip::{self, End};
use super::{NEAR_PLACEMENTS, ONE_PROCESS_EACH};
use groma_harness::prelude::*;
use groma_harness::sys::io::{read_full, write_full};
use groma_harness::sys::kernel_objects::eventfd;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Round trip between two processes over two event counters",
        about: about!("eventfd_rtt.rs"),
        iteration: "one round trip: a write and a read on each side",
        timing: Timing::Each,
        scaling: ONE_PROCESS_EACH,
        placements: NEAR_PLACEMENTS,
        interference: Interference::Blocking,
        target_half_width: 0.02,
        version: 2,
        ..Info::new("ipc.eventfd_rtt")
    },
    run: Run::Here(run),
};

/// An end: the counter that it waits on and the counter that it adds to.
struct Counters {
    input: OwnedFd,
    output: OwnedFd,
}

impl End for Counters {
    fn message(&mut self) -> &mut [u8] {
        &mut []
    }

    #[inline]
    fn send(&mut self) -> io::Result<()> {
        write_full(self.output.as_fd(), &1u64.to_ne_bytes())
    }

    #[inline]
    fn receive(&mut self) -> io::Result<()> {
        let mut count = [0; 8];
        read_full(self.input.as_fd(), &mut count)?;
        match u64::from_ne_bytes(count) {
            1 => Ok(()),
            n => Err(io::Error::other(format!("a counter of {n}"))),
        }
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let make = || eventfd().context("making an event counter");
    let again = |counter: &OwnedFd| counter.try_clone().context("duplicating a descriptor");
    let (forth, back) = (make()?, make()?);
    let mut here = Counters { input: again(&back)?, output: again(&forth)? };
    let there = Counters { input: forth, output: back };
    trip::measure(ctx, &mut here, || Ok(there))
}
