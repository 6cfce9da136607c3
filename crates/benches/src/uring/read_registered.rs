//! Reading 4 KiB from the page cache through io_uring, where the kernel was told in advance of the
//! file, the buffers, or both.
//!
//! **Measures:** The read of `uring.read`, with what each saves: a registered file need not be
//! looked up in the table of descriptors (`IORING_REGISTER_FILES`), registered buffers are pinned
//! once instead of being checked in every copy (`IORING_REGISTER_BUFFERS`). `.plain` is the same
//! read with neither, and `.net` what the registration costs more, or, below zero, less.
//!
//! **Does not measure:** The registration itself, or direct reads from a disk, where a registered
//! buffer saves pinning its pages each time.
//!
//! **Method:** That of `uring.read`: two loops take turns within a round, each with a ring of its
//! own, and each read must fill its part of the buffer.
//!
//! **Proofs:** Every read is whole, and at the end each part holds the file; all enter the kernel.
//!
//! **Pitfalls:** With one thread and few files a look-up is cheap: programs with threads, whose
//! table of descriptors is shared, gain more.
//!
//! **Sources:** The kernel's documentation of `io_uring_register`. See
//! docs/methods/operating-system.md#io_uring.

use super::BATCH;
use super::read::{PART, all_read, not_handed_on};
use crate::entry;
use crate::rings::rings;
use crate::scratch::Scratch;
use crate::work::{self, Done};
use groma_harness::prelude::*;
use groma_harness::sys::uring::{Known, Registered};
use std::fs::File;
use std::os::unix::fs::FileExt;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "io_uring: read of 4 KiB with a registered file or registered buffers",
        about: about!("read_registered.rs"),
        iteration: "one io_uring_enter with a batch of reads; the value is of one read",
        outputs: &[
            Output::MAIN.series("registered"),
            Output::named("plain", "the same read with nothing registered"),
            Output::named("net", "what the registered read costs more, or less").difference("registered", "plain"),
        ],
        params: &[
            Param::word("known", "what the kernel was told of", &["both", "file", "buffers"])
                .quick(&["both"])
                .full(&["file", "buffers"]),
            BATCH.quick(&["32"]).standard(&[]).full(&["1", "8"]),
        ],
        needs: &[Need::WorkDir],
        target_half_width: 0.02,
        tier: Tier::Standard,
        ..Info::new("uring.read_registered")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let (batch, word) = (ctx.int("batch"), ctx.word("known"));
    let known = Known { file: word != "buffers", buffers: word != "file" };
    let scratch = Scratch::new(ctx)?;
    let file = scratch.random_file(PART as u64, ctx)?;
    let mut content = [0; PART];
    file.read_exact_at(&mut content, 0).context("reading the file")?;
    let make = |file: File, known| -> Result<Registered, BenchError> {
        Registered::new(rings(batch)?, file, known, batch as usize, PART).context("io_uring_register")
    };
    let again = file.try_clone().context("duplicating a descriptor")?;
    let (mut told, mut untold) = (make(file, known)?, make(again, Known { file: false, buffers: false })?);
    let (by_told, by_untold) = (Done::new(), Done::new());
    let mut registered = |iters| read(&mut told, iters, batch, &by_told);
    not_handed_on(&mut registered)?;
    let tried = by_told.count();
    let plain = |iters| read(&mut untold, iters, batch, &by_untold);
    ctx.measure_variants(&mut [
        Variant::new("registered", &mut registered).per_iter(batch as f64),
        Variant::new("plain", plain).per_iter(batch as f64),
    ])?;
    let credited = ctx.iterations_of("registered") * batch;
    work::once_each(ctx, "registered reads that were whole, per read credited", by_told.count() - tried, credited);
    let credited = ctx.iterations_of("plain") * batch;
    work::once_each(ctx, "plain reads that were whole, per read credited", by_untold.count(), credited);
    entry::asks_the_kernel(ctx, registered);
    let wrong = told.parts().chain(untold.parts()).filter(|part| **part != content).count();
    ctx.prove("parts of the buffers that are not the file", "0", wrong as f64, 0.0..=0.0);
    Ok(())
}

#[inline]
fn read(from: &mut Registered, iters: u64, batch: u64, done: &Done) -> Outcome {
    let mut filled = 0;
    for _ in 0..iters {
        filled += from.read().context("io_uring_enter")? as u64;
    }
    done.add(filled);
    all_read(iters * batch, filled)
}
