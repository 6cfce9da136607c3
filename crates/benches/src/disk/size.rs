//! The capacity of a disk.
//!
//! **Measures:** Nothing by time: states the size of the named device or file, or of the file
//! system of the work directory.
//!
//! **Does not measure:** How much of it is free.
//!
//! **Method:** The device is asked for its end (`lseek`), the file system for its blocks
//! (`statvfs`). Nothing is read.
//!
//! **Pitfalls:**
//! - lmbench `disk` looks for the end by reading at ever larger offsets, which takes hours on some
//!   devices and hangs on others.
//! - 32-bit sizes overflow.
//!
//! **Sources:** lmbench3 `disk`. See docs/methods/operating-system.md#disk.

use super::{NEEDS, ON, OWN_FILE};
use crate::scratch::Scratch;
use groma_harness::prelude::*;
use groma_harness::sys::disk;
use std::fs::File;
use std::os::fd::AsFd;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Capacity of a disk, or of the work directory's file system",
        about: about!("size.rs"),
        quantity: Quantity::Size,
        iteration: "one query",
        timing: Timing::Stated,
        params: &[ON],
        scaling: Scaling::alone("a size is that of one disk, however many look at it"),
        needs: NEEDS,
        ..Info::new("disk.size")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let size = match ctx.word("on") {
        OWN_FILE => disk::file_system_size(Scratch::new(ctx)?.path()).context("asking the file system")?,
        path => match File::open(path) {
            Ok(file) => disk::size(file.as_fd()).context("looking for its end")?,
            Err(e) => return super::explain_refusal(e, path).map(drop),
        },
    };
    ctx.prove("bytes", "more than none", size as f64, 1.0..);
    ctx.state(size as f64);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::testing::Place;
    use groma_harness::testing::try_out;

    #[test]
    fn a_file_is_as_large_as_it_is() {
        let place = Place::new();
        let path = place.path().join("sparse");
        let large = 5u64 << 40;
        let file = File::create(&path).expect("a file");
        let held = file.set_len(large);
        let tried = try_out(&BENCH, &[("on", &path.display().to_string())], None);
        std::fs::remove_file(&path).expect("it goes");
        // Some file systems cannot hold files of 5 TiB.
        if held.is_ok() {
            let values = tried.expect("it is there").result.series("").expect("a size").values.clone();
            assert_eq!(values, [large as f64]);
        }
        assert!(matches!(try_out(&BENCH, &[("on", "/nonexistent")], None), Err(BenchError::Unsupported(_))));
    }
}
