//! Reading 4 KiB anywhere in a file that the kernel holds in memory.
//!
//! Measures `pread` of a block of 4 KiB: the way into the kernel, the search for the page, and the copy. It is what a
//! database pays for a page that only the kernel has. Does not measure a disk.
//!
//! Method: the blocks of the file in a random order, each once before any comes again, many in one short interval.
//! Every call has to give a whole block whose first word is the one that was written. The file and its proofs are those
//! of `file.reread`.
//!
//! Traps: read-ahead, which has nothing to do in a file that is all there; offsets that repeat, so that the
//! second-level cache is measured: up to there the size of the file decides where the bytes come from.
//!
//! Source: the cached half of what fio calls `randread`; the ancestors read in sequence only.

use super::cached::{Cached, SIZE, whole};
use super::{OBJECT, WHERE};
use crate::work::Done;
use groma_harness::prelude::*;
use groma_harness::sys::files::read_at;
use groma_harness::sys::pages::{Map, Policy};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Reading 4 KiB anywhere in a file that is in memory",
        about: about!("pread_random.rs"),
        iteration: "one pread of 4 KiB",
        params: &[SIZE, WHERE, OBJECT],
        needs: &[Need::WorkDir],
        target_half_width: 0.03,
        ..Info::new("file.pread_random")
    },
    run: Run::Here(run),
};

/// Bytes of one call: the page of most databases and most CPUs.
const PIECE: usize = 4096;

fn run(ctx: &mut Ctx) -> Outcome {
    let cached = Cached::new(ctx, false)?;
    let mut buffer = Map::anonymous(PIECE, Policy::Base).context("mapping the buffer")?;
    buffer.populate();
    // Where to read, and what has to be found there.
    let mut pieces: Vec<(u64, u64)> =
        cached.map.chunks_exact(PIECE).zip(0..).map(|(piece, n)| (n * PIECE as u64, first_word(piece))).collect();
    ctx.rng().shuffle(&mut pieces);
    let mut next = pieces.iter().cycle();
    let done = Done::new();
    ctx.measure(|iters| {
        for (at, written) in next.by_ref().take(iters as usize) {
            whole(read_at(&cached.file, &mut buffer, *at).context("reading the file")?, PIECE)?;
            let seen = first_word(&buffer);
            if seen != *written {
                return Err(BenchError::Failed(format!("a block begins with {seen:x}, not with {written:x}")));
            }
            done.add(1);
        }
        Ok(())
    })?;
    done.prove(ctx, "blocks read per block credited");
    cached.prove(ctx)
}

#[inline]
fn first_word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |word| u64::from_ne_bytes(*word))
}
