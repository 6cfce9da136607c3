//! Bytes per second from a disk, by position.
//!
//! **Measures:** Direct reads (O_DIRECT) of 1 MiB, one at a time, in one part of the disk. Rotating
//! disks are faster on the outside (lmbench's zone bandwidth); other disks should show no
//! difference.
//!
//! **Does not measure:** Several requests at once (worker groups do), or the page cache.
//!
//! **Method:** Each request of 1 MiB goes to a random place within a hundredth of the disk around
//! `position`. It is timed alone, after an untimed read of the 4 KiB before it, which brings a head
//! to its track. Our own file is written completely first, and its name is removed before that. A
//! device is used only if named, and only read. The proof is the kernel's count of what came from a
//! disk.
//!
//! **Pitfalls:**
//! - lmbench `disk` goes through the page cache and reads ahead.
//! - Hosts and volumes: see `disk.random_read`.
//!
//! **Sources:** lmbench3 `disk` (150 requests of 1 MiB over the whole device) and `lmdd`. See
//! docs/methods/operating-system.md#disk.

use super::{LARGE, NEEDS, ON, REQUEST, SIZE, Target, buffer};
use groma_harness::prelude::*;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Direct reads of 1 MiB from one part of a disk",
        about: about!("read.rs"),
        quantity: Quantity::Bandwidth,
        iteration: "one read of 1 MiB",
        timing: Timing::Each,
        params: &[
            ON,
            SIZE,
            Param::count("position", "position on the disk, in percent of its size")
                .quick(&["0"])
                .full(&["10", "20", "30", "40", "50", "60", "70", "80", "90", "100"]),
        ],
        lineage: &["lmbench3:disk"],
        interference: Interference::Blocking,
        target_half_width: 0.05,
        needs: NEEDS,
        ..Info::new("disk.read")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let position = ctx.int("position") as f64 / 100.0;
    if position > 1.0 {
        return Err(BenchError::Unsupported("a position is 0 to 100 percent".to_owned()));
    }
    let target = Target::open(ctx)?;
    let mut buffer = buffer(LARGE)?;
    let part = (position - 0.005).max(0.0)..(position + 0.005).min(1.0);
    let places: Vec<u64> = (0..256).map(|_| target.offset(ctx, LARGE, part.clone())).collect();
    let mut next = places.iter().cycle();
    let variant = Variant::staged("", |iters, watch| {
        for at in next.by_ref().take(iters as usize) {
            target.read(&mut buffer[..REQUEST], at.saturating_sub(REQUEST as u64))?;
            watch.start();
            target.read(&mut buffer, *at)?;
            watch.stop();
        }
        Ok(())
    });
    ctx.measure_variants(&mut [variant.per_iter(LARGE as f64)])?;
    target.prove_disk(ctx, LARGE + REQUEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::tests::on_a_file;
    use groma_harness::testing::try_out;

    #[test]
    fn every_byte_comes_from_a_disk_wherever_it_lies() {
        for position in ["0", "50", "100"] {
            let Some(tried) = on_a_file(&BENCH, &[("position", position)]) else { return };
            assert_eq!(tried.result.series("").map(|s| s.per_iter), Some(1048576.0));
            assert!(tried.proven("bytes that came from a disk, of those asked for") >= 0.99);
        }
        assert!(matches!(try_out(&BENCH, &[("position", "101")], None), Err(BenchError::Unsupported(_))));
    }
}
