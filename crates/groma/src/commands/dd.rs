//! `groma dd`: moves blocks between files and devices, checks what they hold, and times every transfer.
//!
//! The successor of lmbench's `lmdd`, with its words. Not a benchmark: it does what was asked, once, on what was named, so there
//! is neither a worker nor a record. What was different in `lmdd` and is mended: one size parser (`K` is 1024), a switch that is
//! off when it says 0, direct transfers, errors of seeking and of short files told, latencies in microseconds.

use crate::dd::{Job, Switch};
use crate::flags::DdArgs;
use crate::supervise::watch_signals;
use anyhow::{Context, Result, bail};
use groma_harness::Rng;
use groma_harness::sys::disk::ALIGNMENT;
use groma_harness::sys::pages::{Map, Policy};
use groma_report::units::{Scale, significant, value};
use groma_stats::order;
use serde_json::json;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::time::{Duration, Instant};

/// A transfer failed, or a block did not hold what it should.
const FAILED: u8 = 4;

/// Moves blocks as told.
pub(crate) fn dd(args: &DdArgs) -> Result<u8> {
    let job = Job::parse(&args.operands)?;
    let mut input = Side::input(&job)?;
    let mut output = Side::output(&job, args.destroy)?;
    let mut buffer = Map::anonymous(job.bs.max(1), Policy::Base).context("bs: mapping a buffer")?;
    buffer.populate();
    // A read from a terminal or a pipe may wait for ever, and so may a write: there a signal ends the program as usual.
    let signals = if input.is_stream() || output.is_stream() { None } else { Some(watch_signals()?) };
    let mut places = Places::new(&job);
    let mut moved = Moved::default();
    let began = Instant::now();
    let ended: Result<(), String> = loop {
        if job.time.is_some_and(|t| began.elapsed() >= t) || signals.as_ref().is_some_and(|s| s.next().is_some()) {
            break Ok(());
        }
        let Some((at, len)) = places.next(moved.bytes) else { break Ok(()) };
        match block(&job, &mut input, &mut output, &mut buffer[..len], at, &mut moved) {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(e) => break Err(e),
        }
    };
    let ended = ended.and_then(|()| if job.has(Switch::Fsync) { output.sync() } else { Ok(()) });
    moved.elapsed = began.elapsed();
    if job.has(Switch::Json) {
        eprintln!("{}", moved.json());
    } else {
        eprint!("{}", moved.text(job.has(Switch::Hist)));
    }
    if let Err(why) = &ended {
        eprintln!("groma: {why}");
    }
    Ok(if ended.is_err() || moved.mismatches > 0 { FAILED } else { 0 })
}

/// Moves one block; whether there is more.
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
        len = n.map_err(|e| format!("if={}: at byte {at}: {e}", input.name))?;
        // At random, a file that ends within a block is too short: the blocks still to come are elsewhere.
        if len < buffer.len() && input.seeks && job.random.is_some() {
            return Err(format!("if={}: ends before byte {}", input.name, at.saturating_add(buffer.len() as u64)));
        }
        if len == 0 {
            return Ok(false);
        }
        moved.reads.push(took);
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
        done.map_err(|e| format!("of={}: at byte {at}: {e}", output.name))?;
        moved.writes.push(took);
    }
    moved.bytes += len as u64;
    // A short block is the last one, but not from a pipe.
    Ok(len == buffer.len() || input.is_stream())
}

fn timed<T>(work: impl FnOnce() -> io::Result<T>) -> (io::Result<T>, f64) {
    let began = Instant::now();
    let done = work();
    (done, began.elapsed().as_secs_f64())
}

/// Reads a block, whole unless the file ends within it.
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

/// Writes the pattern: each 8-byte word is its own offset in bytes.
fn fill(block: &mut [u8], at: u64) {
    for (i, word) in block.chunks_mut(8).enumerate() {
        let offset = at.wrapping_add(8 * i as u64);
        word.copy_from_slice(&offset.to_le_bytes()[..word.len()]);
    }
}

/// The words that are not their own offset: the offset, what belongs there, and what is there. Of a last word that is cut
/// short, the missing bytes count as right.
fn wrong(block: &[u8], at: u64) -> impl Iterator<Item = (u64, u64, u64)> {
    block.chunks(8).enumerate().filter_map(move |(i, word)| {
        let want = at.wrapping_add(8 * i as u64);
        let mut bytes = want.to_le_bytes();
        bytes[..word.len()].copy_from_slice(word);
        let got = u64::from_le_bytes(bytes);
        (want != got).then_some((want, want, got))
    })
}

/// Where the next block is, and how long.
struct Places<'j> {
    job: &'j Job,
    rng: Rng,
    /// The blocks still to be visited, where none is visited twice.
    left: Option<Vec<u64>>,
    blocks: u64,
}

impl<'j> Places<'j> {
    fn new(job: &'j Job) -> Places<'j> {
        let mut rng = Rng::new(job.seed);
        let left = job.random.filter(|_| job.has(Switch::Norepeat)).map(|range| {
            let mut all: Vec<u64> = (0..range / job.bs as u64).collect();
            rng.shuffle(&mut all);
            all
        });
        Places { job, rng, left, blocks: 0 }
    }

    fn next(&mut self, moved: u64) -> Option<(u64, usize)> {
        let (job, bs) = (self.job, self.job.bs as u64);
        if job.count.is_some_and(|n| self.blocks >= n) {
            return None;
        }
        let len = job.total.map_or(bs, |total| bs.min(total.saturating_sub(moved)));
        let block = match (&mut self.left, job.random) {
            (Some(left), _) => left.pop()?,
            (None, Some(range)) => self.rng.below(range / bs),
            (None, None) => self.blocks,
        };
        self.blocks += 1;
        // What is beyond all places is refused by the kernel; it must not come round to the beginning.
        let at = job.skip.saturating_add(block).saturating_mul(bs).saturating_add(job.start);
        (len > 0).then_some((at, len as usize))
    }
}

/// A side of the transfer; without a file it is `internal`: nothing is read or written.
struct Side {
    name: String,
    file: Option<File>,
    /// Whether it has places.
    seeks: bool,
}

impl Side {
    fn input(job: &Job) -> Result<Side> {
        let name = job.input.clone();
        let file = match name.as_str() {
            "internal" => None,
            "-" | "stdin" => Some(File::from(groma_harness::sys::io::duplicate(0).context("if=-")?)),
            path => {
                let flags = if job.direct_input() { groma_harness::sys::disk::DIRECT } else { 0 };
                let file = OpenOptions::new().read(true).custom_flags(flags).open(path);
                Some(file.with_context(|| format!("if={path}"))?)
            }
        };
        Side::of(name, file)
    }

    fn output(job: &Job, destroy: bool) -> Result<Side> {
        let name = job.output.clone();
        let file = match name.as_str() {
            "internal" => None,
            "-" | "stdout" => Some(File::from(groma_harness::sys::io::duplicate(1).context("of=-")?)),
            path => {
                let device = std::fs::metadata(path).is_ok_and(|m| m.file_type().is_block_device());
                if device && !destroy {
                    bail!("of={path}: is a device whose contents would be lost (--destroy if that is meant)");
                }
                let mut flags = if job.direct_output() { groma_harness::sys::disk::DIRECT } else { 0 };
                if job.has(Switch::Osync) {
                    flags |= groma_harness::sys::disk::SYNC;
                }
                let keep =
                    device || [Switch::Append, Switch::Notrunc].iter().any(|s| job.has(*s)) || job.random.is_some();
                let file = OpenOptions::new()
                    .write(true)
                    .append(job.has(Switch::Append))
                    .create(!job.has(Switch::Nocreate))
                    .truncate(!keep)
                    .custom_flags(flags)
                    .open(path);
                Some(file.with_context(|| format!("of={path}"))?)
            }
        };
        let mut side = Side::of(name, file)?;
        side.seeks &= !job.has(Switch::Append);
        Ok(side)
    }

    fn of(name: String, file: Option<File>) -> Result<Side> {
        let seeks = match &file {
            Some(file) => {
                let kind = file.metadata().with_context(|| name.clone())?.file_type();
                if kind.is_dir() {
                    bail!("{name}: is a directory");
                }
                kind.is_file() || kind.is_block_device()
            }
            None => false,
        };
        Ok(Side { name, file, seeks })
    }

    fn is_stream(&self) -> bool {
        self.file.is_some() && !self.seeks
    }

    fn sync(&self) -> Result<(), String> {
        self.file.as_ref().map_or(Ok(()), |f| f.sync_all().map_err(|e| format!("of={}: fsync: {e}", self.name)))
    }
}

/// What was done.
#[derive(Default)]
struct Moved {
    bytes: u64,
    elapsed: Duration,
    /// Seconds of each read.
    reads: Vec<f64>,
    writes: Vec<f64>,
    mismatches: u64,
}

impl Moved {
    fn rate(&self) -> f64 {
        self.bytes as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    fn sides(&self) -> [(&'static str, &Vec<f64>); 2] {
        [("read", &self.reads), ("write", &self.writes)]
    }

    fn text(&self, histogram: bool) -> String {
        let mut text = format!(
            "{} MB in {} s, {}\n",
            significant(self.bytes as f64 / 1e6, 4),
            significant(self.elapsed.as_secs_f64(), 4),
            value(self.rate(), Scale::Bandwidth, None)
        );
        for (what, took) in self.sides() {
            let took = order::sorted(took);
            let (Some(least), Some(most)) = (took.first(), took.last()) else { continue };
            let time = |t: f64| value(t, Scale::Time, None);
            text += &format!("{} {what}s: least {}", took.len(), time(*least));
            for (name, p) in [("median", 0.5), ("p90", 0.9), ("p99", 0.99)] {
                if let Some(t) = order::quantile_if_enough_sorted(&took, p) {
                    text += &format!(", {name} {}", time(t));
                }
            }
            text += &format!(", most {}\n", time(*most));
            if histogram {
                text += &histogram_of(&took);
            }
        }
        if self.mismatches > 0 {
            text += &format!("words that are not their offset: {}\n", self.mismatches);
        }
        text
    }

    fn json(&self) -> String {
        let side = |took: &[f64]| {
            let took = order::sorted(took);
            let at = |p| order::quantile_if_enough_sorted(&took, p);
            json!({
                "transfers": took.len(), "min": took.first(), "p50": at(0.5), "p90": at(0.9), "p99": at(0.99), "max": took.last(),
            })
        };
        json!({
            "bytes": self.bytes, "seconds": self.elapsed.as_secs_f64(), "bytes_per_second": self.rate(),
            "reads_s": side(&self.reads), "writes_s": side(&self.writes), "mismatches": self.mismatches,
        })
        .to_string()
    }
}

/// Latencies by powers of two of a microsecond: a line for each that occurred and for those between.
fn histogram_of(sorted: &[f64]) -> String {
    /// Columns of the longest bar.
    const WIDTH: usize = 40;
    let bin = |t: f64| (t * 1e6).max(1.0).log2().floor() as u32;
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else { return String::new() };
    let counts: Vec<(u32, usize)> =
        (bin(*first)..=bin(*last)).map(|b| (b, sorted.iter().filter(|t| bin(**t) == b).count())).collect();
    let most = counts.iter().map(|(_, n)| *n).max().unwrap_or(1);
    counts
        .iter()
        .map(|(b, n)| {
            let from = if *b == 0 { 0 } else { 1u64 << b };
            format!("  {from:>9} to {:>9} us {n:>9}  {}\n", 1u64 << (b + 1), "#".repeat((n * WIDTH).div_ceil(most)))
        })
        .collect()
}

const _: () = assert!(ALIGNMENT.is_multiple_of(8), "words of the pattern fill direct blocks");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_its_offset_and_one_wrong_bit_is_found() {
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
    fn no_place_twice_and_none_beyond() {
        let words = ["if=x", "bs=4K", "rand=1M", "norepeat=1", "start=1M"].map(str::to_owned);
        let job = Job::parse(&words).expect("it can be read");
        let mut places = Places::new(&job);
        let mut seen: Vec<u64> = std::iter::from_fn(|| places.next(0)).map(|(at, _)| at).collect();
        seen.sort_unstable();
        let all: Vec<u64> = (0..256).map(|b| (1 << 20) + b * 4096).collect();
        assert_eq!(seen, all);
    }

    #[test]
    fn blocks_in_turn_the_last_one_short() {
        let job = Job::parse(&["if=x", "bs=4K", "move=10K", "skip=2"].map(str::to_owned)).expect("it can be read");
        let mut places = Places::new(&job);
        let all = [places.next(0), places.next(4096), places.next(8192), places.next(10240)];
        assert_eq!(all, [Some((8192, 4096)), Some((12288, 4096)), Some((16384, 2048)), None]);
        let far = Job::parse(&["if=x".to_owned(), format!("skip={}", u64::MAX)]).expect("it can be read");
        assert_eq!(Places::new(&far).next(0), Some((u64::MAX, 64 << 10)));
    }

    #[test]
    fn a_histogram_holds_every_transfer() {
        let text = histogram_of(&[0.5e-6, 1e-6, 3e-6, 9e-6]);
        let counts: Vec<&str> = text.lines().map(|l| l.split_whitespace().nth(4).expect("a count")).collect();
        assert_eq!(counts, ["2", "1", "0", "1"]);
    }
}
