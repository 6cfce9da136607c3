//! Reading 4 KiB at random from a disk.
//!
//! **Measures:** One direct read (O_DIRECT) of 4 KiB at a random aligned offset, bypassing the page
//! cache: the kernel's path to the device, the device, and the way back. One request is in flight
//! at a time (`disk.queue` has more). `.reused` is a read of a place that was read just before,
//! which the device or the host may still hold in memory.
//!
//! **Does not measure:** Buffered reads, or a file system's search for the blocks, whose places it
//! already knows.
//!
//! **Method:** Every read is timed alone and has to return all of its bytes. No place is read twice
//! within a round, and the places are in the whole file. Our own file is written completely once a
//! run, and each block begins with a word of its own, which every read must bring: blocks that were
//! never written would be read as zeroes at memory speed. The file has no name. A device is used
//! only if named, and only read. The proof is the kernel's count of what came from a disk. After
//! the samples, up to 64 further places are read twice each: where the second reads are no faster,
//! the result is flagged `cache: of the device or host`.
//!
//! **Pitfalls:**
//! - What has just been written may lie in the host's memory, however large the file. The flag says
//!   so; it is also set for a device that keeps nothing of what it has read.
//! - Some volumes are loaded at their first access.
//! - Burst credits run out: the samples are kept in order, and a drift is flagged.
//! - A small file lies in the device's own cache: `disk.file_bytes` is its size.
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
        version: 2,
        outputs: &[Output::MAIN, Output::named("reused", "the same of a place that was read just before")],
        params: &[ON, SIZE],
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
    let mut places = target.places(ctx, REQUEST as u64);
    ctx.measure_staged(|iters, watch| {
        for _ in 0..iters {
            let at = places.draw();
            watch.start();
            target.read(&mut buffer, at)?;
            watch.stop();
            target.check(&buffer, at)?;
        }
        Ok(())
    })?;
    target.prove_disk(ctx, REQUEST)?;
    for seconds in target.compare_with_reused(ctx, &mut places)? {
        ctx.state_as("reused", seconds);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::tests::on_a_file;

    #[test]
    fn places_are_read_again_and_compared() {
        let Some(tried) = on_a_file(&BENCH, &[]) else { return };
        let reused = &tried.result.series("reused").expect("second reads").values;
        assert!((6..=64).contains(&reused.len()) && reused.iter().all(|t| *t > 0.0), "{reused:?}");
        let ratio: f64 = tried.result.fact("disk.fresh_over_reused").expect("a ratio").parse().expect("a number");
        assert!(ratio > 0.0);
    }
}
