//! Writing 4 KiB to a disk and waiting until it is stored.
//!
//! **Measures:** A direct write (O_DIRECT) of 4 KiB over a random block of a file, and `fdatasync`:
//! what a database pays for a commit in place.
//!
//! **Does not measure:** Growing files (`file.durable kind=append`), or the file system's journal,
//! which overwriting written blocks does not need. It never writes to a device.
//!
//! **Method:** Write and sync are timed together, each pair alone. The file is written completely
//! first, so that no block is allocated in the timed part. The proof is the kernel's count of what
//! went to a disk.
//!
//! **Pitfalls:**
//! - Devices and hosts that report completion with the data in a cache that a power cut empties: no
//!   program can tell.
//! - Syncing a file also waits for what others have in the device's queue.
//!
//! **Sources:** fio with `fdatasync=1`; `pg_test_fsync`; no predecessor measures it. See
//! docs/methods/operating-system.md#disk.

use super::{NEEDS, ON, OWN_FILE, REQUEST, SIZE, Target, buffer};
use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::counters::Usage;
use groma_harness::sys::disk;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Direct write of 4 KiB over a block of a file, and fdatasync",
        about: about!("sync_write.rs"),
        iteration: "one write and one fdatasync",
        timing: Timing::Each,
        params: &[ON, SIZE],
        lineage: &["fio:fdatasync"],
        interference: Interference::Blocking,
        target_half_width: 0.05,
        needs: NEEDS,
        ..Info::new("disk.sync_write")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    if ctx.word("on") != OWN_FILE {
        return Err(BenchError::Unsupported("what was named is only read".to_owned()));
    }
    let target = Target::open(ctx)?;
    let mut buffer = buffer(REQUEST)?;
    ctx.rng().shuffle(&mut buffer);
    let places: Vec<u64> = (0..1024).map(|_| target.offset(ctx, REQUEST, 0.0..1.0)).collect();
    let mut next = places.iter().cycle();
    let before = Usage::thread();
    let (mut number, mut done) = (0u64, 0);
    ctx.measure(|iters| {
        for at in next.by_ref().take(iters as usize) {
            number += 1;
            buffer[..8].copy_from_slice(&number.to_ne_bytes());
            let n = disk::write_at(target.fd(), &buffer, *at).context("writing")?;
            if n != REQUEST {
                return Err(BenchError::Failed(format!("a write of {REQUEST} B wrote {n}")));
            }
            disk::sync_data(target.fd()).context("fdatasync")?;
            done += 1;
        }
        Ok(())
    })?;
    let written = Usage::thread().since(&before).blocks_out as f64 * 512.0;
    work::once_each(ctx, "requests written and synced per request credited", done, ctx.iterations());
    if written == 0.0 && done == ctx.iterations() {
        return Err(BenchError::Unsupported("the kernel counted no writes to a disk".to_owned()));
    }
    let share = written / (ctx.iterations().max(1) as f64 * REQUEST as f64);
    // The journal's own writes are counted for its own thread.
    ctx.prove("bytes that went to a disk, of those written", "1 or more", share, 0.99..);
    Ok(())
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
