//! Reading 4 KiB at random from a disk.
//!
//! Measures one direct read (O_DIRECT) of 4 KiB at a random aligned place, past the page cache: the kernel's way to the
//! device, the device, and the way back. One request at a time; worker groups (`-P 32`) keep as many under way as they have members,
//! which others call queue depth. Does not measure buffered reads, nor a file system's own cost of finding the blocks, which
//! it knows.
//!
//! Method: every read is timed alone and has to give all of its bytes. The file of our own is written through first: blocks
//! that never were would come as zeroes at the speed of memory. Its name is gone before anything is written. A device is
//! only used when it is named, and only read. The proof is the kernel's count of what came from a disk.
//!
//! Traps: the caches of hosts below virtual machines, volumes that are loaded at their first touch, credit for bursts (the
//! samples are kept in their order: a drift is flagged); a small file lies in the device's own cache.
//!
//! Source: fio's random read; lmbench3 `disk` and `seek` come nearest among the ancestors.

use super::{NEEDS, ON, REQUEST, SIZE, Target, buffer};
use groma_harness::prelude::*;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Direct read of 4 KiB at a random place of a disk",
        about: about!("random_read.rs"),
        iteration: "one read",
        timing: Timing::Each,
        params: &[ON, SIZE],
        lineage: &["lmbench3:disk", "fio:randread"],
        interference: Interference::Blocking,
        target_half_width: 0.05,
        needs: NEEDS,
        ..Info::new("disk.random_read")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let target = Target::open(ctx)?;
    let mut buffer = buffer(REQUEST)?;
    // Drawn beforehand: the loop holds nothing but reads.
    let places: Vec<u64> = (0..1024).map(|_| target.offset(ctx, REQUEST, 0.0..1.0)).collect();
    let mut next = places.iter().cycle();
    ctx.measure(|iters| {
        for at in next.by_ref().take(iters as usize) {
            target.read(&mut buffer, *at)?;
        }
        Ok(())
    })?;
    target.prove_disk(ctx, REQUEST)
}
