//! Reading 4 KiB from the page cache through io_uring, beside `pread` of the same data.
//!
//! **Measures:** Submission, copy and completion where nothing waits: what a program gains or loses
//! by changing from `pread` to io_uring, before any disk is involved. The value is that of one
//! read; the reads of a batch share one `io_uring_enter`. `.pread` is the same reads one by one, by
//! number. `.net` is what io_uring costs more, or, below zero, less.
//!
//! **Does not measure:** A read that waits for a disk (`disk.queue`), the submission alone
//! (`uring.nop`), or a kernel thread that polls the ring.
//!
//! **Method:** A file of 4 KiB is read into each part of a buffer. The two loops take turns within
//! a round, so their difference is paired and never clamped. Each read must fill its part, and at
//! the end each part of both buffers must equal the file. The proof is the first loop in a child
//! cut off from the kernel.
//!
//! **Pitfalls:**
//! - A read that the file system cannot make without waiting goes to a kernel thread, even where
//!   the page cache holds all of it (tmpfs). That is another metric: trial reads come first, and
//!   where they switch tasks the round ends as `unsupported`.
//! - Where io_uring is missing, the reason is reported (`uring.nop`).
//!
//! **Sources:** See docs/methods/operating-system.md#io_uring.

use super::BATCH;
use crate::entry;
use crate::rings::rings;
use crate::scratch::Scratch;
use crate::work::{self, Done};
use groma_harness::prelude::*;
use groma_harness::sys::counters::Usage;
use groma_harness::sys::raw;
use std::os::fd::AsFd;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "io_uring: read of 4 KiB from the page cache",
        about: about!("read.rs"),
        iteration: "one io_uring_enter with a batch of reads; the value is of one read",
        outputs: &[
            Output::MAIN.series("uring"),
            Output::named("pread", "the same read by pread"),
            Output::named("net", "what the rings cost more than pread, or less").difference("uring", "pread"),
        ],
        params: &[BATCH.standard(&[]).full(&["8", "32"])],
        needs: &[Need::WorkDir],
        target_half_width: 0.02,
        ..Info::new("uring.read")
    },
    run: Run::Here(run),
};

/// Bytes of one read.
pub(super) const PART: usize = 4096;

fn run(ctx: &mut Ctx) -> Outcome {
    let batch = ctx.int("batch");
    let mut ring = rings(batch)?;
    let scratch = Scratch::new(ctx)?;
    let file = scratch.random_file(PART as u64, ctx)?;
    let fd = file.as_fd();
    let mut content = [0; PART];
    all_read(1, u64::from(raw::pread(fd, &mut content) == PART as isize))?;
    let (mut ours, mut theirs) = (vec![0u8; PART * batch as usize], vec![0u8; PART * batch as usize]);
    let (by_uring, by_pread) = (Done::new(), Done::new());
    let mut uring = |iters| {
        let mut filled = 0;
        for _ in 0..iters {
            filled += ring.read(fd, &mut ours, PART).context("io_uring_enter")? as u64;
        }
        by_uring.add(filled);
        all_read(iters * batch, filled)
    };
    not_handed_on(&mut uring)?;
    let pread = |iters| {
        let mut filled = 0;
        for _ in 0..iters {
            for part in theirs.chunks_exact_mut(PART) {
                filled += u64::from(raw::pread(fd, part) == PART as isize);
            }
        }
        by_pread.add(filled);
        all_read(iters * batch, filled)
    };
    let tried = by_uring.count();
    ctx.measure_variants(&mut [
        Variant::new("uring", &mut uring).per_iter(batch as f64),
        Variant::new("pread", pread).per_iter(batch as f64),
    ])?;
    let seen = by_uring.count() - tried;
    work::once_each(
        ctx,
        "reads by io_uring that were whole, per read credited",
        seen,
        ctx.iterations_of("uring") * batch,
    );
    let credited = ctx.iterations_of("pread") * batch;
    work::once_each(ctx, "reads by pread that were whole, per read credited", by_pread.count(), credited);
    entry::asks_the_kernel(ctx, uring);
    let wrong = ours.chunks_exact(PART).chain(theirs.chunks_exact(PART)).filter(|part| **part != content).count();
    ctx.prove("parts of the buffers that are not the file", "0", wrong as f64, 0.0..=0.0);
    Ok(())
}

/// `Unsupported` where another task makes the reads.
pub(super) fn not_handed_on(read: impl FnMut(u64) -> Outcome) -> Outcome {
    if !is_handed_on(read)? {
        return Ok(());
    }
    Err(BenchError::Unsupported(
        "this file system does not read without waiting: io_uring hands each read to a thread of the kernel's".into(),
    ))
}

/// Whether another task makes the reads: this one then gives up its CPU for each batch, otherwise
/// never.
fn is_handed_on(mut read: impl FnMut(u64) -> Outcome) -> Result<bool, BenchError> {
    const TRIES: u64 = 100;
    let before = Usage::thread();
    read(TRIES)?;
    let used = Usage::thread().since(&before);
    Ok(used.voluntary + used.involuntary >= TRIES / 2)
}

pub(super) fn all_read(wanted: u64, filled: u64) -> Outcome {
    if filled == wanted { Ok(()) } else { Err(BenchError::Failed(format!("{filled} of {wanted} reads were whole"))) }
}

#[cfg(test)]
mod tests {

    use super::*;

    /// /proc/self/maps cannot be read without waiting.
    #[test]
    fn reads_that_are_handed_on_are_noticed() {
        let (Ok(mut ring), Ok(told)) = (rings(1), std::fs::File::open("/proc/self/maps")) else {
            return eprintln!("no rings here, or no /proc");
        };
        // Not a file of ours: it may be on tmpfs, whose reads are handed to a thread as well.
        let zero = std::fs::File::open("/dev/zero").expect("/dev/zero");
        for (file, expected) in [(&told, true), (&zero, false)] {
            let mut buffer = [0; 8];
            let handed_on = is_handed_on(|n| {
                let read = |_| ring.read(file.as_fd(), &mut buffer, 8).context("reading").map(|filled| filled as u64);
                all_read(n, (0..n).map(read).sum::<Result<u64, BenchError>>()?)
            });
            assert_eq!(handed_on, Ok(expected));
        }
    }
}
