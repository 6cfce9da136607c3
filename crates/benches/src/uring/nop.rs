//! io_uring overhead: an operation that does nothing is submitted, and its completion consumed.
//!
//! **Measures:** What each operation pays for the rings: writing an entry, its share of one
//! `io_uring_enter` that submits a whole batch and waits for it, the kernel's work on it, and
//! reading its completion. The value is that of one operation. With a batch of 1 it is a system
//! call plus the rings; with 32 the rings are nearly all of it.
//!
//! **Does not measure:** Rings in other modes (`uring.nop_mode`).
//!
//! **Method:** Many batches in one short interval, by number, without a library. Each completion
//! must carry the next number and a result of 0. The proof is the same loop in a child cut off from
//! the kernel.
//!
//! **Pitfalls:** Where io_uring is missing, the reason matters. A kernel without it, a filter that
//! hides it, a filter that forbids it, and `kernel.io_uring_disabled` are told apart.
//!
//! **Sources:** The kernel's `IORING_OP_NOP`, which exists for this purpose. See
//! docs/methods/operating-system.md#io_uring.

use super::BATCH;
use crate::entry;
use crate::rings::rings_with;
use groma_harness::prelude::*;
use groma_harness::sys::uring::Mode;
use std::hint::spin_loop;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "io_uring: an operation that does nothing, submitted and completed",
        about: about!("nop.rs"),
        iteration: "one io_uring_enter with a batch; the value is of one operation",
        params: &[BATCH],
        ..Info::new("uring.nop")
    },
    run: Run::Here(run),
};

/// How often a completion is looked for before the round fails: for minutes.
const MAX_LOOKS: u64 = 1 << 36;

fn run(ctx: &mut Ctx) -> Outcome {
    measure(ctx, Mode::Default, false)
}

/// Measures batches of empty operations through rings of this mode, `linked` or each by itself.
pub(super) fn measure(ctx: &mut Ctx, mode: Mode, linked: bool) -> Outcome {
    let batch = ctx.int("batch");
    let mut ring = rings_with(batch, mode)?;
    let (mut submitted, mut completed, mut woken) = (0u64, 0u64, 0u64);
    let mut body = |iters| {
        let mut wrong = 0u64;
        for _ in 0..iters {
            for left in (0..batch).rev() {
                if linked && left > 0 {
                    ring.push_nop_before(submitted);
                } else {
                    ring.push_nop(submitted);
                }
                submitted += 1;
            }
            if matches!(mode, Mode::Polled(_)) {
                woken += u64::from(ring.publish().context("waking the polling thread")?);
                let mut looks = 0;
                while ring.ready() < batch as u32 && looks < MAX_LOOKS {
                    looks += 1;
                    spin_loop();
                }
            } else {
                wrong += u64::from(ring.enter(batch as u32) != batch as isize);
            }
            while let Some(completion) = ring.pop() {
                wrong += u64::from(completion.data != completed || completion.result != 0);
                completed += 1;
            }
            wrong += u64::from(completed != submitted);
        }
        if wrong == 0 {
            Ok(())
        } else {
            Err(BenchError::Failed(format!("{wrong} completions of operations were wrong or missing")))
        }
    };
    ctx.measure_per(batch as f64, &mut body)?;
    if matches!(mode, Mode::Polled(_)) {
        // A round is shorter than the thread stays awake; a worker that is stopped for a second
        // lets it sleep.
        let each = woken as f64 / ctx.iterations() as f64;
        ctx.prove("system calls that woke the polling thread, per batch", "below 0.1", each, ..0.1);
    } else {
        entry::asks_the_kernel(ctx, body);
    }
    let each = completed as f64 / (ctx.iterations() * batch) as f64;
    ctx.prove("completions taken per operation submitted", "exactly 1", each, 1.0..=1.0);
    Ok(())
}
