//! `groma dd`: moves blocks between files and devices, checks what they hold, and times every
//! transfer.
//!
//! The successor of lmbench's `lmdd`, with the same operands. Not a benchmark: it makes one
//! transfer as requested, without a worker or a record. What `lmdd` lacks: one parser of sizes (`K`
//! is 1024), switches that 0 turns off, direct transfers, errors for failed seeks and short files,
//! latencies in microseconds.
//!
//! Memory is bounded, whatever the number of transfers and offsets.

pub(crate) mod operands;
mod sides;
pub(super) mod summary;

use crate::exit;
use crate::program::Program;
use anyhow::{Context, Result};
use clap::Args;
use groma_harness::Rng;
use groma_harness::sys::disk::ALIGNMENT;
use groma_harness::sys::pages::{Map, Policy};
use groma_runner::signals::watch_signals;
use groma_stats::Permutation;
use operands::{Job, Switch};
use sides::Side;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::time::{Duration, Instant};
use summary::Moved;

const HELP: &str = "Operands:
  if=FILE of=FILE
      input and output; '-' is a standard stream, 'internal' (the default)
      transfers nothing
  bs=SIZE                         bytes of a block [64K]
  count=N move=SIZE time=TIME     stop after N blocks, SIZE bytes or TIME
  skip=N                          skip N blocks of input and output
  start=SIZE                      add SIZE bytes to every offset
  rand=SIZE                       random blocks within SIZE bytes
  norepeat=1 seed=N               none twice; the seed of their order
  opat=1                          write a pattern: each 8-byte word its offset
  ipat=1 mismatch=N               check it; end after N mismatches
  direct=1 idirect=1 odirect=1    bypass the page cache: both, input, output
  osync=1                         sync each write
  fsync=1                         sync all writes before the clock stops
  append=1 notrunc=1 nocreate=1   how of= is opened
  hist=1 json=1                   a histogram, JSON statistics (standard error)

Examples:
  groma dd of=data bs=1M count=256 opat=1 fsync=1
      write a pattern
  groma dd if=data bs=1M ipat=1 direct=1   check it, from the disk
  groma dd if=data bs=4K rand=256M count=10000 direct=1 hist=1

Exit code 4: a transfer failed, or a block did not hold the pattern.";

/// Move blocks between files and devices, check what they hold, and time every transfer
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct DdArgs {
    /// Operands: if=disk.img bs=64K count=100 direct=1
    #[arg(required = true, value_name = "NAME=VALUE")]
    operands: Vec<OsString>,
    /// Allow of= to be a device that keeps what is written; its contents are lost
    #[arg(long)]
    destroy: bool,
}

/// Makes the transfer and prints its statistics.
pub(super) fn run(_: &Program, args: &DdArgs) -> Result<u8> {
    let job = Job::parse(&args.operands)?;
    let (moved, ended) = transfer(&job, args.destroy)?;
    if job.has(Switch::Json) {
        eprintln!("{}", moved.json());
    } else {
        eprint!("{}", moved.text(job.has(Switch::Hist)));
    }
    if let Err(why) = &ended {
        warn!("{why}");
    }
    Ok(if ended.is_err() || moved.mismatches > 0 { exit::FAILED } else { 0 })
}

/// Makes a transfer; returns what was moved, and why it ended early if it did.
///
/// # Errors
/// What is refused before anything is moved.
pub(super) fn transfer(job: &Job, destroy: bool) -> Result<(Moved, Result<(), String>)> {
    groma_harness::check_memory(job.bs as u64).map_err(|why| anyhow::anyhow!("bs: {why}"))?;
    let mut input = Side::input(job)?;
    let mut output = Side::output(job, destroy, &input)?;
    let mut buffer = Map::anonymous(job.bs.max(1), Policy::Base).context("bs: mapping a buffer")?;
    buffer.populate();
    // A transfer with a terminal or a pipe may block forever; there a signal ends the program as
    // usual.
    let signals = if input.waits() || output.waits() { None } else { Some(watch_signals()?) };
    let mut offsets = Offsets::new(job);
    let mut moved = Moved::default();
    let began = Instant::now();
    let ended: Result<(), String> = loop {
        if job.time.is_some_and(|t| began.elapsed() >= t) || signals.as_ref().is_some_and(|s| s.next().is_some()) {
            break Ok(());
        }
        let Some((at, len)) = offsets.next(moved.bytes) else { break Ok(()) };
        match block(job, &mut input, &mut output, &mut buffer[..len], at, &mut moved) {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(e) => break Err(e),
        }
    };
    let ended = ended.and_then(|()| if job.has(Switch::Fsync) { output.sync() } else { Ok(()) });
    moved.elapsed = began.elapsed();
    Ok((moved, ended))
}

/// Transfers one block; returns whether there are more.
fn block(
    job: &Job,
    input: &mut Side,
    output: &mut Side,
    buffer: &mut [u8],
    at: u64,
    moved: &mut Moved,
) -> Result<bool, String> {
    let mut len = buffer.len();
    if let Some(file) = &mut input.file {
        let (n, took) = timed(|| read_block(file, buffer, input.seeks.then_some(at)));
        len = n.map_err(|e| format!("{}: at byte {at}: {e}", input.name))?;
        // With random offsets, the end of the file within a block is not the end of the transfer.
        if len < buffer.len() && input.seeks && job.random.is_some() {
            return Err(format!("{}: ends before byte {}", input.name, at.saturating_add(buffer.len() as u64)));
        }
        if len == 0 {
            return Ok(false);
        }
        moved.reads.record(took);
    }
    if job.has(Switch::Opat) {
        fill(&mut buffer[..len], at);
    }
    if job.has(Switch::Ipat) {
        for (offset, want, got) in wrong(&buffer[..len], at) {
            moved.mismatches += 1;
            if moved.mismatches <= 10 {
                eprintln!("off={offset} want={want:x} got={got:x}");
            }
            if moved.mismatches >= job.mismatch.unwrap_or(u64::MAX) {
                return Err(format!("ended after {} mismatches", moved.mismatches));
            }
        }
    }
    if let Some(file) = &mut output.file {
        let (done, took) = timed(|| {
            if output.seeks {
                file.seek(SeekFrom::Start(at))?;
            }
            file.write_all(&buffer[..len])
        });
        done.map_err(|e| format!("{}: at byte {at}: {e}", output.name))?;
        moved.writes.record(took);
    }
    moved.bytes += len as u64;
    // A short block is the last, except from a pipe.
    Ok(len == buffer.len() || input.is_stream())
}

fn timed<T>(work: impl FnOnce() -> io::Result<T>) -> (io::Result<T>, Duration) {
    let began = Instant::now();
    let done = work();
    (done, began.elapsed())
}

/// Reads a block: all of it unless the file ends first. Returns the length.
fn read_block(file: &mut File, buffer: &mut [u8], at: Option<u64>) -> io::Result<usize> {
    if let Some(at) = at {
        file.seek(SeekFrom::Start(at))?;
    }
    let mut have = 0;
    while have < buffer.len() {
        match file.read(&mut buffer[have..])? {
            0 => break,
            n => have += n,
        }
    }
    Ok(have)
}

/// Fills a block with the pattern: each 8-byte word is its offset in bytes.
fn fill(block: &mut [u8], at: u64) {
    for (i, word) in block.chunks_mut(8).enumerate() {
        let offset = at.wrapping_add(8 * i as u64);
        word.copy_from_slice(&offset.to_le_bytes()[..word.len()]);
    }
}

/// The words that differ from the pattern: the offset, the expected and the actual word. The
/// missing bytes of a last word that is cut short count as correct.
fn wrong(block: &[u8], at: u64) -> impl Iterator<Item = (u64, u64, u64)> {
    block.chunks(8).enumerate().filter_map(move |(i, word)| {
        let want = at.wrapping_add(8 * i as u64);
        let mut bytes = want.to_le_bytes();
        bytes[..word.len()].copy_from_slice(word);
        let got = u64::from_le_bytes(bytes);
        (want != got).then_some((want, want, got))
    })
}

/// The offsets and lengths of the blocks.
struct Offsets<'j> {
    job: &'j Job,
    rng: Rng,
    /// The order of the blocks with `norepeat`.
    order: Option<Permutation>,
    blocks: u64,
}

impl<'j> Offsets<'j> {
    fn new(job: &'j Job) -> Offsets<'j> {
        let mut rng = Rng::new(job.seed);
        let range = job.random.filter(|_| job.has(Switch::Norepeat));
        let order = range.map(|range| Permutation::new(range / job.bs as u64, &mut rng));
        Offsets { job, rng, order, blocks: 0 }
    }

    fn next(&mut self, moved: u64) -> Option<(u64, usize)> {
        let (job, bs) = (self.job, self.job.bs as u64);
        if job.count.is_some_and(|n| self.blocks >= n) {
            return None;
        }
        let len = job.total.map_or(bs, |total| bs.min(total.saturating_sub(moved)));
        let block = match (&self.order, job.random) {
            (Some(order), _) => order.at(self.blocks)?,
            (None, Some(range)) => self.rng.below(range / bs),
            (None, None) => self.blocks,
        };
        self.blocks += 1;
        // The kernel refuses an offset that is too large; wrapping would overwrite the start.
        let at = job.skip.saturating_add(block).saturating_mul(bs).saturating_add(job.start);
        (len > 0).then_some((at, len as usize))
    }
}

const _: () = assert!(ALIGNMENT.is_multiple_of(8), "words of the pattern fill direct blocks");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_bit_of_the_pattern_is_found() {
        let mut block = vec![0; 4096];
        fill(&mut block, 1 << 33);
        assert_eq!(wrong(&block, 1 << 33).count(), 0);
        block[8 * 5] ^= 1;
        let found: Vec<_> = wrong(&block, 1 << 33).collect();
        assert_eq!(found, [((1 << 33) + 40, (1 << 33) + 40, (1 << 33) + 41)]);
        // The same block elsewhere is wrong throughout.
        assert_eq!(wrong(&block, 0).count(), 512);
        // So is a last word that is cut short.
        let mut short = vec![0; 13];
        fill(&mut short, 1 << 33);
        assert_eq!(wrong(&short, 1 << 33).count(), 0);
        short[12] ^= 1;
        assert_eq!(wrong(&short, 1 << 33).map(|(offset, ..)| offset).collect::<Vec<_>>(), [(1 << 33) + 8]);
    }

    #[test]
    fn norepeat_visits_every_block_once() {
        let words = ["if=x", "bs=4K", "rand=1M", "norepeat=1", "start=1M"].map(str::to_owned);
        let job = Job::parse(&words).expect("it can be read");
        let mut offsets = Offsets::new(&job);
        let mut seen: Vec<u64> = std::iter::from_fn(|| offsets.next(0)).map(|(at, _)| at).collect();
        seen.sort_unstable();
        let all: Vec<u64> = (0..256).map(|b| (1 << 20) + b * 4096).collect();
        assert_eq!(seen, all);
    }

    #[test]
    fn norepeat_over_a_huge_range_needs_no_list_of_blocks() {
        // As a list these would be an exbibyte.
        let words = ["of=x", "bs=1", "rand=131072T", "norepeat=1"].map(str::to_owned);
        let job = Job::parse(&words).expect("it can be read");
        let mut offsets = Offsets::new(&job);
        let mut seen: Vec<u64> = (0..1000).map(|n| offsets.next(n).expect("more of them").0).collect();
        assert!(seen.iter().any(|at| *at > 1 << 56) && seen.iter().all(|at| *at < 1 << 57));
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 1000);
    }

    #[test]
    fn sequential_blocks_end_with_a_short_one() {
        let job = Job::parse(&["if=x", "bs=4K", "move=10K", "skip=2"].map(str::to_owned)).expect("it can be read");
        let mut offsets = Offsets::new(&job);
        let all = [offsets.next(0), offsets.next(4096), offsets.next(8192), offsets.next(10240)];
        assert_eq!(all, [Some((8192, 4096)), Some((12288, 4096)), Some((16384, 2048)), None]);
        let far = Job::parse(&["if=x".to_owned(), format!("skip={}", u64::MAX)]).expect("it can be read");
        assert_eq!(Offsets::new(&far).next(0), Some((u64::MAX, 64 << 10)));
    }
}
