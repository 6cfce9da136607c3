//! Bytes per second through a pipe from one process to another.
//!
//! Measures a stream as a program uses it: the writer fills every word of its buffer before each transfer, the reader
//! looks at every word afterwards, so filling and looking belong to the time, as do the copies into and out of the kernel
//! and the switches or wake-ups. Does not measure `splice` and friends, nor a pipe that was made larger than the default.
//!
//! Method: the reader measures, because a byte counts when it has arrived. Each mebibyte is timed alone: sixteen times what
//! a pipe holds, so that the two sides run as in a long stream, and short enough that most are undisturbed on a busy
//! machine (same CPU, 85 % of the machine's time taken by others: 5.9 and 5.6 GB/s; in intervals of 5 ms 4.5 and 5.4).
//! Before each, a pipe's worth is read that is not timed, or the pipe that the writer filled while nobody was reading would
//! count as speed. Every transfer carries its own number in every word, and the reader compares, so no byte can be lost,
//! doubled or credited without having been moved. Both buffers are whole pages of their own. The CPU time of each side
//! for a gigabyte is among the facts.
//!
//! Traps: credited instead of counted bytes (lmbench `bw_unix` credits 10 MiB whatever it moved, `bw_pipe -M` nearly
//! doubles a total that its chunks do not divide); data that nobody touches (lmbench compiles the touching out); 64 KiB
//! stay in the cache and can beat a copy of memory; placement; helpers that survive their parent.
//!
//! Source: lmbench 1996 table 3, lmbench3 `bw_pipe`.

use crate::proofs;
use groma_harness::prelude::*;
use groma_harness::sys::counters::Usage;
use groma_harness::sys::io::{pipe, read, read_full, write_full};
use groma_harness::sys::pages::{Map, Policy};
use groma_harness::sys::shared::Shared;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Bandwidth of a pipe between two processes that both touch the data",
        about: about!("pipe_bandwidth.rs"),
        quantity: Quantity::Bandwidth,
        iteration: "1 MiB in transfers of that size (one, if it is longer), each read in full and compared",
        timing: Timing::Each,
        params: &[Param {
            name: "size",
            help: "bytes in one write",
            kind: ParamKind::Size,
            quick: &[],
            default: &["64K"],
            full: &["4K", "16K", "64K", "256K", "1M"],
        }],
        scaling: Scaling::processes("each copy forks its other side, which a process with threads must not"),
        placements: &[
            Placement::SameCpu,
            Placement::SameLlc,
            Placement::CrossLlc,
            Placement::CrossNode,
            Placement::Free,
        ],
        lineage: &["lmbench1996:table3", "lmbench3:bw_pipe"],
        interference: Interference::Blocking,
        width: 0.05,
        ..Info::new("ipc.pipe_bandwidth")
    },
    run: Run::Here(run),
};

/// What a pipe holds unless told otherwise, on every Linux since 2.6.11 (with pages of 4 KiB).
const PIPE_HOLDS: u64 = 64 << 10;
/// Bytes timed at once.
const TIMED: u64 = 1 << 20;
/// Decimal: bandwidths are.
const GB: f64 = 1e9;

/// The words that the two sides share.
const STOP: usize = 0;
const WRITTEN: usize = 1;

/// Puts the number into every word.
fn fill(buffer: &mut [u8], number: u64) {
    let (words, rest) = buffer.as_chunks_mut::<8>();
    words.fill(number.to_ne_bytes());
    rest.copy_from_slice(&number.to_ne_bytes()[..rest.len()]);
}

/// Whether every word holds the number; looks at all of them, whatever the first ones say.
fn holds(buffer: &[u8], number: u64) -> bool {
    let (words, rest) = buffer.as_chunks::<8>();
    let differing = words.iter().fold(0, |bits, word| bits | (u64::from_ne_bytes(*word) ^ number));
    differing == 0 && *rest == number.to_ne_bytes()[..rest.len()]
}

/// The other side: one transfer after the other, until it is told to stop.
fn write_until_stopped(to: BorrowedFd<'_>, size: usize, shared: &[AtomicU64]) -> i32 {
    let Ok(mut buffer) = Map::anonymous(size, Policy::Base) else { return 1 };
    buffer.populate();
    let buffer = &mut buffer[..size];
    let mut number = 0;
    while shared[STOP].load(SeqCst) == 0 {
        fill(buffer, number);
        if write_full(to, buffer).is_err() {
            return 1;
        }
        number += 1;
        shared[WRITTEN].store(number * size as u64, SeqCst);
    }
    0
}

fn run(ctx: &mut Ctx) -> Outcome {
    let size = ctx.int("size") as usize;
    if size == 0 {
        return Err(Stop::Unsupported("a transfer has a byte or more".to_owned()));
    }
    let shared = Shared::<AtomicU64>::new(2).doing("sharing two words")?;
    let (read_end, write_end) = pipe().doing("making a pipe")?;
    let writer = ctx.fork_peer(&[read_end.as_fd()], || write_until_stopped(write_end.as_fd(), size, &shared))?;
    drop(write_end);

    let mut map = Map::anonymous(size, Policy::Base).doing("mapping the buffer")?;
    map.populate();
    let buffer = &mut map[..size];
    let mut number = 0;
    let mut take = |transfers: u64| {
        for _ in 0..transfers {
            read_full(read_end.as_fd(), buffer).doing("reading from the pipe")?;
            if !holds(buffer, number) {
                return Err(Stop::Failed(format!("transfer {number} did not arrive as it was written")));
            }
            number += 1;
        }
        Ok(())
    };
    let mut untimed = 0;
    let (head, timed) = (PIPE_HOLDS.div_ceil(size as u64), (TIMED / size as u64).max(1));
    let before = Usage::thread();
    ctx.measure_arms(&mut [Arm::staged("", |iters, watch| {
        take(head)?;
        untimed += head;
        watch.start();
        take(iters * timed)?;
        watch.stop();
        Ok(())
    })
    .per_iter((timed * size as u64) as f64)])?;
    let reader = Usage::thread().since(&before);

    let arrived = number * size as u64;
    shared[STOP].store(1, SeqCst);
    let mut drained = 0;
    loop {
        match read(read_end.as_fd(), buffer).doing("draining the pipe")? {
            0 => break,
            n => drained += n as u64,
        }
    }
    let peer = writer.wait().doing("waiting for the writer")?;
    let written = shared[WRITTEN].load(SeqCst);
    let credited = (ctx.iterations() * timed + untimed) * size as u64;
    ctx.prove("bytes compared per byte credited", "1", arrived as f64 / credited as f64, 1.0..=1.0);
    ctx.prove("bytes read per byte written", "1", (arrived + drained) as f64 / written as f64, 1.0..=1.0);
    proofs::peer_ended_well(ctx, &peer);
    let cpu_per_gb = |used: &Usage, bytes: u64| (used.user_ns + used.system_ns) as f64 / 1e9 / (bytes as f64 / GB);
    ctx.fact("reader.cpu_s_per_gb", format!("{:.3}", cpu_per_gb(&reader, arrived)));
    ctx.fact("writer.cpu_s_per_gb", format!("{:.3}", cpu_per_gb(&peer.usage, written)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn every_byte_that_counts_was_moved() {
        for size in ["64K", "4K", "1001", "1M"] {
            let tried = try_out(&BENCH, &[("size", size)], None).expect("a pipe");
            assert!(tried.samples("") >= 3);
            let per_iter = tried.result.series("").map(|s| s.per_iter);
            assert_eq!(per_iter, Some(if size == "1001" { 1047.0 * 1001.0 } else { TIMED as f64 }));
            assert_eq!(tried.proven("bytes compared per byte credited"), 1.0);
            assert_eq!(tried.proven("bytes read per byte written"), 1.0);
            assert_eq!(tried.proven("exit code of the other side"), 0.0);
            assert_eq!(tried.result.facts.iter().filter(|f| f.key.ends_with("cpu_s_per_gb")).count(), 2);
        }
    }

    #[test]
    fn a_transfer_of_nothing_is_refused() {
        assert!(matches!(try_out(&BENCH, &[("size", "0")], None), Err(Stop::Unsupported(_))));
    }

    #[test]
    fn one_wrong_byte_anywhere_is_seen() {
        for len in [8, 13, 4096, 1001] {
            let mut buffer = vec![0; len];
            fill(&mut buffer, 0x0102_0304_0506_0708);
            assert!(holds(&buffer, 0x0102_0304_0506_0708));
            for i in [0, len / 2, len - 1] {
                buffer[i] ^= 1;
                assert!(!holds(&buffer, 0x0102_0304_0506_0708), "{len} {i}");
                buffer[i] ^= 1;
            }
        }
    }
}
