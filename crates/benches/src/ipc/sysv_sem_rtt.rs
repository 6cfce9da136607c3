//! Round trip of a signal between two processes over two System V semaphores.
//!
//! **Measures:** The hand-over: a `semop` that adds 1 to one semaphore of a set, and a `semop` that
//! takes 1 from the other. Each side sleeps until the other has added.
//!
//! **Does not measure:** An uncontended semaphore (`lock.sysv_sem`).
//!
//! **Method:** As `ipc.pipe_rtt` (`trip.rs`). The value is a whole round trip: of four calls, or
//! with `semop=both` of two, each of which takes from one semaphore and adds to the other, as in
//! lmbench, which prints half of a round trip. One call for both runs ahead by one message: it
//! takes the answer to the last one and sends the next. The kernel makes a sleeping side's call for
//! it, so on one CPU a side often goes on without giving up the CPU: 0.72 switches were seen for a
//! round trip, which needs two. So this value is no hand-over, and the number of switches is a fact
//! (switches_per_round_trip) instead of a proof. The set belongs to a guardian
//! (`groma_sys::guardian`): nothing is left behind, not even after SIGKILL.
//!
//! **Pitfalls:**
//! - Sets left behind by a killed benchmark (lmbench `lat_sem` after Ctrl-C).
//! - A signal handler that kills a process id read from the wrong memory (also `lat_sem`).
//!
//! **Sources:** lmbench3 `lat_sem`. See docs/methods/operating-system.md#round-trips.

use super::trip::{self, End};
use super::{NEAR_PLACEMENTS, ONE_PROCESS_EACH};
use groma_harness::prelude::*;
use groma_harness::sys::sysv::{self, Semaphores};
use std::io;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Round trip between two processes over two System V semaphores",
        about: about!("sysv_sem_rtt.rs"),
        iteration: "one round trip: two semop on each side, or one",
        timing: Timing::Each,
        params: &[Param::word(
            "semop",
            "a call to take and one to add, or one that does both as in lmbench",
            &["each", "both"],
        )
        .quick(&["each"])],
        scaling: ONE_PROCESS_EACH,
        placements: NEAR_PLACEMENTS,
        interference: Interference::Blocking,
        target_half_width: 0.02,
        version: 2,
        ..Info::new("ipc.sysv_sem_rtt")
    },
    run: Run::Here(run),
};

/// An end: the set, and the index of the semaphore that it waits on; it adds to the other one.
struct Waits {
    set: i32,
    input: u16,
    /// Whether the call that sends also receives, or the other way round.
    both: Option<Both>,
}

/// When an end makes its one call.
#[derive(Clone, Copy, PartialEq)]
enum Both {
    Sending,
    Receiving,
}

impl End for Waits {
    fn message(&mut self) -> &mut [u8] {
        &mut []
    }

    #[inline]
    fn send(&mut self) -> io::Result<()> {
        match self.both {
            None => sysv::add(self.set, 1 - self.input, 1),
            Some(Both::Sending) => sysv::take_and_add(self.set, self.input, 1 - self.input),
            Some(Both::Receiving) => Ok(()),
        }
    }

    #[inline]
    fn receive(&mut self) -> io::Result<()> {
        match self.both {
            None => sysv::add(self.set, self.input, -1),
            Some(Both::Receiving) => sysv::take_and_add(self.set, self.input, 1 - self.input),
            Some(Both::Sending) => Ok(()),
        }
    }

    fn runs_ahead(&self) -> bool {
        self.both.is_some()
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let semaphores = Semaphores::new().context("making System V semaphores")?;
    let set = semaphores.id();
    if ctx.word("semop") == "each" {
        let end = |input| Waits { set, input, both: None };
        return trip::measure(ctx, &mut end(0), || Ok(end(1)));
    }
    let there = Waits { set, input: 1, both: Some(Both::Receiving) };
    trip::measure(ctx, &mut Waits { set, input: 0, both: Some(Both::Sending) }, || {
        // The answer that the first call takes.
        sysv::add(set, 0, 1)?;
        Ok(there)
    })
}
