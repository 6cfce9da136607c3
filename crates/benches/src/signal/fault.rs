//! An access that the hardware refuses, reported to the program by a signal.
//!
//! **Measures:** The exception, the kernel's search for the mapping and its check of the
//! permission, the frame on the stack, a handler that counts, `rt_sigreturn`, and the instruction
//! again.
//!
//! - `write` is to a read-only page.
//! - `read` is of a page without any permission.
//! - `past_end` is of a mapped file beyond its end, which is a SIGBUS raised by the file system.
//!
//! **Does not measure:** A handler that reopens the page (`signal.write_barrier`).
//!
//! **Method:** The handler returns, the instruction runs again and is refused again: 256 times in
//! one interval, with no other system call. Then the handler opens the page, so the loop ends
//! without a jump. That is one `mprotect` or `ftruncate` of some 1.2 us in 400 us, which stays in
//! the value. The page is closed again outside the timed part. Nothing is subtracted; what sending
//! alone costs is `signal.catch`. With `stack=alternate` the handler has its own stack, as a
//! handler of stack overflows must. The proof is that the handler has run exactly once per access.
//!
//! **Pitfalls:**
//! - lmbench subtracts the cost of catching from another run, itself a difference, and prints
//!   nothing when less than zero is left (0.09 to 8.03 us in six runs).
//! - Rust's runtime has its own handler on an alternate stack, which is saved and restored.
//! - The frame holds the vector registers and grows with them. The largest frame is a fact.
//!
//! **Sources:** lmbench3 `lat_sig prot` (there a page of a file, and the difference). See
//! docs/methods/operating-system.md#refused-accesses.

use super::PROCESSES;
use groma_harness::prelude::*;
use groma_harness::sys::signals;
use groma_harness::sys::trap::{Refused, Trap};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Access that the hardware refuses, caught as a signal",
        about: about!("fault.rs"),
        iteration: "256 refused accesses in a row; the value is of one",
        params: &[
            Param::word(
                "kind",
                "write to a read-only page, read of a forbidden one, read beyond the end of a file",
                &["write", "read", "past_end"],
            )
            .quick(&["write"]),
            Param::word(
                "stack",
                "the stack on which the handler runs: that of the thread, or an alternate one",
                &["thread", "alternate"],
            )
            .quick(&["thread"]),
        ],
        scaling: PROCESSES,
        interference: Interference::Faults,
        target_half_width: 0.02,
        ..Info::new("signal.fault")
    },
    run: Run::Here(run),
};

/// Refused accesses for each opening of the page.
const TIMES: u64 = 256;

/// The access that the parameter names.
fn refused_access(kind: &str) -> Refused {
    match kind {
        "write" => Refused::Write,
        "read" => Refused::Read,
        _ => Refused::PastEnd,
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let kind = refused_access(ctx.word("kind"));
    let trap = Trap::new(kind, ctx.word("stack") == "alternate").context("setting the trap")?;
    if let Some(bytes) = signals::largest_frame() {
        ctx.fact("signal.largest_frame", bytes);
    }
    let before = trap.taken();
    let touch = Variant::staged("", |iters, watch| {
        for _ in 0..iters {
            watch.start();
            trap.touch(TIMES);
            watch.stop();
            trap.close().context("closing the page")?;
        }
        Ok(())
    });
    ctx.measure_variants(&mut [touch.per_iter(TIMES as f64)])?;
    let each = (trap.taken() - before) as f64 / (ctx.iterations() * TIMES) as f64;
    ctx.prove("accesses refused per access asked for", "exactly 1", each, 1.0..=1.0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All of them are refused as often as is asked.
    #[test]
    fn the_access_is_the_one_that_is_named() {
        let named = ["write", "read", "past_end"].map(refused_access);
        assert_eq!(named, [Refused::Write, Refused::Read, Refused::PastEnd]);
    }
}
