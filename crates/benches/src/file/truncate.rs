//! Truncating a file to nothing, and extending it without writing.
//!
//! **Measures:** `ftruncate` to 0 of a file whose bytes were just written, which frees its pages;
//! and as `truncate.extend`, `ftruncate` of an empty file to that length, which only changes a
//! number.
//!
//! **Does not measure:** Freeing blocks on a disk: the bytes have not been written there yet.
//!
//! **Method:** Each call is timed alone; the bytes are written again untimed. After each call the
//! length is checked, and each write before a truncation must have written all bytes, so that no
//! hole is cut.
//!
//! **Calls:**
//! - `size=64K where=work_dir`: `ftruncate(.., 65536)`
//! - timed `where=tmpfs`: `clock ftruncate clock`; only ftruncate is timed
//!
//! **Pitfalls:**
//! - Truncating a hole takes no time.
//! - An ext4 or XFS may write a file at once if it was truncated before (data that replaces data);
//!   it does so seconds later, outside the timed part.
//!
//! **Sources:** No predecessor measures it. See
//! docs/methods/operating-system.md#metadata-operations.

use super::{WHERE, directory, random_content};
use crate::work::Done;
use groma_harness::prelude::*;
use groma_harness::sys::files;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Truncating a file to nothing; extending it",
        about: about!("truncate.rs"),
        iteration: "one ftruncate",
        timing: Timing::Each,
        outputs: &[Output::MAIN.series("cut"), Output::named("extend", "of an empty file, to the same length")],
        params: &[
            Param::size("size", "bytes in the file").takes(super::files(1)).quick(&["64K"]).full(&["4K", "1M"]),
            WHERE,
        ],
        needs: &[Need::WorkDir],
        interference: Interference::Blocking,
        target_half_width: 0.05,
        tier: Tier::Standard,
        version: 2,
        ..Info::new("file.truncate")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let size = ctx.int("size");
    let scratch = directory(ctx)?;
    let file = scratch.random_file(0, ctx)?;
    let content = random_content(ctx.rng(), size as usize);
    let set = |watch: &mut Stopwatch<'_>, len| -> Outcome {
        watch.start();
        let done = files::set_len(&file, len);
        watch.stop();
        done.context("changing the length of a file")?;
        let seen = file.metadata().context("fstat")?.len();
        if seen == len { Ok(()) } else { Err(BenchError::Failed(format!("a file cut to {len} B has {seen} B"))) }
    };
    let (cuts, extensions) = (Done::new(), Done::new());
    ctx.measure_variants(&mut [
        Variant::staged("cut", |iters, watch| {
            for _ in 0..iters {
                let n = files::write_at(&file, &content, 0).context("writing a file")?;
                if n as u64 != size {
                    return Err(BenchError::Failed(format!("a write took {n} B of {size} B: No space left on device")));
                }
                set(watch, 0)?;
                cuts.add(1);
            }
            Ok(())
        }),
        Variant::staged("extend", |iters, watch| {
            for _ in 0..iters {
                set(watch, size)?;
                extensions.add(1);
                files::set_len(&file, 0).context("cutting a file")?;
            }
            Ok(())
        }),
    ])?;
    cuts.prove_of(ctx, "cut", "files cut per cut credited");
    extensions.prove_of(ctx, "extend", "files extended per extension credited");
    let left = files::allocated(&file).context("fstat")?;
    ctx.prove("bytes that the file holds in the end", "0", left as f64, 0.0..=0.0);
    Ok(())
}
