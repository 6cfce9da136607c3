//! Bytes per second to a disk.
//!
//! **Measures:** Direct writes (O_DIRECT) of 1 MiB in sequence, one at a time, over blocks of a
//! file that were written before.
//!
//! **Does not measure:** Whether the bytes would survive a loss of power: nothing is synced
//! (`disk.sync_write`, `file.durable`). Growing files. It never writes to a device.
//!
//! **Method:** Each request begins where the last one ended and is timed alone. Each round goes on
//! 512 MiB farther than the one before, through the whole of our own file (`disk.random_read`). The
//! proofs are the kernel's count of what went to a disk, and what is read back of the last request.
//!
//! **Pitfalls:**
//! - A device or host takes the bytes into a cache as long as it has room; a flash disk is slower
//!   when that is full. Samples are kept in order, and a drift is flagged.
//!
//! **Sources:** fio's sequential write; lmbench3 `lmdd`. See
//! docs/methods/operating-system.md#disk.

use super::{
    LARGE_REQUEST, NEEDS, ON, SIZE, Target, check_stamps, prove_written, put_stamps, random_buffer, read_whole,
    sequence, write_whole,
};
use groma_harness::prelude::*;
use groma_harness::sys::counters::Usage;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Direct writes of 1 MiB in sequence over blocks of a file",
        about: about!("write.rs"),
        quantity: Quantity::Bandwidth,
        iteration: "one write of 1 MiB",
        timing: Timing::Each,
        params: &[ON, SIZE],
        interference: Interference::Blocking,
        target_half_width: 0.05,
        tier: Tier::Standard,
        needs: NEEDS,
        version: 2,
        ..Info::new("disk.write")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let target = Target::open_to_write(ctx)?;
    let mut buffer = random_buffer(ctx, LARGE_REQUEST)?;
    let mut places = sequence(ctx, target.size, 0);
    let before = Usage::thread();
    let (mut done, mut last) = (0, 0);
    let variant = Variant::staged("", |iters, watch| {
        for at in places.by_ref().take(iters as usize) {
            put_stamps(&mut buffer, at);
            watch.start();
            write_whole(target.fd(), &buffer, at)?;
            watch.stop();
            (done, last) = (done + 1, at);
        }
        Ok(())
    });
    ctx.measure_variants(&mut [variant.per_iter(LARGE_REQUEST as f64)])?;
    prove_written(ctx, &before, done, LARGE_REQUEST)?;
    if done > 0 {
        read_whole(target.fd(), &mut buffer, last)?;
        check_stamps(&buffer, last)?;
    }
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
        assert_eq!(tried.result.series("").map(|s| s.per_iter), Some(1048576.0));
        assert!(tried.proven("bytes that went to a disk, of those written") >= 0.99);
    }

    #[test]
    fn a_device_is_never_written() {
        let tried = try_out(&BENCH, &[("on", "/dev/null")], None);
        assert!(matches!(tried, Err(BenchError::Unsupported(_))), "{tried:?}");
    }
}
