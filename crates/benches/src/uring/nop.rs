//! Through the rings of io_uring for nothing: an operation that does nothing is submitted, and its completion taken.
//!
//! Measures what each operation pays for the rings: an entry written, its share of one `io_uring_enter` that submits all of a
//! batch and waits for all of it, the kernel's work on each, a completion written and taken. The value is of one operation:
//! with a batch of 1 it is the price of a system call with rings around it, with 32 the rings are nearly all of it. Does not
//! measure rings that a thread of the kernel polls.
//!
//! Method: many batches in one short interval, by number, without a library. Each completion has to carry the next number and
//! a result of 0. The proof is the same loop in a child cut off from the kernel.
//!
//! Traps: where io_uring is not there, it matters why: a kernel without it, a filter that hides it, a filter that forbids it
//! or `kernel.io_uring_disabled` are told apart.
//!
//! Source: os-methods 2.20; the kernel has the operation for nothing but this.

use super::{BATCH, rings};
use crate::entry;
use groma_harness::prelude::*;

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

fn run(ctx: &mut Ctx) -> Outcome {
    let batch = ctx.int("batch");
    let mut ring = rings(batch)?;
    let (mut submitted, mut completed) = (0u64, 0u64);
    let mut body = |iters| {
        let mut wrong = 0u64;
        for _ in 0..iters {
            for _ in 0..batch {
                ring.push_nop(submitted);
                submitted += 1;
            }
            wrong += u64::from(ring.enter(batch as u32) != batch as isize);
            while let Some(completion) = ring.pop() {
                wrong += u64::from(completion.data != completed || completion.result != 0);
                completed += 1;
            }
            wrong += u64::from(completed != submitted);
        }
        if wrong == 0 {
            Ok(())
        } else {
            Err(BenchError::Failed(format!("{wrong} mistakes in the completions of operations")))
        }
    };
    ctx.measure_per(batch as f64, &mut body)?;
    entry::asks_the_kernel(ctx, body);
    let each = completed as f64 / (ctx.iterations() * batch) as f64;
    ctx.prove("completions taken per operation submitted", "exactly 1", each, 1.0..=1.0);
    Ok(())
}
