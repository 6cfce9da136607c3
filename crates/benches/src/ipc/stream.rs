//! The stream between two processes that the bandwidth benchmarks of this family measure.
//!
//! How the bytes travel is up to the benchmarks. The reader measures, because a byte counts when it
//! has arrived. Every transfer carries its own number in every word and the reader compares them,
//! so no byte can be lost, duplicated or credited without having been moved. With `touch=no` the
//! reader only counts what it reads.
//!
//! Each mebibyte is timed alone, or four times the capacity of the medium where that is more. Both
//! sides then run as in a long stream, and most intervals are undisturbed on a busy machine: a pipe
//! on one CPU, with 85 % of the machine's time taken by others, gave 5.9 and 5.6 GB/s, and in
//! intervals of 5 ms 4.5 and 5.4. Before each, as much as the medium holds is read untimed;
//! otherwise what the writer buffered while nobody read would count as speed. See
//! docs/methods/operating-system.md#streams.

use crate::payload::{TOUCH, holds};
use crate::proofs;
use groma_harness::prelude::*;
use groma_harness::sys::counters::thread_cpu_ns;
use groma_harness::sys::io::{read, read_full};
use groma_harness::sys::pages::{Map, Policy};
use groma_harness::sys::shared::Shared;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// What every benchmark of a stream reports.
pub(super) const OUTPUTS: &[Output] = &[
    Output::MAIN,
    cpu("cpu_reader", "CPU time of the reader for a gigabyte"),
    cpu("cpu_writer", "CPU time of the writer for a gigabyte"),
];

const fn cpu(suffix: &'static str, summary: &'static str) -> Output {
    Output::named(suffix, summary).quantity(Quantity::TimePerGigabyte).detail()
}

/// How streams of all kinds scale.
pub(super) const SCALING: Scaling =
    Scaling::processes("each copy forks its other side, which a process with threads must not");

/// The transfer sizes of all streams.
pub(super) const SIZE: Param =
    Param::size("size", "bytes in one transfer").quick(&["64K"]).full(&["4K", "16K", "256K", "1M"]);

/// The channel that carries the bytes.
pub(super) struct Medium {
    pub read_end: OwnedFd,
    pub write_end: OwnedFd,
    /// The most bytes that can be written before one is read.
    pub holds: u64,
}

/// How the writer sends the transfer of a given number; created in the writer's process.
pub(super) type Send<'a> = Box<dyn FnMut(BorrowedFd<'_>, u64) -> io::Result<()> + 'a>;

/// The least bytes timed at once.
const TIMED: u64 = 1 << 20;
/// Whether both sides touch the data.
pub(super) fn touches(ctx: &Ctx) -> bool {
    ctx.word(TOUCH.name) == "yes"
}

/// A gigabyte; bandwidths are decimal.
const GB: f64 = 1e9;

/// Indices of the words that both sides share.
const STOP: usize = 0;
const WRITTEN: usize = 1;
const CPU_NS: usize = 2;
const ERRNO: usize = 3;

/// A buffer of `size` bytes in its own pages, all of them present.
pub(super) fn buffer(size: usize) -> io::Result<Map> {
    let mut map = Map::anonymous(size, Policy::Base)?;
    map.populate();
    Ok(map)
}

/// The writer: makes one transfer after the other until `STOP` is set.
fn write_until_stopped<'a>(
    to: BorrowedFd<'_>,
    size: usize,
    cycle: u64,
    shared: &[AtomicU64],
    prepare: impl FnOnce() -> io::Result<Send<'a>>,
) -> io::Result<()> {
    let mut send = prepare()?;
    let cpu = thread_cpu_ns();
    let mut number = 0;
    while shared[STOP].load(SeqCst) == 0 {
        send(to, number % cycle)?;
        number += 1;
        shared[WRITTEN].store(number * size as u64, SeqCst);
    }
    shared[CPU_NS].store(thread_cpu_ns() - cpu, SeqCst);
    Ok(())
}

/// Why the stream ended early: the writer's error if it has one, since the reader sees only the end
/// of the stream.
fn end_error(seen: &io::Error, shared: &[AtomicU64]) -> BenchError {
    let error = match shared[ERRNO].load(SeqCst) as i32 {
        0 => return BenchError::from_io("reading", seen),
        errno => io::Error::from_raw_os_error(errno),
    };
    match BenchError::from_io("writing", &error) {
        // Too long for a message, or not supported by this kernel, file system or socket.
        BenchError::Failed(why) if matches!(error.raw_os_error(), Some(EMSGSIZE | EINVAL | EOPNOTSUPP)) => {
            BenchError::Unsupported(why)
        }
        stop => stop,
    }
}

/// The transfers of `size` bytes that are read untimed, as many as a medium of that capacity holds,
/// and those that are timed at once.
fn transfers(held: u64, size: u64) -> (u64, u64) {
    (held.div_ceil(size), TIMED.max(4 * held).div_ceil(size))
}

/// Error numbers of Linux, the same on every architecture that groma knows.
const EINVAL: i32 = 22;
const EMSGSIZE: i32 = 90;
const EOPNOTSUPP: i32 = 95;

/// Streams transfers of `size` bytes through the medium and measures. Their numbers cycle through 0
/// to `cycle` - 1. `prepare` runs in the writer's process and returns the function that sends one.
pub(super) fn run<'a>(
    ctx: &mut Ctx,
    medium: Medium,
    size: usize,
    cycle: u64,
    prepare: impl FnOnce() -> io::Result<Send<'a>>,
) -> Outcome {
    let Medium { read_end, write_end, holds: held } = medium;
    let touch = touches(ctx);
    let shared = Shared::<AtomicU64>::new(4).context("sharing four words")?;
    let writer = ctx.fork_peer(&[read_end.as_fd()], || {
        match write_until_stopped(write_end.as_fd(), size, cycle, &shared, prepare) {
            Ok(()) => 0,
            Err(e) => {
                shared[ERRNO].store(e.raw_os_error().unwrap_or(0) as u64, SeqCst);
                1
            }
        }
    })?;
    drop(write_end);

    let mut map = buffer(size).context("mapping the buffer")?;
    let buffer = &mut map[..size];
    let (mut number, mut cpu_ns) = (0, 0);
    let mut take = |transfers: u64| {
        let cpu = thread_cpu_ns();
        for _ in 0..transfers {
            read_full(read_end.as_fd(), buffer).map_err(|e| end_error(&e, &shared))?;
            if touch && !holds(buffer, number % cycle) {
                return Err(BenchError::Failed(format!("transfer {number} did not arrive as it was written")));
            }
            number += 1;
        }
        cpu_ns += thread_cpu_ns() - cpu;
        Ok(())
    };
    let mut untimed = 0;
    let (head, timed) = transfers(held, size as u64);
    ctx.measure_variants(&mut [Variant::staged("", |iters, watch| {
        take(head)?;
        untimed += head;
        watch.start();
        take(iters * timed)?;
        watch.stop();
        Ok(())
    })
    .per_iter((timed * size as u64) as f64)])?;

    let arrived = number * size as u64;
    shared[STOP].store(1, SeqCst);
    let mut drained = 0;
    loop {
        match read(read_end.as_fd(), buffer).context("draining")? {
            0 => break,
            n => drained += n as u64,
        }
    }
    let peer = writer.wait().context("waiting for the writer")?;
    let written = shared[WRITTEN].load(SeqCst);
    let credited = (ctx.iterations() * timed + untimed) * size as u64;
    ctx.prove("bytes read per byte credited", "1", arrived as f64 / credited as f64, 1.0..=1.0);
    ctx.prove("bytes read per byte written", "1", (arrived + drained) as f64 / written as f64, 1.0..=1.0);
    proofs::peer_ended_well(ctx, &peer);
    let cpu_per_gb = |ns: u64, bytes: u64| ns as f64 / 1e9 / (bytes as f64 / GB);
    ctx.state_as("cpu_reader", cpu_per_gb(cpu_ns, arrived));
    ctx.state_as("cpu_writer", cpu_per_gb(shared[CPU_NS].load(SeqCst), written));
    ctx.fact("stream.holds", held);
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::payload::fill;
    use groma_harness::sys::io::{pipe, write_full};
    use groma_harness::testing::{Tried, try_out};
    use std::path::Path;

    /// Asserts that a stream was measured, and that only what was moved and compared counts.
    pub(crate) fn assert_measured(
        bench: &Benchmark,
        chosen: &[(&str, &str)],
        dir: Option<&Path>,
    ) -> Result<Tried, BenchError> {
        let tried = try_out(bench, chosen, dir)?;
        assert!(tried.samples("") >= 3);
        let per_iter = tried.result.series("").expect("samples").per_iter;
        assert!((TIMED as f64 * 0.99..=64.0 * TIMED as f64).contains(&per_iter), "{chosen:?}: {per_iter}");
        assert_eq!(tried.proven("bytes read per byte credited"), 1.0);
        assert_eq!(tried.proven("bytes read per byte written"), 1.0);
        assert_eq!(tried.proven("exit code of the peer"), 0.0);
        for side in ["cpu_reader", "cpu_writer"] {
            let values = &tried.result.series(side).expect("its CPU time").values;
            assert!(values.len() == 1 && values[0] > 0.0, "{side}: {values:?}");
        }
        Ok(tried)
    }

    #[test]
    fn the_reason_is_that_of_the_writer() {
        let shared = Shared::<AtomicU64>::new(4).expect("memory");
        let eof = io::Error::from(io::ErrorKind::UnexpectedEof);
        assert!(matches!(end_error(&eof, &shared), BenchError::Failed(why) if why.starts_with("reading")));
        for (errno, wanted) in [(EMSGSIZE, "unsupported"), (38, "unsupported"), (1, "denied"), (5, "failed")] {
            shared[ERRNO].store(errno as u64, SeqCst);
            let got = match end_error(&eof, &shared) {
                BenchError::Unsupported(_) => "unsupported",
                BenchError::Denied(_) => "denied",
                BenchError::Failed(_) => "failed",
            };
            assert_eq!(got, wanted, "{errno}");
        }
    }

    const TRANSFER: usize = 64 << 10;

    /// A stream through a pipe whose writer works for a while before each transfer, and counts
    /// them.
    fn slow_writer(ctx: &mut Ctx) -> Outcome {
        let (read_end, write_end) = pipe().context("making a pipe")?;
        let sent = Shared::<AtomicU64>::new(1).context("sharing a word")?;
        run(ctx, Medium { read_end, write_end, holds: TRANSFER as u64 }, TRANSFER, u64::MAX, || {
            let map = buffer(TRANSFER)?;
            let sent = &sent;
            Ok(Box::new(move |to, number| {
                let from = thread_cpu_ns();
                while thread_cpu_ns() - from < 300_000 {
                    std::hint::spin_loop();
                }
                sent[0].store(number + 1, SeqCst);
                write_full(to, &map[..TRANSFER])
            }))
        })?;
        ctx.fact("sent", sent[0].load(SeqCst));
        Ok(())
    }

    static SLOW_WRITER: Benchmark = Benchmark {
        info: Info {
            quantity: Quantity::Bandwidth,
            timing: Timing::Each,
            outputs: OUTPUTS,
            params: &[TOUCH],
            interference: Interference::Blocking,
            ..Info::new("test.slow_writer")
        },
        run: Run::Here(slow_writer),
    };

    /// A stream in which the last byte of each transfer is not that of its number.
    fn wrong_writer(ctx: &mut Ctx) -> Outcome {
        let (read_end, write_end) = pipe().context("making a pipe")?;
        run(ctx, Medium { read_end, write_end, holds: TRANSFER as u64 }, TRANSFER, u64::MAX, || {
            let mut map = buffer(TRANSFER)?;
            Ok(Box::new(move |to, number| {
                fill(&mut map[..TRANSFER], number);
                map[TRANSFER - 1] ^= 1;
                write_full(to, &map[..TRANSFER])
            }))
        })
    }

    static WRONG_WRITER: Benchmark = Benchmark { info: SLOW_WRITER.info, run: Run::Here(wrong_writer) };

    #[test]
    fn the_reader_looks_at_what_arrives_unless_nobody_touches_it() {
        let wrong = try_out(&WRONG_WRITER, &[("touch", "yes")], None).err();
        assert!(matches!(&wrong, Some(BenchError::Failed(why)) if why.contains("did not arrive")), "{wrong:?}");
        try_out(&WRONG_WRITER, &[("touch", "no")], None).expect("a stream that nobody looks at");
    }

    #[test]
    fn what_the_medium_holds_is_untimed_and_at_least_four_times_as_much_is_timed() {
        for (held, size, untimed, timed) in [
            (64 << 10, 64 << 10, 1, 16),
            (64 << 10, 3000, 22, 350),
            (1 << 20, 64 << 10, 16, 64),
            (512 << 10, 1001, 524, 2096),
            (4096, 8 << 20, 1, 1),
        ] {
            assert_eq!(transfers(held, size), (untimed, timed), "{size} bytes, of which {held} are held");
        }
    }

    /// What lies in the medium when the watch starts was written before; each side has its own CPU
    /// time.
    #[test]
    fn what_the_medium_holds_is_read_before_the_watch_starts_and_each_side_pays_for_itself() {
        let tried = try_out(&SLOW_WRITER, &[("touch", "no")], None).expect("a stream");
        let sent: u64 = tried.result.fact("sent").expect("counted").parse().expect("a number");
        let timed = TIMED / TRANSFER as u64;
        assert!(sent >= tried.iterations * (timed + 1), "{sent} transfers for {} times {timed}", tried.iterations);
        let cpu = |side: &str| tried.stated(side).expect("its CPU time");
        assert!(cpu("cpu_writer") > 2.0 * cpu("cpu_reader"), "{} {}", cpu("cpu_writer"), cpu("cpu_reader"));
    }
}
