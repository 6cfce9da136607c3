//! Mounting a file system, and unmounting it.
//!
//! **Measures:** One `mount`, and as `.umount` one `umount`, in a mount namespace of the worker's
//! own. By `kind`: a directory again at another place (`bind`), or a new file system in memory
//! (`tmpfs`). A container is set up by a dozen of these.
//!
//! **Does not measure:** Mounting a disk, or a mount that others receive (shared propagation).
//!
//! **Method:** The two take turns; each call is timed alone.
//!
//! **Proofs:** After each mount the directory is another one, by device and inode, and after each
//! unmount it is the old one again.
//!
//! **Pitfalls:**
//! - The kernel waits for all CPUs as it unmounts, or leaves that to a later call.
//! - It takes CAP_SYS_ADMIN: `denied` to an ordinary user.
//!
//! **Sources:** None of the earlier suites. See docs/methods/operating-system.md#isolation.

use super::toggle;
use crate::scratch::Scratch;
use groma_harness::prelude::*;
use groma_harness::sys::mounts::{self, Kind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The series of what mounts, which is the main one, and of what unmounts.
const SERIES: [&str; 2] = ["mount", "umount"];

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Mounting a directory or a file system in memory; unmounting it",
        about: about!("mount.rs"),
        iteration: "one mount",
        timing: Timing::Each,
        outputs: &[Output::MAIN.series(SERIES[0]), Output::named(SERIES[1], "unmounting it")],
        params: &[Param::word("kind", "what is mounted", &["bind", "tmpfs"]).quick(&["bind"]).standard(&["tmpfs"])],
        needs: &[Need::WorkDir],
        scaling: Scaling::processes("each copy has a mount namespace of its own"),
        interference: Interference::Blocking,
        target_half_width: 0.05,
        tier: Tier::Standard,
        ..Info::new("isolation.mount")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let kind = if ctx.word("kind") == "tmpfs" { Kind::Tmpfs } else { Kind::Bind };
    let scratch = Scratch::apart(ctx)?;
    let (from, at) = (scratch.path().join("from"), scratch.path().join("at"));
    for directory in [&from, &at] {
        std::fs::create_dir(directory).context("making a directory")?;
    }
    mounts::leave().map_err(|e| BenchError::Denied(format!("making a mount namespace: {e}")))?;
    let number = |of: &Path| -> std::io::Result<(u64, u64)> {
        let seen = std::fs::metadata(of)?;
        Ok((seen.dev(), seen.ino()))
    };
    let bare = number(&at).context("stat")?;
    toggle(
        ctx,
        SERIES,
        || mounts::mount(kind, &from, &at).context("mounting"),
        || mounts::unmount(&at).context("unmounting"),
        || Ok(number(&at).context("stat")? != bare),
    )
}
