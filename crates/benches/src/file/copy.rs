//! Copying a cached file, with and without passing the bytes through the program.
//!
//! **Measures:** How fast the bytes of one file get into another, by calls of 64 KiB:
//! `copy_file_range` and `sendfile`, where the kernel copies from page cache to page cache, and
//! `read_write`, where the bytes pass through a buffer of the program.
//!
//! **Does not measure:** A disk.
//!
//! **Method:** An iteration is one block of 64 KiB; the blocks follow each other through both
//! files, again and again. The pages of the copy exist already. Every call has to move a whole
//! block. The proofs are those of `file.reread` for the original, and that every block of the copy,
//! which was blanked before, equals that of the original.
//!
//! **Calls:**
//! - `kind=copy_file_range size=1M`: `copy_file_range(`, not `sendfile(`
//! - `kind=sendfile size=1M`: `sendfile(`, not `copy_file_range(`
//! - `kind=read_write size=1M`: `pread64(`, not `sendfile(`
//!
//! **Pitfalls:**
//! - Some file systems share blocks instead of copying them. They are asked beforehand, and
//!   `copy_file_range` is then `unsupported`, because it would count bytes that were not moved.
//! - A writer of too many dirty pages has to wait for the disk, so large sizes measure that as
//!   well.
//!
//! **Sources:** lmbench3 `bw_file_rd` for the read side; predecessors only measure copies in
//! memory. See docs/methods/operating-system.md#cached-reads.

use super::cached::{BLOCK, Cached, SIZE, same, sum, whole};
use super::{OBJECT, WHERE};
use crate::work::Done;
use groma_harness::prelude::*;
use groma_harness::sys::files;
use groma_harness::sys::pages::{Map, Policy};
use std::io::Seek;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Copying a file that is in memory",
        about: about!("copy.rs"),
        quantity: Quantity::Bandwidth,
        iteration: "one block of 64 KiB",
        params: &[
            Param::word(
                "kind",
                "the call, or the two calls, that move the bytes",
                &["copy_file_range", "sendfile", "read_write"],
            )
            .quick(&["copy_file_range"]),
            SIZE.full(&["1M", "64M"]),
            WHERE,
            OBJECT,
        ],
        needs: &[Need::WorkDir],
        // The file is shared; each member's copy is its own.
        files: |params| if params.word("object") == Some("shared") { params.int("size").unwrap_or(0) } else { 0 },
        target_half_width: 0.03,
        tier: Tier::Standard,
        ..Info::new("file.copy")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let kind = ctx.word("kind");
    let cached = Cached::new(ctx, false)?;
    let from = &cached.file;
    let mut to = cached.scratch.random_file(0, ctx)?;
    if kind == "copy_file_range" && files::share_blocks(from, &to).is_ok() {
        return Err(BenchError::Unsupported("this file system shares the blocks instead of copying them".to_owned()));
    }
    let blank = vec![0; BLOCK];
    for at in offsets(&cached) {
        whole(files::write_at(&to, &blank, at).context("writing the copy")?, BLOCK)?;
    }
    let mut buffer = Map::anonymous(BLOCK, Policy::Base).context("mapping the buffer")?;
    buffer.populate();
    let done = Done::new();
    let mut copy = |at: u64| -> Outcome {
        let moved = match kind {
            "copy_file_range" => files::copy_range(from, &to, at, BLOCK),
            "sendfile" => {
                if at == 0 {
                    to.rewind().context("rewinding the copy")?;
                }
                files::send(from, &to, at, BLOCK)
            }
            _ => files::read_at(from, &mut buffer, at).and_then(|n| files::write_at(&to, &buffer[..n], at)),
        };
        whole(moved.context("copying")?, BLOCK)?;
        done.add(1);
        Ok(())
    };
    let mut next = offsets(&cached).cycle();
    ctx.measure_per(BLOCK as f64, |iters| next.by_ref().take(iters as usize).try_for_each(&mut copy))?;
    done.prove(ctx, "blocks copied per block credited");
    // Copies the rest of the file, up to where the measurement has not come.
    next.take_while(|at| *at != 0).try_for_each(&mut copy)?;

    let map = Map::file_read(&to, cached.map.len(), false).context("mapping the copy")?;
    let right =
        map.chunks_exact(BLOCK).zip(&cached.sums).filter(|(block, written)| same(sum(block), **written).is_ok());
    let share = right.count() as f64 / cached.sums.len() as f64;
    ctx.prove("share of the blocks that arrived", "1", share, 1.0..=1.0);
    cached.prove(ctx)
}

/// The offsets of the blocks.
fn offsets(cached: &Cached) -> impl Iterator<Item = u64> + Clone + use<> {
    (0..cached.map.len() as u64).step_by(BLOCK)
}
