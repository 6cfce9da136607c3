//! Writing 4 KiB to a disk and waiting until it is stored.
//!
//! **Measures:** A direct write (O_DIRECT) of 4 KiB over a random block of a file, and `fdatasync`:
//! what a database pays for a commit in place.
//!
//! **Does not measure:** Growing files (`file.durable kind=log`), or the file system's journal,
//! which overwriting written blocks does not need. It never writes to a device.
//!
//! **Method:** Write and sync are timed together, each pair alone, and no block is written twice
//! within a round. The file was written completely before, so that no block is allocated in the
//! timed part. The proof is the kernel's count of what went to a disk.
//!
//! **Calls:**
//! - timed `size=8M`: `clock pwrite64 fdatasync clock`; fdatasync is timed
//!
//! **Pitfalls:**
//! - Devices and hosts that report completion with the data in a cache that a power cut empties: no
//!   program can tell.
//! - Syncing a file also waits for what others have in the device's queue.
//!
//! **Sources:** fio with `fdatasync=1`; `pg_test_fsync`; no predecessor measures it. See
//! docs/methods/operating-system.md#disk.

use super::{NEEDS, ON, REQUEST, SIZE, Target, prove_written, put_stamps, random_buffer, write_whole};
use groma_harness::prelude::*;
use groma_harness::sys::counters::Usage;
use groma_harness::sys::disk;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Direct write of 4 KiB over a block of a file, and fdatasync",
        about: about!("sync_write.rs"),
        version: 2,
        iteration: "one write and one fdatasync",
        timing: Timing::Each,
        params: &[ON, SIZE],
        interference: Interference::Blocking,
        target_half_width: 0.05,
        needs: NEEDS,
        ..Info::new("disk.sync_write")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let target = Target::open_to_write(ctx)?;
    let mut buffer = random_buffer(ctx, REQUEST)?;
    let mut places = target.places(ctx, REQUEST as u64);
    let before = Usage::thread();
    let mut done = 0;
    ctx.measure_staged(|iters, watch| {
        for _ in 0..iters {
            let at = places.draw();
            put_stamps(&mut buffer, at);
            watch.start();
            write_whole(target.fd(), &buffer, at)?;
            disk::sync_data(target.fd()).context("fdatasync")?;
            watch.stop();
            done += 1;
        }
        Ok(())
    })?;
    prove_written(ctx, &before, done, REQUEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::tests::on_a_file;
    use groma_harness::testing::try_out;

    #[test]
    fn every_write_reaches_a_disk() {
        let Some(tried) = on_a_file(&BENCH, &[]) else { return };
        assert!(tried.proven("bytes that went to a disk, of those written") >= 0.99);
    }

    #[test]
    fn a_device_is_never_written() {
        let tried = try_out(&BENCH, &[("on", "/dev/null")], None);
        assert!(matches!(tried, Err(BenchError::Unsupported(_))), "{tried:?}");
    }
}
