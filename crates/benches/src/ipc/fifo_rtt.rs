//! Round trip of one message between two processes over two FIFOs (named pipes).
//!
//! **Measures:** What `ipc.pipe_rtt` measures, on pipes opened by path. The inode is on a file
//! system; the path of the bytes should be the same.
//!
//! **Does not measure:** Creating or opening a FIFO.
//!
//! **Method:** As `ipc.pipe_rtt` (`trip.rs`). The names are removed before the first message. A
//! file system without FIFOs is reported with the kernel's error.
//!
//! **Pitfalls:**
//! - Opening one end waits for the other, so two programs that open two FIFOs in different orders
//!   deadlock. Here the read end is opened first and without waiting.
//! - A helper process can outlive its parent: lmbench's writes 48 MB of error lines in 20 s after
//!   its parent is terminated.
//!
//! **Sources:** lmbench3 `lat_fifo`. See docs/methods/operating-system.md#round-trips.

use super::ends::{Stream, message};
use super::{NEAR_PLACEMENTS, ONE_PROCESS_EACH, sizes, trip};
use crate::scratch::Scratch;
use groma_harness::prelude::*;
use groma_harness::sys::kernel_objects::fifo;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Round trip of a message between two processes over two FIFOs",
        about: about!("fifo_rtt.rs"),
        iteration: "one round trip: a write and a read on each side",
        timing: Timing::Each,
        params: &[sizes(&["1", "64", "1K", "16K", "64K"])],
        scaling: ONE_PROCESS_EACH,
        placements: NEAR_PLACEMENTS,
        needs: &[Need::WorkDir],
        interference: Interference::Blocking,
        target_half_width: 0.02,
        tier: Tier::Standard,
        version: 2,
        ..Info::new("ipc.fifo_rtt")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let message = message(ctx)?;
    let scratch = Scratch::new(ctx)?;
    let make = |name| fifo(&scratch.path().join(name)).context("making a FIFO");
    let (mut here, there) = Stream::ends(make("there")?, make("back")?, message);
    trip::measure(ctx, &mut here, || Ok(there))
}
