//! Reading 4 KiB at random from a disk.
//!
//! **Measures:** One direct read (O_DIRECT) of 4 KiB at a random aligned offset, bypassing the page
//! cache: the kernel's path to the device, the device, and the way back. One request is in flight
//! at a time; members of a worker group (`-P 32`) have one each, so the size of the group is the
//! queue depth.
//!
//! **Does not measure:** Buffered reads, or a file system's search for the blocks, whose places it
//! already knows.
//!
//! **Method:** Every read is timed alone and has to return all of its bytes. Our own file is
//! written completely first: blocks that were never written would be read as zeroes at memory
//! speed. Its name is removed before anything is written. A device is used only if named, and only
//! read. The proof is the kernel's count of what came from a disk.
//!
//! **Pitfalls:**
//! - The host of a virtual machine may have the blocks in its cache.
//! - Some volumes are loaded at their first access.
//! - Burst credits run out: the samples are kept in order, and a drift is flagged.
//! - A small file lies in the device's own cache.
//!
//! **Sources:** fio's random read; among the predecessors lmbench3 `disk` and `seek` come closest.
//! See docs/methods/operating-system.md#disk.

use super::{NEEDS, ON, REQUEST, SIZE, Target, buffer};
use groma_harness::prelude::*;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Direct read of 4 KiB at a random place of a disk",
        about: about!("random_read.rs"),
        iteration: "one read",
        timing: Timing::Each,
        params: &[ON, SIZE],
        lineage: &["fio:randread"],
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
    // Drawn beforehand, so that the loop contains only reads.
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
