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

/// A value: its number, again and again.
#[inline]
fn value(number: u64) -> [u8; SIZE] {
    let mut value = [0; SIZE];
    for part in value.chunks_exact_mut(size_of::<u64>()) {
        part.copy_from_slice(&number.to_le_bytes());
    }
    value
}

fn run(ctx: &mut Ctx) -> Outcome {
    let scratch = directory(ctx)?;
    let file = scratch.nameless(ctx)?;
    files::set_attribute(&file, &value(0)).map_err(|error| match error.kind() {
        io::ErrorKind::Unsupported => {
            BenchError::Unsupported("this file system has no extended attributes of users".to_owned())
        }
        _ => BenchError::from_io("fsetxattr", &error),
    })?;
    let done = Done::new();
    let mut room = [0; SIZE];
    if ctx.word("call") == "get" {
        let wanted = value(0);
        return work::measure_calls(ctx, "values read whole, per call credited", &done, |iters| {
            let mut right = 0;
            for _ in 0..iters {
                let got = files::attribute(&file, &mut room).context("fgetxattr")?;
                right += u64::from(got == SIZE && room == wanted);
            }
            done.add(right);
            all_right(iters, right)
        });
    }
    work::measure_calls(ctx, "values set, per call credited", &done, |iters| {
        for _ in 0..iters {
            files::set_attribute(&file, &value(done.count() + 1)).context("fsetxattr")?;
            done.add(1);
        }
        Ok(())
    })?;
    let got = files::attribute(&file, &mut room).context("fgetxattr")?;
    let last = got == SIZE && room == value(done.count());
    ctx.prove("the file has the last value", "1", f64::from(u8::from(last)), 1.0..=1.0);
    Ok(())
}

fn all_right(wanted: u64, right: u64) -> Outcome {
    if right == wanted { Ok(()) } else { Err(BenchError::Failed(format!("{right} of {wanted} values were whole"))) }
}
