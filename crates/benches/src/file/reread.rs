//! Reading a cached file again, with `read`.
//!
//! **Measures:** How fast its bytes come to the program, by calls of one block (64 KiB unless the
//! parameter says otherwise) into one buffer:
//! - `read`: the kernel's copy out of the page cache, and nothing done with it.
//! - `read_sum`: the same, and the program adds up the bytes.
//! - `open_close`: the same, from the opening of the file to its closing.
//!
//! **Does not measure:** A disk.
//!
//! **Method:** An iteration is one block; the blocks follow each other through the file,
//! again and again (for `open_close` it is the whole file). Every call has to return a whole block,
//! and every sum has to be that of the block when it was written. So no byte is counted that was
//! not read, and no compiler can leave one out.
//!
//! The file consists of random bytes and is larger than second-level caches and smaller than most
//! last-level ones; the ratio to the latter is recorded. It is never written back: nothing is
//! synced, nothing stays, and no disk is busy with it in later rounds. Members of a worker group
//! have a file each, or share one. The proofs are that all its pages were in memory before and
//! after, that no fault waited for a disk, and that no block was read from one, with a small
//! tolerance for pages of the program itself.
//!
//! **Calls:**
//! - no trace of `mode`: the bytes read are summed up or not
//!
//! **Pitfalls:**
//! - Bytes may be credited that were never read: lmbench prints 3.5 TB/s for a short file, and
//!   gigabytes per second for none at all.
//! - A compiler may leave the sum out.
//! - A file system may compress or share blocks.
//! - With large sizes, a virtual machine has as much of the last-level cache as its neighbours
//!   leave.
//!
//! **Sources:** lmbench 1996 table 5 (8 MiB by 64 KiB, summed); lmbench3 `bw_file_rd`; Ousterhout
//! 1990 table 6 (blocks of 16 KiB, not summed). See docs/methods/operating-system.md#cached-reads.

use super::cached::{Cached, SIZE, same, sum, whole};
use super::{OBJECT, WHERE};
use crate::work::{self, Done};
use groma_harness::prelude::*;
use groma_harness::sys::io::read;
use groma_harness::sys::pages::{Map, Policy};
use std::io::Seek;
use std::os::fd::AsFd;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Reading a cached file again, by read()",
        about: about!("reread.rs"),
        quantity: Quantity::Bandwidth,
        iteration: "one block (open_close: the whole file)",
        params: &[
            Param::word(
                "mode",
                "read, read and summed, or opened, read, summed and closed",
                &["read", "read_sum", "open_close"],
            )
            .quick(&["read"])
            .standard(&["read_sum"]),
            SIZE,
            Param::size("block", "bytes of one read").takes(Memory::PerMember(1)).quick(&["64K"]).full(&["16K"]),
            WHERE,
            OBJECT,
        ],
        needs: &[Need::WorkDir],
        target_half_width: 0.03,
        ..Info::new("file.reread")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let mode = ctx.word("mode");
    let block = ctx.int("block") as usize;
    let mut cached = Cached::of_blocks(ctx, mode == "open_close", block)?;
    let mut map = Map::anonymous(block, Policy::Base).context("mapping the buffer")?;
    map.populate();
    let buffer = &mut map[..block];
    let done = Done::new();
    if mode == "open_close" {
        ctx.measure_per(cached.map.len() as f64, |iters| {
            for _ in 0..iters {
                let file = cached.reopen()?;
                for written in &cached.sums {
                    whole(read(file.as_fd(), buffer).context("reading the file")?, block)?;
                    same(sum(buffer), *written)?;
                    done.add(block as u64);
                }
            }
            Ok(())
        })?;
    } else {
        let (file, sums) = (&mut cached.file, &cached.sums);
        let mut next = 0;
        let read_block = Variant::staged("", |iters, watch| {
            watch.start();
            for _ in 0..iters {
                if next == sums.len() {
                    file.rewind().context("rewinding the file")?;
                    next = 0;
                }
                whole(read(file.as_fd(), buffer).context("reading the file")?, block)?;
                if mode == "read_sum" {
                    same(sum(buffer), sums[next])?;
                }
                next += 1;
                done.add(block as u64);
            }
            watch.stop();
            // Untimed: the last block is the right one.
            same(sum(buffer), sums[next.saturating_sub(1)])
        });
        ctx.measure_variants(&mut [read_block.per_iter(block as f64)])?;
    }
    let credited = ctx.iterations() * if mode == "open_close" { cached.map.len() } else { block } as u64;
    work::once_each(ctx, "bytes read per byte credited", done.count(), credited);
    cached.prove(ctx)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::testing::Place;
    use groma_harness::testing::{assert_exceeds, try_out};

    /// Adding up the bytes of a block takes about as long as the copy of it.
    #[test]
    fn what_is_read_is_added_up_where_that_is_asked_for() {
        let place = Place::new();
        let least_ns = |mode| {
            let tried = try_out(&BENCH, &[("mode", mode), ("size", "1M")], Some(place.path()));
            tried.expect("a file").least_ns("")
        };
        assert_exceeds(1.2, || least_ns("read_sum") / least_ns("read"));
    }
}
