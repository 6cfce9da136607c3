//! Disks, bypassing the page cache.
//!
//! The benchmarks use a file of our own by default. A device is used only if named, and only read.

use crate::scratch::Scratch;
use crate::work::{self, Done};
use groma_harness::model::Family;
use groma_harness::model::family::{Figure, Say, greatest, least};
use groma_harness::prelude::*;
use groma_harness::sys::counters::Usage;
use groma_harness::sys::disk;
use groma_harness::sys::pages::{Map, Policy};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

mod overhead;
mod random_read;
mod read;
mod seek;
mod size;
mod sync_write;

/// What the family says about itself.
pub(crate) static ABOUT: Family = Family {
    name: "disk",
    summary: "Disks, past the page cache",
    says: Say::Each(&[
        Say::Text("4 KiB at random take {}", &[Figure::Value(least("disk.random_read"))]),
        Say::Text("1 MiB comes at {}", &[Figure::Value(greatest("disk.read"))]),
    ]),
    rows: &[],
};

pub(crate) const ALL: &[&Benchmark] =
    &[&size::BENCH, &read::BENCH, &random_read::BENCH, &seek::BENCH, &overhead::BENCH, &sync_write::BENCH];

/// Bytes per small request: a page, and the block of most file systems.
const REQUEST: usize = 4096;
/// Bytes per large request, as in lmbench's `disk`.
const LARGE: usize = 1 << 20;
/// The value of `on` that stands for a file of our own.
const OWN_FILE: &str = "file";

/// Where: a file in the work directory, or what was named.
const ON: Param = Param::text("on", "a file that groma creates, or the path of a device or file to read: /dev/sdb")
    .quick(&[OWN_FILE]);

/// Our own file lies in the work directory.
const NEEDS: &[Need] = &[Need::WorkDirFor { param: "on", values: &[OWN_FILE] }];

/// How large the file of our own is.
const SIZE: Param = Param::size("size", "bytes of the file that groma creates; a named device or file is used in full")
    .takes(Memory::Files { copies: 1, buffers: 0, in_memory: None, shared: None })
    .quick(&["8M"])
    .full(&["256M"]);

/// What is read or written.
struct Target {
    file: File,
    size: u64,
    /// The file's directory, removed at the end of the round.
    _scratch: Option<Scratch>,
    before: Usage,
    /// Bytes read so far.
    bytes: Done,
}

impl Target {
    /// Opens what `on` names. Our own file is created and written completely, bypassing the page
    /// cache: blocks that were never written would be read as zeroes at memory speed.
    fn open(ctx: &mut Ctx) -> Result<Target, BenchError> {
        let on = ctx.word("on");
        let (file, size, scratch) = if on == OWN_FILE {
            let scratch = Scratch::new(ctx)?;
            let file = own_file(ctx, &scratch)?;
            (file, ctx.int("size"), Some(scratch))
        } else {
            let file = disk::open_to_read(Path::new(on)).or_else(|e| refused(e, on))?;
            let size = disk::size(file.as_fd()).context("looking for its end")?;
            ctx.fact("disk.size", size);
            (file, size, None)
        };
        if size < 2 * LARGE as u64 {
            return Err(BenchError::Unsupported(format!("{on}: holds {size} B, less than two requests of 1 MiB")));
        }
        Ok(Target { file, size, _scratch: scratch, before: Usage::thread(), bytes: Done::new() })
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Fills the buffer from offset `at`.
    fn read(&self, buffer: &mut [u8], at: u64) -> Outcome {
        read_whole(self.fd(), buffer, at)?;
        self.bytes.add(buffer.len() as u64);
        Ok(())
    }

    /// The same, with what was read up to now not counted.
    fn counting(self) -> Target {
        Target { before: Usage::thread(), ..self }
    }

    /// This offset, or the beginning where no `len` bytes follow it.
    fn next(&self, at: u64, len: usize) -> u64 {
        if at + len as u64 > self.size { 0 } else { at }
    }

    /// A random aligned offset from which `len` bytes can be read, within this part (0 to 1) of the
    /// target.
    fn offset(&self, ctx: &mut Ctx, len: usize, part: std::ops::Range<f64>) -> u64 {
        aligned(self.size, len, part, |n| ctx.rng().below(n))
    }

    /// Proves by the kernel's count that all requested bytes came from a disk. What lies below some
    /// file systems (a network, another file system) is not counted; then nothing is known, and the
    /// result is `unsupported`.
    fn prove_disk(&self, ctx: &mut Ctx, bytes_each: usize) -> Outcome {
        /// The kernel's unit of `ru_inblock`.
        const BLOCK: f64 = 512.0;
        /// What a file system may read for itself: ext4 read 20 KiB beside 96 reads of 4 KiB.
        const OWN_BLOCKS: f64 = 65536.0;
        let read = Usage::thread().since(&self.before).blocks_in as f64 * BLOCK;
        let credited = ctx.iterations() * bytes_each as u64;
        work::once_each(ctx, "bytes read per byte credited", self.bytes.count(), credited);
        if read == 0.0 && self.bytes.count() == credited {
            return Err(BenchError::Unsupported("the kernel counted no reads from a disk".to_owned()));
        }
        // A file system reads some blocks of its own (extents, bitmaps), even in a short round.
        let most = 1.05 + OWN_BLOCKS / credited as f64;
        ctx.prove(
            "bytes that came from a disk, of those asked for",
            "1 (0.99 to 1.05 and 64 KiB)",
            read / credited as f64,
            0.99..=most,
        );
        Ok(())
    }
}

/// A random aligned offset from which `len` bytes fit into `size`, within a part of all such
/// offsets.
fn aligned(size: u64, len: usize, part: std::ops::Range<f64>, below: impl FnOnce(u64) -> u64) -> u64 {
    let unit = REQUEST as u64;
    let last = size.saturating_sub(len as u64) / unit;
    let at = |share: f64| (last as f64 * share.clamp(0.0, 1.0)) as u64;
    let (from, to) = (at(part.start), at(part.end));
    (from + below(to - from + 1)) * unit
}

/// A file of random bytes, which no device can compress. It has no name, so that not even SIGKILL
/// leaves it behind.
fn own_file(ctx: &mut Ctx, scratch: &Scratch) -> Result<File, BenchError> {
    let size = ctx.int("size");
    if !size.is_multiple_of(REQUEST as u64) {
        return Err(BenchError::Unsupported(format!("{size} B are no whole blocks of {REQUEST} B")));
    }
    if !disk::has_disk(scratch.path()).context("asking for the file system")? {
        return Err(BenchError::Unsupported(
            "the work directory is in memory, not on a disk (see --work-dir)".to_owned(),
        ));
    }
    let path = scratch.path().join("disk");
    let file = disk::create(&path).or_else(|e| refused(e, "the work directory"))?;
    std::fs::remove_file(&path).context("removing the file's name")?;
    let mut block = buffer(LARGE)?;
    let mut at = 0;
    while at < size {
        for word in block.chunks_exact_mut(8) {
            word.copy_from_slice(&ctx.rng().next_u64().to_ne_bytes());
        }
        let now = block.len().min((size - at) as usize);
        let n = disk::write_at(file.as_fd(), &block[..now], at).context("writing the file")?;
        if n != now {
            return Err(BenchError::Failed(format!("a write of {now} B wrote {n}")));
        }
        at += n as u64;
    }
    Ok(file)
}

/// Explains an error of opening for direct transfers.
fn refused(error: io::Error, what: &str) -> Result<File, BenchError> {
    match error.kind() {
        io::ErrorKind::InvalidInput => {
            Err(BenchError::Unsupported(format!("{what}: has no direct transfers (O_DIRECT)")))
        }
        io::ErrorKind::NotFound => Err(BenchError::Unsupported(format!("{what}: {error}"))),
        _ => Err(BenchError::from_io(&format!("opening {what}"), &error)),
    }
}

/// A buffer for direct transfers.
fn buffer(len: usize) -> Result<Map, BenchError> {
    let mut buffer = Map::anonymous(len, Policy::Base).context("mapping a buffer")?;
    buffer.populate();
    Ok(buffer)
}

/// Fills the buffer from the offset, or fails.
#[inline]
fn read_whole(fd: BorrowedFd<'_>, buffer: &mut [u8], offset: u64) -> Outcome {
    let n = disk::read_at(fd, buffer, offset).context("reading")?;
    if n == buffer.len() {
        return Ok(());
    }
    Err(BenchError::Failed(format!("a read of {} B at {offset} gave {n}", buffer.len())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::testing::Place;
    use groma_harness::testing::{Tried, try_out};

    /// Runs a benchmark on a file of 4 MiB; `None` if the temporary directory is not on a disk.
    pub(super) fn on_a_file(bench: &Benchmark, more: &[(&str, &str)]) -> Option<Tried> {
        let place = Place::new();
        let chosen = [&[("size", "4M")], more].concat();
        match try_out(bench, &chosen, Some(place.path())) {
            Ok(tried) => Some(tried),
            Err(BenchError::Unsupported(why)) => {
                println!("not here: {why}");
                None
            }
            Err(stop) => panic!("{stop:?}"),
        }
    }

    #[test]
    fn offsets_are_aligned_and_within() {
        let size = 10_000_000;
        for (part, n) in [(0.0..1.0, u64::MAX), (1.0..1.0, 0), (0.5..0.6, 3)] {
            let at = aligned(size, LARGE, part, |below| n.min(below - 1));
            assert!(at.is_multiple_of(4096) && at + LARGE as u64 <= size, "{at}");
        }
        assert_eq!(aligned(2 * LARGE as u64, LARGE, 0.0..0.0, |below| below - 1), 0);
        assert_eq!(aligned(2 * LARGE as u64, LARGE, 1.0..1.0, |below| below - 1), LARGE as u64);
    }

    #[test]
    fn what_is_not_there_is_said() {
        let gone = try_out(&random_read::BENCH, &[("on", "/nonexistent")], None);
        assert!(matches!(&gone, Err(BenchError::Unsupported(why)) if why.starts_with("/nonexistent: ")), "{gone:?}");
        let place = Place::new();
        let uneven = try_out(&random_read::BENCH, &[("size", "3000001")], Some(place.path()));
        assert!(matches!(&uneven, Err(BenchError::Unsupported(why)) if why.contains("no whole blocks")), "{uneven:?}");
        let memory = Path::new("/dev/shm");
        if memory.is_dir() && !disk::has_disk(memory).expect("statfs") {
            let place = memory.join(format!("groma-benches-disk-{}", std::process::id()));
            std::fs::create_dir(&place).expect("a directory");
            let tried = try_out(&random_read::BENCH, &[], Some(&place));
            std::fs::remove_dir(&place).expect("nothing is left in it");
            assert!(matches!(&tried, Err(BenchError::Unsupported(why)) if why.contains("in memory")), "{tried:?}");
        }
    }
}
