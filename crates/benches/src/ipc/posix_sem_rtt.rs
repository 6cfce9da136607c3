//! A signal there and back between two processes over two POSIX semaphores.
//!
//! Measures the hand-over: `sem_post` on one semaphore, `sem_wait` on the other, through the C library, each side
//! asleep until the other has posted. Does not measure a semaphore that nobody waits for, which never enters the kernel
//! (`lock.posix_sem`).
//!
//! Method and proofs: as `ipc.pipe_rtt` (`trip.rs`). The semaphores lie in shared memory, without a name, on cache
//! lines of their own. A library may look at a semaphore for a while before it sleeps (musl does so a hundred times),
//! and between two CPUs that can be enough: it belongs to what a program gets.
//!
//! Traps: uncontended called contended (will-it-scale `posix_semaphore1` makes 54 million a second); half a round trip
//! (lmbench prints its semaphores so).
//!
//! Source: os-methods; no table of the five papers has it.

use super::trip::{self, End};
use super::{NEAR, ONE_PROCESS_EACH};
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
        placements: NEAR,
        interference: Interference::Blocking,
        target_half_width: 0.02,
        tier: Tier::Standard,
        ..Info::new("ipc.posix_sem_rtt")
    },
    run: Run::Here(run),
};

/// An end: the semaphore that it waits on; it posts the other one.
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
