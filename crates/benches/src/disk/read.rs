//! Bytes per second from a disk, by position.
//!
//! **Measures:** Direct reads (O_DIRECT) of 1 MiB in sequence, one at a time, in one part of the
//! disk. Rotating disks are faster on the outside (lmbench's zone bandwidth); other disks should
//! show no difference.
//!
//! **Does not measure:** Several requests at once (worker groups do), or the page cache.
//!
//! **Method:** Each request of 1 MiB begins where the last one ended and is timed alone. They begin
//! at `position`, and each round goes on 512 MiB farther than the one before, so that what a device
//! has kept of the last round is not read again: within 4 GiB from there, or the whole of a smaller
//! file. File, device and proof are as in `disk.random_read`.
//!
//! **Pitfalls:**
//! - lmbench `disk` goes through the page cache and reads ahead.
//! - Many devices read ahead themselves; that is part of the result.
//! - Hosts and volumes: see `disk.random_read`.
//!
//! **Sources:** lmbench3 `disk` (150 requests of 1 MiB over the whole device) and `lmdd`. See
//! docs/methods/operating-system.md#disk.

use super::{LARGE_REQUEST, NEEDS, ON, SIZE, Target, buffer, sequence};
use groma_harness::prelude::*;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Direct reads of 1 MiB from one part of a disk",
        about: about!("read.rs"),
        version: 2,
        quantity: Quantity::Bandwidth,
        iteration: "one read of 1 MiB",
        timing: Timing::Each,
        params: &[
            ON,
            SIZE,
            Param::count("position", "where on the disk it begins, in percent of the places where it can")
                .quick(&["0"])
                // A file of our own has no zones that anybody could tell.
                .named(&["10", "20", "30", "40", "50", "60", "70", "80", "90", "100"]),
        ],
        interference: Interference::Blocking,
        target_half_width: 0.05,
        needs: NEEDS,
        ..Info::new("disk.read")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let position = ctx.int("position");
    if position > 100 {
        return Err(BenchError::Unsupported("a position is 0 to 100 percent".to_owned()));
    }
    let target = Target::open(ctx)?;
    let mut buffer = buffer(LARGE_REQUEST)?;
    let mut places = sequence(ctx, target.size, position);
    let variant = Variant::staged("", |iters, watch| {
        for at in places.by_ref().take(iters as usize) {
            watch.start();
            target.read(&mut buffer, at)?;
            watch.stop();
            target.check(&buffer, at)?;
        }
        Ok(())
    });
    ctx.measure_variants(&mut [variant.per_iter(LARGE_REQUEST as f64)])?;
    target.prove_disk(ctx, LARGE_REQUEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::tests::on_a_file;
    use crate::scratch::testing::Place;
    use groma_harness::testing::{try_failing, try_out};
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    /// A file of holes, but for a MiB where the last stretch of 4 GiB begins: only that comes from
    /// a disk.
    #[test]
    fn a_position_is_where_the_reads_are() {
        if on_a_file(&BENCH, &[]).is_none() {
            return;
        }
        let place = Place::new();
        let path = place.path().join("holes");
        let file = File::create(&path).expect("a file");
        let written = file.set_len(9 << 30).and_then(|()| file.write_all_at(&vec![1; LARGE_REQUEST], 5 << 30));
        let written = written.and_then(|()| file.sync_all());
        let on = path.display().to_string();
        // Without any, there is no such proof.
        let mib = |position| {
            let tried = try_failing(&BENCH, &[("on", &on), ("position", position)], None).ok()?;
            let proofs = &tried.result.output.proofs;
            let share = proofs.iter().find(|proof| proof.name.starts_with("bytes that came from a disk"))?;
            Some(share.seen * tried.iterations as f64)
        };
        let came = ["0", "100"].map(|position| mib(position).unwrap_or(0.0));
        std::fs::remove_file(&path).expect("it goes");
        match written {
            Ok(()) => assert!(came[0] < 0.5 && came[1] > 0.9, "{came:?} MiB"),
            Err(why) => println!("skipped: {why}"),
        }
    }

    #[test]
    fn a_position_beyond_the_end_is_refused() {
        assert!(matches!(try_out(&BENCH, &[("position", "101")], None), Err(BenchError::Unsupported(_))));
    }
}
