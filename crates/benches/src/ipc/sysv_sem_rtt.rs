//! Round trip of a signal between two processes over two System V semaphores.
//!
//! **Measures:** The hand-over: a `semop` that adds 1 to one semaphore of a set, and a `semop` that
//! takes 1 from the other. Each side sleeps until the other has added.
//!
//! **Does not measure:** An uncontended semaphore (`lock.sysv_sem`).
//!
//! **Method:** As `ipc.pipe_rtt` (`trip.rs`). The value is a whole round trip of four calls.
//! lmbench prints half of one, and takes from one semaphore and adds to the other in a single call,
//! so its round trip has two calls. The set belongs to a guardian (`groma_sys::guardian`): nothing
//! is left behind, not even after SIGKILL.
//!
//! **Pitfalls:**
//! - Sets left behind by a killed benchmark (lmbench `lat_sem` after Ctrl-C).
//! - A signal handler that kills a process id read from the wrong memory (also `lat_sem`).
//!
//! **Sources:** lmbench3 `lat_sem`. See docs/methods/operating-system.md#round-trips.

use super::trip::{self, End};
use super::{NEAR, ONE_PROCESS_EACH};
use groma_harness::prelude::*;
use groma_harness::sys::sysv::{self, Semaphores};
use std::io;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Round trip between two processes over two System V semaphores",
        about: about!("sysv_sem_rtt.rs"),
        iteration: "one round trip: two semop on each side",
        timing: Timing::Each,
        scaling: ONE_PROCESS_EACH,
        placements: NEAR,
        lineage: &["lmbench3:lat_sem"],
        interference: Interference::Blocking,
        target_half_width: 0.02,
        ..Info::new("ipc.sysv_sem_rtt")
    },
    run: Run::Here(run),
};

/// An end: the set, and the index of the semaphore that it waits on; it adds to the other one.
struct Waits {
    set: i32,
    input: u16,
}

impl End for Waits {
    fn message(&mut self) -> &mut [u8] {
        &mut []
    }

    #[inline]
    fn send(&mut self) -> io::Result<()> {
        sysv::add(self.set, 1 - self.input, 1)
    }

    #[inline]
    fn receive(&mut self) -> io::Result<()> {
        sysv::add(self.set, self.input, -1)
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let semaphores = Semaphores::new().context("making System V semaphores")?;
    let end = |input| Waits { set: semaphores.id(), input };
    let (mut here, there) = (end(0), end(1));
    trip::measure(ctx, &mut here, || Ok(there))
}
