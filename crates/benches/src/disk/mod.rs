//! Disks, bypassing the page cache.
//!
//! The benchmarks use a file of our own by default. A device is used only if named, and only read.

use crate::scratch::Scratch;
use crate::work::{self, Done};
use groma_harness::model::family::{Figure, Say, greatest, least};
use groma_harness::model::{Family, ROUND_ONCE};
use groma_harness::prelude::*;
use groma_harness::stats::rng::mix;
use groma_harness::stats::{Permutation, Rng, median};
use groma_harness::sys::counters::Usage;
use groma_harness::sys::disk;
use groma_harness::sys::facts::file_room;
use groma_harness::sys::pages::{Map, Policy};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

mod size;
mod read;
mod random_read;
mod queue;
mod seek;
mod overhead;
mod write;
mod sync_write;

pub(crate) static ABOUT: Family = Family {
    name: "disk",
    summary: "Disks, past the page cache",
    says: Say::Each(&[
        Say::Text("4 KiB at random take {}", &[Figure::Value(least("disk.random_read"))]),
        Say::Text("1 MiB comes at {}", &[Figure::Value(greatest("disk.read"))]),
    ]),
    rows: &[],
};

pub(crate) const ALL: &[&Benchmark] = listed!("disk");

/// Bytes per small request: a page, and the block of most file systems.
const REQUEST: usize = 4096;
/// Bytes per large request, as in lmbench's `disk`.
const LARGE_REQUEST: usize = 1 << 20;
/// The value of `on` that stands for a file of our own.
const OWN_FILE: &str = "file";

/// A file of our own in the work directory, or the device or file that was named.
const ON: Param = Param::text("on", "a file that groma creates, or the path of a device or file to read: /dev/sdb")
    .quick(&[OWN_FILE]);

/// Our own file belongs to the work directory.
const NEEDS: &[Need] = &[Need::WorkDirFor { param: "on", values: &[OWN_FILE] }];

/// The largest size of our own file: several times the cache of any disk. See
/// docs/methods/operating-system.md#disk.
const SIZE: Param = Param::size(
    "size",
    "bytes of the file that groma creates, at most: less where the disk is slow or nearly full; a named device or \
     file is used in full",
)
.takes(Memory::Fitted)
.quick(&["4G"]);

/// The part of the free space that our file may take.
const SHARE_OF_ROOM: u64 = 10;
/// Our file is never shorter, however slow the disk.
const MIN_FILE: u64 = 8 << 20;
/// Nanoseconds that a round may fill a file that it does not share with other rounds, in a test.
const ALONE_NS: u64 = 100_000_000;

/// What is read or written.
struct Target {
    file: File,
    size: u64,
    /// Whether each block begins with its [`stamp`].
    ours: bool,
    /// The directory of the round.
    _scratch: Option<Scratch>,
    before: Usage,
    /// Bytes read so far.
    bytes: Done,
}

impl Target {
    /// Opens what `on` names. Our own file is written completely, bypassing the page cache: blocks
    /// that were never written would be read as zeroes at memory speed.
    fn open(ctx: &mut Ctx) -> Result<Target, BenchError> {
        let on = ctx.word("on");
        let (file, size, scratch) = if on == OWN_FILE {
            let scratch = Scratch::new(ctx)?;
            let file = own_file(ctx, &scratch)?;
            let size = fill(ctx, &scratch, &file)?.min(ctx.int("size"));
            ctx.fact("disk.file_bytes", size);
            (file, size, Some(scratch))
        } else {
            let file = disk::open_to_read(Path::new(on)).or_else(|e| explain_refusal(e, on))?;
            let size = disk::size(file.as_fd()).context("looking for its end")?;
            ctx.fact("disk.size", size);
            (file, size, None)
        };
        if size < 2 * LARGE_REQUEST as u64 {
            return Err(BenchError::Unsupported(format!("{on}: holds {size} B, less than two requests of 1 MiB")));
        }
        let ours = scratch.is_some();
        Ok(Target { file, size, ours, _scratch: scratch, before: Usage::thread(), bytes: Done::new() })
    }

    /// As [`Target::open`], for writing, which only our own file allows.
    fn open_to_write(ctx: &mut Ctx) -> Result<Target, BenchError> {
        if ctx.word("on") != OWN_FILE {
            return Err(BenchError::Unsupported("what was named is only read".to_owned()));
        }
        Target::open(ctx)
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

    /// Restarts the count of what was read.
    fn counting(self) -> Target {
        Target { before: Usage::thread(), ..self }
    }

    /// This offset, or 0 where fewer than `len` bytes follow it.
    fn next(&self, at: u64, len: usize) -> u64 {
        if at + len as u64 > self.size { 0 } else { at }
    }

    /// Fails unless the buffer holds the blocks of our own file at offset `at`; checks whole blocks
    /// only.
    fn check(&self, buffer: &[u8], at: u64) -> Outcome {
        let whole = at.is_multiple_of(REQUEST as u64) && buffer.len().is_multiple_of(REQUEST);
        if self.ours && whole { check_stamps(buffer, at) } else { Ok(()) }
    }

    /// All blocks from which `len` bytes can be read, in random order, each once; each member of a
    /// worker group has its own part.
    fn places(&self, ctx: &mut Ctx, len: u64) -> Places {
        let (first, blocks) = part_of(blocks_before_end(self.size, len), ctx.workers(), ctx.member());
        Places::new(first, blocks, ctx.rng())
    }

    /// Reads places that were not read before, each twice in a row, and flags the round where the
    /// second reads are no faster (docs/methods/operating-system.md#disk-caches). Returns the times
    /// of the second reads in seconds.
    fn compare_with_reused(&self, ctx: &mut Ctx, places: &mut Places) -> Result<Vec<f64>, BenchError> {
        /// Enough for the median of a round, or what fits into `MAX_NS`.
        const PAIRS: usize = 64;
        const MAX_NS: u64 = 20_000_000;
        const MIN_PAIRS: usize = 6;
        let mut buffer = buffer(REQUEST)?;
        let mut pairs = Pairs::default();
        let end = ctx.now_ns() + MAX_NS;
        while pairs.fresh.len() < PAIRS && (pairs.fresh.len() < MIN_PAIRS || ctx.now_ns() < end) {
            let at = places.draw();
            pairs.read(at, |at| {
                let start = ctx.now_ns();
                read_whole(self.fd(), &mut buffer, at)?;
                Ok(ctx.now_ns().saturating_sub(start) as f64 * 1e-9)
            })?;
            self.check(&buffer, at)?;
        }
        if let Some((ratio, may_be_cache)) = pairs.first_to_second() {
            ctx.fact("disk.fresh_over_reused", format!("{ratio:.2}"));
            if may_be_cache {
                ctx.suspect_cache();
            }
        }
        Ok(pairs.reused)
    }

    /// Proves by the kernel's count that all requested bytes came from a disk. What lies below some
    /// file systems (a network, another file system) is not counted; then nothing is known, and the
    /// result is `unsupported`.
    fn prove_disk(&self, ctx: &mut Ctx, bytes_each: usize) -> Outcome {
        let used = Usage::thread().since(&self.before);
        let credited = ctx.iterations() * bytes_each as u64;
        work::once_each(ctx, "bytes read per byte credited", self.bytes.count(), credited);
        if used.blocks_in == 0 && self.bytes.count() == credited {
            return Err(BenchError::Unsupported(UNCOUNTED.to_owned()));
        }
        prove_read(ctx, &used, credited);
        Ok(())
    }
}

/// The kernel's unit of `ru_inblock` and `ru_oublock`.
const BLOCK: f64 = 512.0;

/// The reason where reads leave no trace in the kernel's counters.
const UNCOUNTED: &str = "the kernel counted no reads from a disk";

/// Proves by the kernel's count that what was written since `before` went to a disk: `done`
/// requests of `bytes_each`, one for each iteration credited.
fn prove_written(ctx: &mut Ctx, before: &Usage, done: u64, bytes_each: usize) -> Outcome {
    let written = Usage::thread().since(before).blocks_out as f64 * BLOCK;
    work::once_each(ctx, "requests written per request credited", done, ctx.iterations());
    if written == 0.0 && done == ctx.iterations() {
        return Err(BenchError::Unsupported("the kernel counted no writes to a disk".to_owned()));
    }
    prove_all_written(ctx, written, ctx.iterations() * bytes_each as u64);
    Ok(())
}

/// Proves that the kernel counted all bytes that were written. It may count more: blocks that the
/// file system writes for itself.
fn prove_all_written(ctx: &mut Ctx, counted: f64, written: u64) {
    let share = counted / written.max(1) as f64;
    ctx.prove("bytes that went to a disk, of those written", "1 or more", share, 0.99..);
}

/// Proves that the kernel counted in `used` the bytes asked for. A kernel that is short of memory
/// evicts pages of the program and reads them again, many at a time, in the same count: such a
/// round may exceed the bound, and the two cannot be separated.
fn prove_read(ctx: &mut Ctx, used: &Usage, asked: u64) {
    /// What a file system may read for itself (extents, bitmaps), even in a short round: ext4 read
    /// 20 KiB beside 96 reads of 4 KiB, and 68 KiB beside 12. Of a table of inodes it reads 128 KiB
    /// at a time (`inode_readahead_blks`).
    const OWN_BLOCKS: f64 = 262_144.0;
    let (read, asked) = (used.blocks_in as f64 * BLOCK, asked as f64);
    let most = 1.05 + OWN_BLOCKS / asked;
    if read / asked > most && used.major_faults > 0 {
        let more = ((read - asked) / 1024.0).round();
        let faults = used.major_faults;
        let reason = format!(
            "{more} KiB more than asked for came from a disk, and {faults} major faults: the kernel read the \
             program's own pages as well, since memory is short"
        );
        return ctx.unresolved("", &reason);
    }
    ctx.prove(
        "bytes that came from a disk, of those asked for",
        "1 (0.99 to 1.05 and 256 KiB)",
        read / asked,
        0.99..=most,
    );
}

/// Seconds of reads of places that were not read before, and of the second reads that followed at
/// once.
#[derive(Default)]
struct Pairs {
    fresh: Vec<f64>,
    reused: Vec<f64>,
}

impl Pairs {
    /// Reads a place twice, with what reads it and tells how long that took.
    fn read(&mut self, at: u64, mut timed: impl FnMut(u64) -> Result<f64, BenchError>) -> Outcome {
        self.fresh.push(timed(at)?);
        self.reused.push(timed(at)?);
        Ok(())
    }

    /// The ratio of first to second reads, and whether all may come from a cache.
    fn first_to_second(&self) -> Option<(f64, bool)> {
        let (fresh, again) = (median(&self.fresh)?, median(&self.reused)?);
        Some((fresh / again, may_be_cache(fresh, again)))
    }
}

/// Whether reads of places never read and of places just read, with these times in seconds, may all
/// come from a cache (docs/methods/operating-system.md#disk-caches).
fn may_be_cache(fresh: f64, reused: f64) -> bool {
    /// The least ratio of the first read to the second where a medium is involved.
    const MIN_MEDIUM_RATIO: f64 = 1.5;
    /// Longer than any cache takes, in seconds: a second read as slow as this was not cached.
    const MAX_CACHE_READ_S: f64 = 1e-3;
    fresh < MIN_MEDIUM_RATIO * reused && fresh < MAX_CACHE_READ_S
}

/// How many blocks are followed by `len` bytes before `size`.
fn blocks_before_end(size: u64, len: u64) -> u64 {
    size.saturating_sub(len) / REQUEST as u64 + 1
}

/// The first block of a member's part and its number of blocks, at least one.
fn part_of(blocks: u64, members: u32, member: u32) -> (u64, u64) {
    let each = (blocks / u64::from(members)).max(1);
    ((u64::from(member) * each).min(blocks - 1), each)
}

/// Blocks of a part of the file in random order, each once.
struct Places {
    first: u64,
    blocks: u64,
    order: Permutation,
    next: u64,
}

impl Places {
    fn new(first: u64, blocks: u64, rng: &mut Rng) -> Places {
        Places { first, blocks, order: Permutation::new(blocks, rng), next: 0 }
    }

    /// The offset of the next block; the first again when all were drawn.
    fn draw(&mut self) -> u64 {
        let block = self.order.at(self.next).unwrap_or(0);
        self.next = (self.next + 1) % self.blocks;
        (self.first + block) * REQUEST as u64
    }
}

/// Offsets of consecutive large requests of this round and member: in a stretch of 4 GiB at
/// `position` percent of a disk of `size` bytes, again and again.
fn sequence(ctx: &Ctx, size: u64, position: u64) -> impl Iterator<Item = u64> + use<> {
    large_requests(size, position, turn_of(ctx.round(), ctx.workers(), ctx.member()))
}

/// The number of members, of all rounds, before this one.
fn turn_of(round: u32, members: u32, member: u32) -> u64 {
    u64::from(round) * u64::from(members) + u64::from(member)
}

/// The offsets of [`sequence`] for this turn.
fn large_requests(size: u64, position: u64, turn: u64) -> impl Iterator<Item = u64> + use<> {
    /// Requests of the stretch.
    const STRETCH: u64 = (4 << 30) / LARGE_REQUEST as u64;
    /// Requests between the beginnings of two rounds: no round makes more.
    const ROUND: u64 = 512;
    let all = size / LARGE_REQUEST as u64;
    let stretch = all.min(STRETCH);
    let first = ((all - stretch) as u128 * u128::from(position.min(100)) / 100) as u64;
    let begin = turn.wrapping_mul(ROUND);
    (0..).map(move |n: u64| (first + begin.wrapping_add(n) % stretch) * LARGE_REQUEST as u64)
}

/// The first word of the block of our file at this offset.
fn stamp(at: u64) -> u64 {
    // Never 0, which is what a hole reads as: `mix` maps 0, and nothing else, to 0.
    mix(at + 1)
}

/// Puts the stamps of the blocks at `at` into the buffer.
fn put_stamps(buffer: &mut [u8], at: u64) {
    for (block, n) in buffer.chunks_exact_mut(REQUEST).zip(0..) {
        block[..8].copy_from_slice(&stamp(at + n * REQUEST as u64).to_ne_bytes());
    }
}

/// Fails unless the buffer holds the blocks that were written at `at`: blocks that a file system
/// never wrote are zeroes.
fn check_stamps(buffer: &[u8], at: u64) -> Outcome {
    for (block, n) in buffer.chunks_exact(REQUEST).zip(0..) {
        let place = at + n * REQUEST as u64;
        let seen = block.first_chunk().map_or(0, |word| u64::from_ne_bytes(*word));
        if seen != stamp(place) {
            return Err(BenchError::Failed(format!(
                "the block at {place} begins with {seen:x}, not as it was written"
            )));
        }
    }
    Ok(())
}

/// The file that the rounds of this run share, or where there is none, one for this round. Neither
/// has a name, so that not even SIGKILL leaves it behind.
fn own_file(ctx: &Ctx, scratch: &Scratch) -> Result<File, BenchError> {
    if !disk::has_disk(scratch.path()).context("asking for the file system")? {
        return Err(BenchError::Unsupported(
            "the work directory is in memory, not on a disk (see --work-dir)".to_owned(),
        ));
    }
    match ctx.run_file().map(|shared| disk::open_shared(Path::new(&shared.path))) {
        Some(Ok(file)) => return Ok(file),
        Some(Err(e)) if e.kind() == io::ErrorKind::InvalidInput => return explain_refusal(e, "the work directory"),
        // Without /proc it cannot be opened.
        Some(Err(_)) | None => {}
    }
    let path = scratch.path().join("disk");
    let file = disk::create(&path).or_else(|e| explain_refusal(e, "the work directory"))?;
    std::fs::remove_file(&path).context("removing the file's name")?;
    Ok(file)
}

/// How long our file may be where `size` bytes were asked for, `at` are there, and this many more
/// have room.
fn most_bytes(size: u64, at: u64, room: u64) -> u64 {
    let all = room.saturating_add(at);
    size.min((all / SHARE_OF_ROOM).max(MIN_FILE.min(all / 4)))
}

/// Extends our file as far as it may go, and returns its length. The next round continues from
/// there: everything before the end is written, since each write begins at the end. One member
/// writes, the others wait for it.
fn fill(ctx: &mut Ctx, scratch: &Scratch, file: &File) -> Result<u64, BenchError> {
    let size = ctx.int("size");
    if !size.is_multiple_of(LARGE_REQUEST as u64) {
        return Err(BenchError::Unsupported(format!("{size} B is not a multiple of 1 MiB")));
    }
    let whole = || -> Result<u64, BenchError> {
        Ok(disk::size(file.as_fd()).context("looking for its end")? / LARGE_REQUEST as u64 * LARGE_REQUEST as u64)
    };
    // Before the wait for another member: the time is for all of them.
    let (begun, found) = (ctx.now_ns(), whole()?);
    file.lock().context("locking the file")?;
    let mut at = whole()?;
    // A file of its own that a member cannot share leaves as much to each of the others.
    let members = if ctx.run_file().is_some() { 1 } else { u64::from(ctx.workers()) };
    let room = file_room(scratch.path()).map_or(0, |room| room.bytes / members.max(1));
    let most = most_bytes(size, at, room);
    let end = begun + ctx.run_file().map_or(ALONE_NS, |shared| shared.fill_ns);
    if at < most {
        let mut block = random_buffer(ctx, LARGE_REQUEST)?;
        while at + LARGE_REQUEST as u64 <= most && (at < MIN_FILE || ctx.now_ns() < end) {
            // The stamps make every block a block of its own, which no device can share.
            put_stamps(&mut block, at);
            write_whole(file.as_fd(), &block, at)?;
            at += LARGE_REQUEST as u64;
        }
        // What the device still holds in a cache for writes would be read from there.
        disk::sync_data(file.as_fd()).context("fdatasync")?;
    }
    file.unlock().context("unlocking the file")?;
    if at != found {
        ctx.fact(ROUND_ONCE, format!("{:.1}", ctx.now_ns().saturating_sub(begun) as f64 * 1e-6));
    }
    Ok(at)
}

/// Explains an error of opening for direct transfers.
fn explain_refusal(error: io::Error, what: &str) -> Result<File, BenchError> {
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

/// A buffer of random bytes, which no device can compress.
fn random_buffer(ctx: &mut Ctx, len: usize) -> Result<Map, BenchError> {
    let mut buffer = buffer(len)?;
    fill_randomly(ctx, &mut buffer);
    Ok(buffer)
}

fn fill_randomly(ctx: &mut Ctx, buffer: &mut [u8]) {
    for word in buffer.chunks_exact_mut(8) {
        word.copy_from_slice(&ctx.rng().next_u64().to_ne_bytes());
    }
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

/// Writes all of the buffer, or fails.
#[inline]
fn write_whole(fd: BorrowedFd<'_>, buffer: &[u8], offset: u64) -> Outcome {
    let n = disk::write_at(fd, buffer, offset).context("writing")?;
    if n == buffer.len() {
        return Ok(());
    }
    Err(BenchError::Failed(format!("a write of {} B at {offset} wrote {n}", buffer.len())))
}

#[cfg(test)]
mod tests;
