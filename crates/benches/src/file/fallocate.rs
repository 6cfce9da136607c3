//! Reserving space for a file.
//!
//! **Measures:** `fallocate` of an empty file: the file system finds the blocks and marks them as
//! the file's, unwritten.
//!
//! **Does not measure:** Writing to the blocks, or the journal's commit.
//!
//! **Method:** Each call is timed alone; the file is truncated again untimed. After each call the
//! file must have at least the requested space allocated.
//!
//! **Pitfalls:**
//! - Where the file system cannot reserve, the `posix_fallocate` of C libraries writes zeroes; here
//!   that is `unsupported`.
//! - A tmpfs allocates the pages and clears them.
//! - The space given back may be the space given next, and a device that is notified of every free
//!   block (`discard`) leaves few operations in a round.
//!
//! **Sources:** No predecessor measures it; databases and downloads begin with it. See
//! docs/methods/operating-system.md#metadata-operations.

use super::{WHERE, directory};
use crate::work::Done;
use groma_harness::prelude::*;
use groma_harness::sys::files;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Reserving space for a file",
        about: about!("fallocate.rs"),
        iteration: "one fallocate of an empty file",
        timing: Timing::Each,
        params: &[
            Param::size("size", "bytes to allocate").takes(super::files(1)).quick(&["1M"]).full(&["4K", "64K", "16M"]),
            WHERE,
        ],
        needs: &[Need::WorkDir],
        interference: Interference::Blocking,
        target_half_width: 0.05,
        tier: Tier::Standard,
        version: 2,
        ..Info::new("file.fallocate")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let size = ctx.int("size");
    let scratch = directory(ctx)?;
    let file = scratch.random_file(0, ctx)?;
    let mut least = u64::MAX;
    let reserved = Done::new();
    ctx.measure_staged(|iters, watch| {
        for _ in 0..iters {
            watch.start();
            let done = files::allocate(&file, size);
            watch.stop();
            done.map_err(refusal)?;
            least = least.min(files::allocated(&file).context("fstat")?);
            reserved.add(1);
            files::set_len(&file, 0).context("cutting the file")?;
        }
        Ok(())
    })?;
    reserved.prove(ctx, "times that room was reserved, per time credited");
    ctx.prove("least share of the room that the file then had", "1 or more", least as f64 / size as f64, 1.0..);
    Ok(())
}

fn refusal(error: std::io::Error) -> BenchError {
    match error.kind() {
        std::io::ErrorKind::Unsupported => {
            BenchError::Unsupported(format!("this file system reserves no room: {error}"))
        }
        _ => BenchError::from_io("reserving room", &error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_that_cannot_is_no_failure() {
        // EOPNOTSUPP
        assert!(matches!(refusal(std::io::Error::from_raw_os_error(95)), BenchError::Unsupported(_)));
        assert!(matches!(refusal(std::io::Error::from_raw_os_error(28)), BenchError::Failed(_)));
    }
}
