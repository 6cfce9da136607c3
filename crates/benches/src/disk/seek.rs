//! Reading 4 KiB from a disk at a distance from the previous read.
//!
//! **Measures:** A direct read (O_DIRECT) after an untimed one, a given percentage of the disk
//! away: on a rotating disk the seek and half a turn. On other disks it is only the cost of their
//! own tables, and the word seek is too large for it.
//!
//! **Does not measure:** The head alone; no disk reports that.
//!
//! **Method:** The first place is random, with room left for the distance, and no place is the
//! first one twice. Both reads have to return all of their bytes; the second is timed alone. File,
//! device and proof are as in `disk.random_read`.
//!
//! **Pitfalls:**
//! - lmbench `disk` drops seeks below 1 ms, and so prints nothing at all for a flash disk.
//! - The page cache and read-ahead would hide the seek; direct reads bypass both.
//!
//! **Sources:** lmbench3 `disk` (seek times by distance). See
//! docs/methods/operating-system.md#disk.

use super::{NEEDS, ON, REQUEST, SIZE, Target, buffer};
use groma_harness::prelude::*;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Direct read of 4 KiB at a distance from the last one",
        about: about!("seek.rs"),
        version: 2,
        iteration: "one read after an untimed one elsewhere",
        timing: Timing::Each,
        params: &[
            ON,
            SIZE,
            Param::count("distance", "seek distance, in percent of the disk")
                .quick(&["50"])
                .full(&["0", "1", "2", "5", "10", "20", "75", "95"]),
        ],
        interference: Interference::Blocking,
        target_half_width: 0.05,
        tier: Tier::Standard,
        needs: NEEDS,
        ..Info::new("disk.seek")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let distance = ctx.int("distance") as f64 / 100.0;
    if distance >= 1.0 {
        return Err(BenchError::Unsupported("a distance is 0 to 99 percent".to_owned()));
    }
    let target = Target::open(ctx)?;
    let mut buffer = buffer(REQUEST)?;
    let step = (target.size as f64 * distance) as u64 / REQUEST as u64 * REQUEST as u64;
    let mut places = target.places(ctx, REQUEST as u64 + step);
    let mut forwards = false;
    ctx.measure_staged(|iters, watch| {
        for _ in 0..iters {
            let low = places.draw();
            // Forwards and backwards in turn, to favour neither direction.
            forwards = !forwards;
            let (first, second) = if forwards { (low, low + step) } else { (low + step, low) };
            target.read(&mut buffer, first)?;
            watch.start();
            target.read(&mut buffer, second)?;
            watch.stop();
            target.check(&buffer, second)?;
        }
        Ok(())
    })?;
    target.prove_disk(ctx, 2 * REQUEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::tests::on_a_file;
    use crate::scratch::testing::Place;
    use groma_harness::testing::try_failing;
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    /// A file of holes, but for its first 2 percent: one read of each pair is there, as the other
    /// one is as far away as was asked for. Reads beside each other are hardly ever there.
    #[test]
    fn the_reads_of_a_pair_are_as_far_apart_as_is_said() {
        if on_a_file(&BENCH, &[]).is_none() {
            return;
        }
        const SIZE: u64 = 256 << 20;
        let place = Place::new();
        let path = place.path().join("holes");
        let file = File::create(&path).expect("a file");
        let written = file.set_len(SIZE).and_then(|()| file.write_all_at(&vec![1; SIZE as usize / 50], 0));
        let written = written.and_then(|()| file.sync_all());
        let on = path.display().to_string();
        // Proofs fail, since holes come from no disk; without any read there is none.
        let tried = try_failing(&BENCH, &[("on", &on), ("distance", "99")], None);
        std::fs::remove_file(&path).expect("it goes");
        if let Err(why) = written {
            return println!("skipped: {why}");
        }
        let proofs = tried.map(|tried| tried.result.output.proofs).unwrap_or_default();
        let share = proofs.iter().find(|proof| proof.name.starts_with("bytes that came from a disk"));
        let share = share.map_or(0.0, |proof| proof.seen);
        assert!((0.4..0.9).contains(&share), "{share} of the bytes came from the disk");
    }

    #[test]
    fn both_reads_of_every_pair_come_from_a_disk() {
        for distance in ["0", "50", "99"] {
            // The read that moves the disk to the first place lies between two timed ones. The
            // shortest of each are compared, several times over: a disk that others use delays all
            // of the one kind now and then.
            let mut seen = Vec::new();
            let is_between = (0..8).any(|_| {
                let Some(tried) = on_a_file(&BENCH, &[("distance", distance)]) else { return true };
                assert!(tried.samples("") >= 3);
                assert!(tried.proven("bytes that came from a disk, of those asked for") >= 0.99);
                let samples = &tried.result.series("").expect("samples").samples;
                let timed = samples.iter().map(|s| s.elapsed_ns).min().unwrap_or(0);
                let between = samples.windows(2).map(|s| s[1].t0_ns.saturating_sub(s[0].t0_ns + s[0].elapsed_ns));
                let between = between.min().unwrap_or(0);
                seen.push((between, timed));
                between > timed / 4
            });
            assert!(is_between, "{distance}: ns between two reads that are timed, and in one: {seen:?}");
        }
    }
}
