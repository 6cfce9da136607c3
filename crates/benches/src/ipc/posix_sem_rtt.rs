//! Round trip of a signal between two processes over two POSIX semaphores.
//!
//! **Measures:** The hand-over: `sem_post` on one semaphore and `sem_wait` on the other, through
//! the C library. Each side sleeps until the other has posted.
//!
//! **Does not measure:** An uncontended semaphore, which never enters the kernel
//! (`lock.posix_sem`).
//!
//! **Method:** As `ipc.pipe_rtt` (`trip.rs`). The semaphores are unnamed, in shared memory, on
//! separate cache lines. A library may spin on a semaphore before it sleeps (musl looks a hundred
//! times), and between two CPUs that can suffice. The spinning is part of the value, as it is part
//! of what a program gets.
//!
//! **Pitfalls:**
//! - Uncontended operations reported as contended: will-it-scale `posix_semaphore1` makes 54
//!   million a second.
//! - Half a round trip, which is what lmbench prints for its semaphores.
//!
//! **Sources:** None of the reference papers measures it. See
//! docs/methods/operating-system.md#round-trips.

use super::trip::{self, End};
use super::{NEAR_PLACEMENTS, ONE_PROCESS_EACH};
use groma_harness::prelude::*;
use groma_harness::sys::sync::Semaphores;
use std::io;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Round trip between two processes over two POSIX semaphores",
        about: about!("posix_sem_rtt.rs"),
        iteration: "one round trip: a post and a wait on each side",
        timing: Timing::Each,
        scaling: ONE_PROCESS_EACH,
        placements: NEAR_PLACEMENTS,
        interference: Interference::Blocking,
        target_half_width: 0.02,
        tier: Tier::Standard,
        version: 2,
        ..Info::new("ipc.posix_sem_rtt")
    },
    run: Run::Here(run),
};

/// An end: the index of the semaphore that it waits on; it posts the other one.
struct Waits<'a> {
    semaphores: &'a Semaphores,
    input: usize,
}

impl End for Waits<'_> {
    fn message(&mut self) -> &mut [u8] {
        &mut []
    }

    #[inline]
    fn send(&mut self) -> io::Result<()> {
        self.semaphores.post(1 - self.input)
    }

    #[inline]
    fn receive(&mut self) -> io::Result<()> {
        self.semaphores.wait(self.input)
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let semaphores = Semaphores::new(2).context("making semaphores")?;
    let end = |input| Waits { semaphores: &semaphores, input };
    let (mut here, there) = (end(0), end(1));
    trip::measure(ctx, &mut here, || Ok(there))
}
