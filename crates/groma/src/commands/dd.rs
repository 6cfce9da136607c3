//! `groma dd`: moves blocks between files and devices, checks what they hold, and times every
//! transfer.
//!
//! The successor of lmbench's `lmdd`, with the same operands. Not a benchmark: it does one
//! transfer, as asked, so there is neither a worker nor a record. Fixed since `lmdd`: one parser of
//! sizes (`K` is 1024), a switch that is off when it is set to 0, direct transfers, errors of
//! seeking and of short files are reported, latencies are in microseconds.
//!
//! An output is checked before it is opened and again before anything is changed: without
//! `--destroy` only files, pipes, sockets, terminals and devices that discard data are written to,
//! and a block device only while nothing else uses it. Memory is bounded, whatever the number of
//! transfers and offsets.

use crate::dd::{Job, Switch};
use crate::flags::DdArgs;
use anyhow::{Context, Result, bail};
use groma_harness::Rng;
use groma_harness::sys::disk::ALIGNMENT;
use groma_harness::sys::opened::{self, Identity, Kind, Writing};
use groma_harness::sys::pages::{Map, Policy};
use groma_report::units::{Scale, significant, value};
use groma_runner::signals::watch_signals;
use groma_stats::{Permutation, Tally};
use serde_json::json;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

/// A transfer failed, or a block did not hold what it should.
const FAILED: u8 = 4;

/// Does the transfer.
pub(crate) fn dd(args: &DdArgs) -> Result<u8> {
    let job = Job::parse(&args.operands)?;
    groma_harness::check_memory(job.bs as u64).map_err(|why| anyhow::anyhow!("bs: {why}"))?;
    let mut input = Side::input(&job)?;
    let mut output = Side::output(&job, args.destroy, &input)?;
    let mut buffer = Map::anonymous(job.bs.max(1), Policy::Base).context("bs: mapping a buffer")?;
    buffer.populate();
    // A transfer with a terminal or a pipe may block for ever: there a signal ends the program as
    // usual.
    let signals = if input.waits() || output.waits() { None } else { Some(watch_signals()?) };
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
        warn!("{why}");
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
        len = n.map_err(|e| format!("{}: at byte {at}: {e}", input.name))?;
        // With random offsets, a file that ends within a block is too short: the other blocks are
        // elsewhere.
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
    // A short block is the last one, except from a pipe.
    Ok(len == buffer.len() || input.is_stream())
}

fn timed<T>(work: impl FnOnce() -> io::Result<T>) -> (io::Result<T>, Duration) {
    let began = Instant::now();
    let done = work();
    (done, began.elapsed())
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

/// The words that differ from their own offset: the offset, the expected word and the actual one.
/// Of a last word that is cut short, the missing bytes count as right.
fn wrong(block: &[u8], at: u64) -> impl Iterator<Item = (u64, u64, u64)> {
    block.chunks(8).enumerate().filter_map(move |(i, word)| {
        let want = at.wrapping_add(8 * i as u64);
        let mut bytes = want.to_le_bytes();
        bytes[..word.len()].copy_from_slice(word);
        let got = u64::from_le_bytes(bytes);
        (want != got).then_some((want, want, got))
    })
}

/// The offset and the length of the next block.
struct Places<'j> {
    job: &'j Job,
    rng: Rng,
    /// The order of the blocks, where none is visited twice.
    order: Option<Permutation>,
    blocks: u64,
}

impl<'j> Places<'j> {
    fn new(job: &'j Job) -> Places<'j> {
        let mut rng = Rng::new(job.seed);
        let range = job.random.filter(|_| job.has(Switch::Norepeat));
        let order = range.map(|range| Permutation::new(range / job.bs as u64, &mut rng));
        Places { job, rng, order, blocks: 0 }
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
        // An offset that is too large is refused by the kernel; it must not wrap around to the
        // start.
        let at = job.skip.saturating_add(block).saturating_mul(bs).saturating_add(job.start);
        (len > 0).then_some((at, len as usize))
    }
}

/// A side of the transfer; without a file it is `internal`: nothing is read or written.
struct Side {
    name: String,
    file: Option<File>,
    /// What the file is.
    identity: Option<Identity>,
    /// Whether it has offsets.
    seeks: bool,
    /// A block device that came as an open descriptor, held so that nothing else begins to use it.
    _alone: Option<File>,
}

impl Side {
    fn input(job: &Job) -> Result<Side> {
        let name = format!("if={}", job.input.display());
        let file = match job.input.to_string_lossy().as_ref() {
            "internal" => None,
            "-" | "stdin" => Some(File::from(groma_harness::sys::io::duplicate(0).context("if=-")?)),
            _ => Some(opened::to_read(Path::new(&job.input), job.direct_input()).with_context(|| name.clone())?),
        };
        Side::of(name, file)
    }

    fn output(job: &Job, destroy: bool, input: &Side) -> Result<Side> {
        let name = format!("of={}", job.output.display());
        let side = match job.output.to_string_lossy().as_ref() {
            "internal" => Side::of(name, None)?,
            "-" | "stdout" => {
                let file = File::from(groma_harness::sys::io::duplicate(1).context("of=-")?);
                let mut side = Side::of(name, Some(file))?;
                side.may_be_written(destroy)?;
                if let (Some(file), Some(Kind::Block)) = (&side.file, side.kind()) {
                    side._alone = Some(opened::alone(file.as_fd()).map_err(|e| not_opened(&side.name, e))?);
                }
                side
            }
            _ => {
                let path = Path::new(&job.output);
                let looked = look(&name, path, destroy)?;
                open_what_was_seen(job, name, path, looked, destroy)?
            }
        };
        if let (Some(from), Some(to)) = (&input.identity, &side.identity)
            && to.is_read_back_from(from)
        {
            bail!("{}: is the same file as {}: name another one to write to", side.name, input.name);
        }
        // Nothing has been changed so far.
        let keeps = [Switch::Append, Switch::Notrunc].iter().any(|s| job.has(*s)) || job.random.is_some();
        if let (Some(file), Some(Kind::Regular)) = (&side.file, side.kind())
            && job.output != "-"
            && job.output != "stdout"
            && !keeps
        {
            file.set_len(0).with_context(|| format!("{}: truncating", side.name))?;
        }
        Ok(Side { seeks: side.seeks && !job.has(Switch::Append), ..side })
    }

    fn of(name: String, file: Option<File>) -> Result<Side> {
        let identity = match &file {
            Some(file) => Some(Identity::of_open(file.as_fd()).with_context(|| name.clone())?),
            None => None,
        };
        let kind = identity.map(|identity| identity.kind);
        if kind == Some(Kind::Directory) {
            bail!("{name}: is a directory");
        }
        Ok(Side { name, file, identity, seeks: matches!(kind, Some(Kind::Regular | Kind::Block)), _alone: None })
    }

    fn kind(&self) -> Option<Kind> {
        self.identity.map(|identity| identity.kind)
    }

    fn len(&self) -> Result<u64> {
        let metadata = self.file.as_ref().map(File::metadata).transpose();
        Ok(metadata.with_context(|| self.name.clone())?.map_or(0, |metadata| metadata.len()))
    }

    fn may_be_written(&self, destroy: bool) -> Result<()> {
        self.kind().map_or(Ok(()), |kind| may_be_written(&self.name, kind, destroy))
    }

    /// Whether it has no offsets.
    fn is_stream(&self) -> bool {
        self.file.is_some() && !self.seeks
    }

    /// Whether a transfer may wait for another process.
    fn waits(&self) -> bool {
        !matches!(self.kind(), None | Some(Kind::Regular | Kind::Block | Kind::Sink))
    }

    fn sync(&self) -> Result<(), String> {
        self.file.as_ref().map_or(Ok(()), |f| f.sync_all().map_err(|e| format!("{}: fsync: {e}", self.name)))
    }
}

/// Refuses to write to a device that keeps its data, unless `destroy` says so.
fn may_be_written(name: &str, kind: Kind, destroy: bool) -> Result<()> {
    match kind {
        Kind::Regular | Kind::Fifo | Kind::Socket | Kind::Terminal | Kind::Sink => Ok(()),
        Kind::Directory => bail!("{name}: is a directory"),
        Kind::Block | Kind::Character if destroy => Ok(()),
        Kind::Block => bail!("{name}: is a block device whose contents would be lost (--destroy if that is meant)"),
        Kind::Character => {
            bail!("{name}: is a character device that may keep or act on what it is given (--destroy if that is meant)")
        }
    }
}

/// The output as it is before it is opened; `None` where there is nothing yet.
fn look(name: &str, path: &Path, destroy: bool) -> Result<Option<Identity>> {
    match Identity::of_path(path) {
        Ok(identity) => may_be_written(name, identity.kind, destroy).map(|()| Some(identity)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e).with_context(|| name.to_owned()),
    }
}

/// Opens the output and checks that it is the file that was looked at.
fn open_what_was_seen(job: &Job, name: String, path: &Path, looked: Option<Identity>, destroy: bool) -> Result<Side> {
    let kind = looked.map(|identity| identity.kind);
    let how = Writing {
        create: looked.is_none() && !job.has(Switch::Nocreate),
        append: job.has(Switch::Append),
        direct: job.direct_output(),
        sync: job.has(Switch::Osync),
        alone: kind == Some(Kind::Block),
        wait: false,
    };
    let file = match opened::to_write(path, how) {
        Err(e) if kind == Some(Kind::Fifo) && opened::nobody_reads(&e) => {
            warn!("{name}: waiting for a reader of this FIFO");
            opened::to_write(path, Writing { wait: true, ..how })
        }
        opened => opened,
    };
    let side = Side::of(name.clone(), Some(file.map_err(|e| not_opened(&name, e))?))?;
    side.may_be_written(destroy)?;
    let same = match (looked, side.identity) {
        (Some(looked), Some(opened)) => looked.is(&opened),
        // A file that did not exist has just been created, so it is empty.
        (None, Some(opened)) => opened.kind == Kind::Regular && side.len()? == 0,
        (_, None) => false,
    };
    if !same {
        bail!("{name}: was replaced by something else while it was opened: nothing was written, try again");
    }
    Ok(side)
}

/// Why an output could not be opened, with the remedy where there is one.
fn not_opened(name: &str, error: io::Error) -> anyhow::Error {
    match error.kind() {
        ErrorKind::ResourceBusy => {
            anyhow::anyhow!("{name}: is mounted or in use: unmount it or end what uses it first")
        }
        _ => anyhow::Error::new(error).context(name.to_owned()),
    }
}

/// What was done.
#[derive(Default)]
struct Moved {
    bytes: u64,
    elapsed: Duration,
    reads: Latencies,
    writes: Latencies,
    mismatches: u64,
}

/// How long transfers took, in a fixed amount of memory.
struct Latencies {
    ns: Tally,
    /// How many took less than 2 us, less than 4 us and so on: the lines of the histogram.
    octaves: [u64; u64::BITS as usize],
}

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies { ns: Tally::default(), octaves: [0; u64::BITS as usize] }
    }
}

impl Latencies {
    fn record(&mut self, took: Duration) {
        let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.ns.record(ns);
        self.octaves[(ns / 1000).max(1).ilog2() as usize] += 1;
    }
}

impl Moved {
    fn rate(&self) -> f64 {
        self.bytes as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    fn sides(&self) -> [(&'static str, &Latencies); 2] {
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
            let (Some(least), Some(most)) = (took.ns.least(), took.ns.most()) else { continue };
            let time = |ns: f64| value(ns / 1e9, Scale::Time, None);
            text += &format!("{} {what}s: least {}", took.ns.count(), time(least as f64));
            for (name, p) in [("median", 0.5), ("p90", 0.9), ("p99", 0.99)] {
                if let Some(ns) = took.ns.quantile_if_enough(p) {
                    text += &format!(", {name} {}", time(ns));
                }
            }
            text += &format!(", most {}\n", time(most as f64));
            if histogram {
                text += &histogram_of(&took.octaves);
            }
        }
        if self.mismatches > 0 {
            text += &format!("words that are not their offset: {}\n", self.mismatches);
        }
        text
    }

    fn json(&self) -> String {
        let side = |took: &Latencies| {
            let took = &took.ns;
            let seconds = |ns: u64| ns as f64 / 1e9;
            let at = |p| took.quantile_if_enough(p).map(|ns| ns / 1e9);
            json!({
                "transfers": took.count(), "min": took.least().map(seconds), "p50": at(0.5), "p90": at(0.9), "p99": at(0.99),
                "max": took.most().map(seconds),
            })
        };
        json!({
            "bytes": self.bytes, "seconds": self.elapsed.as_secs_f64(), "bytes_per_second": self.rate(),
            "reads_s": side(&self.reads), "writes_s": side(&self.writes), "mismatches": self.mismatches,
        })
        .to_string()
    }
}

/// A histogram of latencies by powers of two of a microsecond: a line for each bin from the first
/// to the last that holds any.
fn histogram_of(octaves: &[u64]) -> String {
    /// Columns of the longest bar.
    const WIDTH: u64 = 40;
    let (Some(first), Some(last)) = (octaves.iter().position(|n| *n > 0), octaves.iter().rposition(|n| *n > 0)) else {
        return String::new();
    };
    let most = octaves.iter().copied().max().unwrap_or(1);
    let bar = |n: u64| "#".repeat((u128::from(n) * u128::from(WIDTH)).div_ceil(u128::from(most)) as usize);
    (first..=last)
        .map(|octave| {
            let (from, n) = (if octave == 0 { 0 } else { 1u64 << octave }, octaves[octave]);
            format!("  {from:>9} to {:>9} us {n:>9}  {}\n", 1u128 << (octave + 1), bar(n))
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
    fn places_of_a_huge_range_take_no_list_of_them() {
        // As a list these would be an exbibyte.
        let words = ["of=x", "bs=1", "rand=131072T", "norepeat=1"].map(str::to_owned);
        let job = Job::parse(&words).expect("it can be read");
        let mut places = Places::new(&job);
        let mut seen: Vec<u64> = (0..1000).map(|n| places.next(n).expect("more of them").0).collect();
        assert!(seen.iter().any(|at| *at > 1 << 56) && seen.iter().all(|at| *at < 1 << 57));
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 1000);
    }

    #[test]
    fn a_name_that_changes_its_meaning_is_not_written_to() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().expect("a temporary directory");
        let [name, meant, victim] = ["name", "meant", "victim"].map(|file| dir.path().join(file));
        let job = Job::parse(&[format!("of={}", name.display()), "count=1".to_owned()]).expect("it can be read");
        let open = |looked| open_what_was_seen(&job, "of=name".to_owned(), &name, looked, false);
        let look = || look("of=name", &name, false).expect("it may be written to");
        let refused = |opened: Result<Side>| {
            let error = opened.map(|side| side.name).expect_err("it is something else now").to_string();
            assert!(error.starts_with("of=name: was replaced"), "{error}");
            assert_eq!(std::fs::read(&victim).expect("the victim"), b"kept");
        };
        std::fs::write(&meant, "old").expect("a file");
        std::fs::write(&victim, "kept").expect("a file");
        symlink(&meant, &name).expect("a link");
        let looked = look();
        assert!(open(looked).is_ok());
        std::fs::remove_file(&name).expect("it goes");
        symlink(&victim, &name).expect("a link");
        refused(open(looked));
        // What was not there when it was looked for must not have contents.
        std::fs::remove_file(&name).expect("it goes");
        let looked = look();
        std::fs::hard_link(&victim, &name).expect("a link");
        refused(open(looked));
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
        let mut took = Latencies::default();
        [500, 1000, 3000, 9000].into_iter().for_each(|ns| took.record(Duration::from_nanos(ns)));
        assert_eq!((took.ns.count(), took.ns.least(), took.ns.most()), (4, Some(500), Some(9000)));
        let text = histogram_of(&took.octaves);
        let counts: Vec<&str> = text.lines().map(|l| l.split_whitespace().nth(4).expect("a count")).collect();
        assert_eq!(counts, ["2", "1", "0", "1"]);
    }
}
