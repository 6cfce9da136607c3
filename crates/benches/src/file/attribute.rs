//! An extended attribute of a file: set, or read.
//!
//! **Measures:** One `fsetxattr` that replaces a value of 32 bytes by another, or one `fgetxattr`.
//! File servers, security modules, overlay file systems and backups keep what they know of a file
//! in attributes.
//!
//! **Does not measure:** Attributes that are looked at with each open (those of security modules),
//! or values too long for the file's inode.
//!
//! **Method:** Many calls on one open file in one short interval. The values differ from call to
//! call.
//!
//! **Proofs:** Each read brings the whole value that was set; after the writes the file has the
//! last value. Every call enters the kernel.
//!
//! **Pitfalls:** Some file systems have no attributes of users, or (tmpfs) only since Linux 6.6:
//! `unsupported`.
//!
//! **Sources:** None of the earlier suites. See
//! docs/methods/operating-system.md#metadata-operations.

use super::{WHERE, directory};
use crate::payload;
use crate::work::{self, Done};
use groma_harness::prelude::*;
use groma_harness::sys::files;
use std::io;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Setting or reading an extended attribute of a file",
        about: about!("attribute.rs"),
        iteration: "one fsetxattr or fgetxattr",
        params: &[
            Param::word("call", "what is done: fgetxattr or fsetxattr", &["get", "set"])
                .quick(&["get"])
                .standard(&["set"]),
            WHERE,
        ],
        needs: &[Need::WorkDir],
        target_half_width: 0.05,
        tier: Tier::Standard,
        ..Info::new("file.attribute")
    },
    run: Run::Here(run),
};

/// Bytes of a value.
const SIZE: usize = 32;

fn run(ctx: &mut Ctx) -> Outcome {
    let scratch = directory(ctx)?;
    let file = scratch.nameless(ctx)?;
    let (mut value, mut room) = ([0; SIZE], [0; SIZE]);
    files::set_attribute(&file, &value).map_err(|error| match error.kind() {
        io::ErrorKind::Unsupported => {
            BenchError::Unsupported("this file system has no extended attributes of users".to_owned())
        }
        _ => BenchError::from_io("fsetxattr", &error),
    })?;
    if ctx.word("call") == "get" {
        // Not what is there already, which a read of nothing would leave.
        payload::fill(&mut value, 1);
        files::set_attribute(&file, &value).context("fsetxattr")?;
        return work::checked_calls(ctx, "fgetxattr", "values read whole, per call credited", || {
            files::attribute(&file, &mut room).is_ok_and(|length| length == SIZE) && room == value
        });
    }
    let done = Done::new();
    work::measure_calls(ctx, "values set, per call credited", &done, |iters| {
        for _ in 0..iters {
            payload::fill(&mut value, done.count() + 1);
            files::set_attribute(&file, &value).context("fsetxattr")?;
            done.add(1);
        }
        Ok(())
    })?;
    let got = files::attribute(&file, &mut room).context("fgetxattr")?;
    let last = got == SIZE && payload::holds(&room, done.count());
    ctx.prove("the file has the last value", "1", f64::from(u8::from(last)), 1.0..=1.0);
    Ok(())
}
