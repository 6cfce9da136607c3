//! Reading 4 KiB anywhere in a cached file.
//!
//! **Measures:** `pread` of a block of 4 KiB: the entry into the kernel, the search for the page,
//! and the copy. A database pays this for a page that only the kernel has.
//!
//! **Does not measure:** A disk.
//!
//! **Method:** The blocks of the file are read in random order, each once before any is repeated,
//! many in one short interval. Every call has to return a whole block whose first word is the one
//! that was written. The file and its proofs are those of `file.reread`.
//!
//! **Pitfalls:**
//! - Read-ahead has nothing to do in a file that is in memory.
//! - Repeated offsets would measure the second-level cache: up to its size, the size of the file
//!   decides where the bytes come from.
//!
//! **Sources:** The cached half of what fio calls `randread`; predecessors read in sequence only.
//! See docs/methods/operating-system.md#cached-reads.

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

/// Bytes per call: the page of most databases and most CPUs.
const PIECE: usize = 4096;

fn run(ctx: &mut Ctx) -> Outcome {
    let cached = Cached::new(ctx, false)?;
    let mut buffer = Map::anonymous(PIECE, Policy::Base).context("mapping the buffer")?;
    buffer.populate();
    // Where to read, and the word that has to be found there.
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
