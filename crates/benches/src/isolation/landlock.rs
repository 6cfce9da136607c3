//! Opening a file where the task has given itself rules about files (Landlock).
//!
//! **Measures:** Open and close of a file that the rules allow, by the number of `layers`: a
//! program that restricts itself has one, and each that it was started by may have added one. The
//! kernel walks from the file up to the directory that a rule names. Compare `syscall.open_close`,
//! which is the same call without rules.
//!
//! **Does not measure:** Setting up the rules, or opens that they refuse.
//!
//! **Method:** The worker restricts itself to its work directory, `/proc` and `/sys`, as often as
//! there are layers, then opens a file there by number. `depth` is the number of names in the path,
//! and so of directories that are looked at.
//!
//! **Calls:**
//! - no trace of `layers`: each layer is the same calls
//!
//! **Proofs:** A file outside the rules, which could be opened before, is refused; every open
//! within them is allowed and enters the kernel.
//!
//! **Pitfalls:** Only rights that a rule set names are checked; reading files is what is checked
//! here.
//!
//! **Sources:** None of the earlier suites. See docs/methods/operating-system.md#isolation.

use crate::scratch::Scratch;
use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::landlock::read_only_beneath;
use groma_harness::sys::raw;
use std::fs::File;
use std::io;
use std::path::Path;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Open and close of a file behind rules of Landlock",
        about: about!("landlock.rs"),
        iteration: "one open and one close",
        params: &[
            Param::count("layers", "rule sets in force: 1 to 16").quick(&["1"]).full(&["4", "16"]),
            Param::count("depth", "names in the path").quick(&["1"]).full(&["8"]),
        ],
        needs: &[Need::WorkDir],
        scaling: Scaling::processes("each copy restricts itself"),
        tier: Tier::Standard,
        ..Info::new("isolation.landlock")
    },
    run: Run::Here(run),
};

/// What the kernel allows.
const MAX_LAYERS: u64 = 16;
/// A file that everyone may read, and no rule names.
const OUTSIDE: &str = "/dev/null";

fn run(ctx: &mut Ctx) -> Outcome {
    let layers = ctx.int("layers");
    if !(1..=MAX_LAYERS).contains(&layers) {
        return Err(BenchError::Unsupported(format!("there are 1 to {MAX_LAYERS} layers")));
    }
    let scratch = Scratch::new(ctx)?;
    let name = scratch.file_at_depth(ctx.int("depth"))?;
    let outside = || File::open(OUTSIDE).map(drop).map_err(|error| error.kind());
    let before = outside();
    for _ in 0..layers {
        // The harness reads its counters in the other two.
        let beneath = [scratch.path(), Path::new("/proc"), Path::new("/sys")];
        read_only_beneath(&beneath).map_err(|error| match error.kind() {
            io::ErrorKind::Unsupported => {
                BenchError::Unsupported(format!("this kernel has no Landlock, or it is off (lsm=): {error}"))
            }
            _ => BenchError::from_io("landlock_restrict_self", &error),
        })?;
    }
    let refused = before.is_ok() && outside() == Err(io::ErrorKind::PermissionDenied);
    ctx.prove("files outside the rules that are refused now", "1", f64::from(u8::from(refused)), 1.0..=1.0);
    let dir = scratch.dir();
    work::calls::<0>(ctx, "open and close", "files opened and closed, per file credited", || {
        raw::open_close_at(dir, &name)
    })
}
