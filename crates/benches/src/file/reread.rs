//! Reading a file again that the kernel still holds in memory, by `read`.
//!
//! Measures how fast its bytes come to the program, by calls of 64 KiB into one buffer. `read`: hence the kernel's copy
//! out of the page cache, and nothing done with it. `read_sum`: the same, and the program adds the bytes up.
//! `open_close`: the same from the opening of the file to its closing. Does not measure a disk.
//!
//! Method: an iteration is one block of 64 KiB; the blocks follow each other through the file, round and round (for
//! `open_close` it is the whole file). Every call has to give a whole block, every sum has to be that of the block when
//! it was written, so no byte is counted that did not come, and none can be left out by a compiler. The file is of
//! random bytes, larger than second-level caches and smaller than most last-level ones; its size against the latter is
//! recorded. It is never written back: nothing is synced, nothing left, and no disk is busy with it in later rounds.
//! The proofs are that all its pages were in memory before and after, that no fault waited for a disk, and that no
//! block was read from one. Members of a worker group have a file each, or one in common.
//!
//! Traps: bytes credited that were never read (lmbench prints 3.5 TB/s for a short file, and gigabytes per second for
//! none at all); compilers that leave the sum out; file systems that compress or share blocks. With large sizes the
//! last-level cache of a virtual machine is what its neighbours leave.
//!
//! Source: lmbench 1996 table 5 (8 MiB by 64 KiB, summed), lmbench3 `bw_file_rd`, Ousterhout 1990 table 6 (not summed).

use super::cached::{BLOCK, Cached, SIZE, same, sum, whole};
use super::{OBJECT, WHERE};
use crate::work::{self, Done};
use groma_harness::prelude::*;
use groma_harness::sys::io::read;
use groma_harness::sys::pages::{Map, Policy};
use std::io::Seek;
use std::os::fd::AsFd;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Reading a file again that is in memory, by read()",
        about: about!("reread.rs"),
        quantity: Quantity::Bandwidth,
        iteration: "one block of 64 KiB (open_close: the whole file)",
        params: &[
            Param::word(
                "mode",
                "read, read and summed, or opened, read, summed and closed",
                &["read", "read_sum", "open_close"],
            )
            .quick(&["read"])
            .standard(&["read_sum"]),
            SIZE,
            WHERE,
            OBJECT,
        ],
        needs: &[Need::WorkDir],
        lineage: &["lmbench1996:table5", "lmbench3:bw_file_rd", "ousterhout1990:table6"],
        target_half_width: 0.03,
        ..Info::new("file.reread")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let mode = ctx.word("mode");
    let mut cached = Cached::new(ctx, mode == "open_close")?;
    let mut buffer = Map::anonymous(BLOCK, Policy::Base).context("mapping the buffer")?;
    buffer.populate();
    let done = Done::new();
    if mode == "open_close" {
        ctx.measure_per(cached.map.len() as f64, |iters| {
            for _ in 0..iters {
                let file = cached.reopen()?;
                for written in &cached.sums {
                    whole(read(file.as_fd(), &mut buffer).context("reading the file")?, BLOCK)?;
                    same(sum(&buffer), *written)?;
                    done.add(BLOCK as u64);
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
                whole(read(file.as_fd(), &mut buffer).context("reading the file")?, BLOCK)?;
                if mode == "read_sum" {
                    same(sum(&buffer), sums[next])?;
                }
                next += 1;
                done.add(BLOCK as u64);
            }
            watch.stop();
            // Beside the watch: the last block is the right one.
            same(sum(&buffer), sums[next.saturating_sub(1)])
        });
        ctx.measure_variants(&mut [read_block.per_iter(BLOCK as f64)])?;
    }
    let credited = ctx.iterations() * if mode == "open_close" { cached.map.len() } else { BLOCK } as u64;
    work::once_each(ctx, "bytes read per byte credited", done.count(), credited);
    cached.prove(ctx)
}
