//! Making 4 KiB survive a loss of power.
//!
//! **Measures:** What programs do for it, as one operation, by kind:
//! - `append`: `write` to the end of a file and `fsync`.
//! - `log`: the same with `fdatasync`, as the logs of etcd and of most databases do.
//! - `overwrite`: `pwrite` over existing bytes of a file and `fdatasync`, as a database does.
//! - `create`: a new file, `fsync` of it and of its directory, without which its name may be lost.
//! - `replace`: the same under another name, which is then renamed over the existing file: the only
//!   way to change a small file so that one of the two versions always exists.
//!
//! **Does not measure:** Writes that are not synced (`file.create_write_read_delete`), a disk
//! without a file system (`disk.sync_write`), or whether the bytes would in fact survive.
//!
//! **Method:** Each operation is timed alone; the bytes are random, so nothing can compress them. A
//! file of 4 MiB is cut, untimed, before more is appended.
//! The proofs are that the device has written at least as many bytes in the meantime, as the kernel
//! counts them (where the file lies on a device for which it counts), and that in the end the files
//! hold what was written last.
//!
//! **Calls:**
//! - `kind=append`: `fsync(`, not `fdatasync(`
//! - `kind=log`: `fdatasync(`, not `fsync(`
//! - `kind=overwrite`: `fdatasync(`, not `fsync(`
//! - `kind=create`: `fsync(`, not `rename`
//! - `kind=replace`: `rename`, not `unlink`
//! - timed `kind=create`: `clock openat pwrite64 fsync close fsync clock`; both flushes are timed
//! - timed `kind=replace`: `clock openat pwrite64 fsync close renameat fsync clock`; the rename is
//!   timed
//!
//! **Pitfalls:**
//! - A disk, a controller or the host of a virtual machine that reports completion when the bytes
//!   are in its memory makes this as fast as that memory. The device, its write cache and the
//!   number of flushes are recorded; whether it obeys cannot be seen.
//! - On a tmpfs nothing survives: `unsupported`.
//! - Other writers to the same disk are part of the result.
//!
//! **Sources:** lmbench3 `lat_fs` has no such mode and says nothing of storage; Ousterhout 1990
//! table 10 shows the cost of synchronous metadata. See
//! docs/methods/operating-system.md#durability.

use super::crowd::check_made;
use super::random_content;
use crate::scratch::Scratch;
use crate::work;
use groma_harness::model::Params;
use groma_harness::prelude::*;
use groma_harness::sys::files;
use groma_harness::sys::raw;
use std::fs::File;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Making 4 KiB survive a loss of power",
        about: about!("durable.rs"),
        iteration: "one write with its fsync or fdatasync (create, replace: two)",
        timing: Timing::Each,
        params: &[Param::word(
            "kind",
            "append to a file (log: with fdatasync), overwrite part of it, create a file, or replace one atomically",
            &["append", "log", "overwrite", "create", "replace"],
        )
        .quick(&["append"])
        .standard(&["log", "overwrite"])],
        needs: &[Need::WorkDir],
        files: most_bytes,
        interference: Interference::Blocking,
        target_half_width: 0.1,
        version: 2,
        ..Info::new("file.durable")
    },
    run: Run::Here(run),
};

/// Bytes per operation: the block of most file systems and devices.
const PIECE: usize = 4096;
/// The size of the file to overwrite, in pieces.
const PIECES: u64 = 256;
/// The longest that a file becomes to which pieces are appended. Then it is cut, outside the watch:
/// otherwise a fast disk would be filled by as much as a round has time for.
const APPENDED: u64 = 1024;

/// The most bytes of files.
fn most_bytes(params: &Params) -> u64 {
    let pieces = match params.word("kind") {
        Some("append" | "log") => APPENDED,
        Some("overwrite") => PIECES,
        _ => 2,
    };
    pieces * PIECE as u64
}

fn run(ctx: &mut Ctx) -> Outcome {
    let scratch = Scratch::apart(ctx)?;
    let dir = File::open(scratch.path()).context("opening the directory")?;
    if sys::tmpfs::holds(&dir).context("asking for the file system")? {
        return Err(BenchError::Unsupported("nothing survives on the tmpfs that the work directory is on".to_owned()));
    }
    let mut content = random_content(ctx.rng(), PIECE);
    let before = Device::now(&dir);
    match ctx.word("kind") {
        kind @ ("append" | "log" | "overwrite") => {
            write_to_file(ctx, &scratch, &mut content, kind != "overwrite", kind == "append")?;
        }
        kind => new_file(ctx, &scratch, &dir, &mut content, kind == "replace")?,
    }
    before.prove(ctx, &dir);
    Ok(())
}

/// Gives each operation bytes of its own.
fn stamp(content: &mut [u8], number: u64) {
    content[..8].copy_from_slice(&number.to_ne_bytes());
}

fn write_to_file(ctx: &mut Ctx, scratch: &Scratch, content: &mut [u8], append: bool, metadata: bool) -> Outcome {
    let file = scratch.random_file(if append { 0 } else { PIECES * PIECE as u64 }, ctx)?;
    file.sync_all().context("fsync")?;
    let mut number = 0;
    let most = if append { APPENDED } else { PIECES };
    let place = |number: u64| number % most * PIECE as u64;
    ctx.measure_staged(|iters, watch| {
        for _ in 0..iters {
            if append && number > 0 && number % most == 0 {
                file.set_len(0).context("cutting the file")?;
                file.sync_all().context("fsync")?;
            }
            stamp(content, number);
            watch.start();
            all(files::write_at(&file, content, place(number)).context("writing the file")?)?;
            if metadata { file.sync_all().context("fsync") } else { file.sync_data().context("fdatasync") }?;
            watch.stop();
            number += 1;
        }
        Ok(())
    })?;
    work::once_each(ctx, "pieces written and synced per piece credited", number, ctx.iterations());
    if number == 0 {
        return Ok(());
    }
    let pieces = if append { (number - 1) % most + 1 } else { PIECES };
    let long = file.metadata().context("fstat")?.len() as f64 / PIECE as f64;
    ctx.prove("pieces in the file", &format!("{pieces}"), long, pieces as f64..=pieces as f64);
    let mut back = vec![0; PIECE];
    all(files::read_at(&file, &mut back, place(number - 1)).context("reading the file")?)?;
    prove_last(ctx, back == content);
    Ok(())
}

fn new_file(ctx: &mut Ctx, scratch: &Scratch, dir: &File, content: &mut [u8], replace: bool) -> Outcome {
    let here = scratch.dir();
    let mut number = 0;
    ctx.measure_staged(|iters, watch| {
        for _ in 0..iters {
            stamp(content, number);
            if !replace && number > 0 {
                check_made(raw::unlink_at(here, c"new"), "removing a file")?;
            }
            watch.start();
            let file = files::create(here, c"new").context("making a file")?;
            all(files::write_at(&file, content, 0).context("writing a file")?)?;
            file.sync_all().context("fsync")?;
            drop(file);
            if replace {
                files::rename(here, c"new", here, c"file").context("renaming a file")?;
            }
            dir.sync_all().context("fsync of the directory")?;
            watch.stop();
            number += 1;
        }
        Ok(())
    })?;
    work::once_each(ctx, "files written and synced per file credited", number, ctx.iterations());
    if number == 0 {
        return Ok(());
    }
    let last = if replace { "file" } else { "new" };
    let back = std::fs::read(scratch.path().join(last)).context("reading the file")?;
    prove_last(ctx, back == content);
    Ok(())
}

fn all(n: usize) -> Outcome {
    if n == PIECE {
        Ok(())
    } else {
        Err(BenchError::Failed(format!("{n} B instead of {PIECE}: No space left on device")))
    }
}

fn prove_last(ctx: &mut Ctx, same: bool) {
    ctx.prove("last operations that can be read back", "1", f64::from(u8::from(same)), 1.0..=1.0);
}

/// The device's counters at the start of the measurement.
struct Device(Option<files::DeviceWrites>);

impl Device {
    fn now(dir: &File) -> Device {
        Device(files::device_writes(dir))
    }

    /// Proves that at least the bytes of all operations were written; others may have written as
    /// well.
    fn prove(&self, ctx: &mut Ctx, dir: &File) {
        let (Some(before), Some(after)) = (self.0, files::device_writes(dir)) else {
            ctx.note("what the device has written is not counted here");
            return;
        };
        if after.bytes == 0 {
            // Nothing since the system started, although files were synced here: this device leaves
            // the counting to those below it.
            ctx.note("what the device has written is not counted by it");
            return;
        }
        let operations = ctx.iterations() as f64;
        let bytes = after.bytes.wrapping_sub(before.bytes) as f64 / operations;
        ctx.prove("bytes that the device wrote, per operation", "4096 or more", bytes, PIECE as f64..);
        if let (Some(before), Some(after)) = (before.flushes, after.flushes) {
            let flushes = after.wrapping_sub(before) as f64 / operations;
            ctx.fact("device.flushes_per_operation", format!("{flushes:.2}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::testing::Place;
    use groma_harness::testing::try_out;

    /// A file that is written to at its end has to be made longer on the disk as well.
    #[test]
    fn only_an_overwritten_file_has_its_length_before() {
        let place = Place::new();
        for (kind, own) in [("append", None), ("log", None), ("overwrite", Some(PIECES))] {
            let tried = match try_out(&BENCH, &[("kind", kind)], Some(place.path())) {
                Err(BenchError::Unsupported(why)) => return eprintln!("skipped: {why}"),
                tried => tried.expect("a disk"),
            };
            let appended = (tried.iterations - 1) % APPENDED + 1;
            assert_eq!(tried.proven("pieces in the file"), own.unwrap_or(appended) as f64, "{kind}");
        }
    }

    /// A device that has written for days would prove any operation.
    #[test]
    fn only_what_the_device_wrote_meanwhile_counts() {
        let place = Place::new();
        let written = || files::device_writes(&File::open(place.path()).expect("the directory"));
        let Some(before) = written().filter(|before| before.bytes > 0) else {
            return eprintln!("skipped: nobody counts what this device writes");
        };
        let tried = match try_out(&BENCH, &[("kind", "append")], Some(place.path())) {
            Err(BenchError::Unsupported(why)) => return eprintln!("skipped: {why}"),
            tried => tried.expect("a disk"),
        };
        let meanwhile = written().expect("it is still there").bytes.wrapping_sub(before.bytes) as f64;
        let counted = tried.proven("bytes that the device wrote, per operation") * tried.iterations as f64;
        assert!(counted * 0.999_999 <= meanwhile, "{counted} bytes counted, {meanwhile} written");
    }
}
