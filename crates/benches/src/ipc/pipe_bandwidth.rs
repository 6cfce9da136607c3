//! Bandwidth of a pipe from one process to another, in bytes per second.
//!
//! **Measures:** A stream as programs use it: the writer fills every word of its buffer before each
//! transfer, and the reader looks at every word afterwards. The time includes filling, checking,
//! the copies into and out of the kernel, and context switches or wake-ups. With `touch=no` nobody
//! fills or checks, as in lmbench `bw_pipe`.
//!
//! - `buffer` is the capacity of the pipe: the default (64 KiB on most machines), or the most that
//!   an unprivileged program may request (F_SETPIPE_SZ).
//! - `by` is how the writer passes a buffer on: `write` copies it, `vmsplice` lends its pages to
//!   the pipe. The reader copies the data out in both cases.
//!
//! **Does not measure:** TCP.
//!
//! **Method:** The reader measures, since bytes count when they arrive. It times each mebibyte
//! alone (or four times the capacity of the pipe if that is more), after reading one pipe's worth
//! untimed. Every transfer carries its own number in every word, and the reader compares them
//! (`stream.rs`). All buffers are whole, private pages. With `vmsplice` the writer rotates one more
//! buffer than the pipe can hold, so none is refilled before it was read. The CPU time of each side
//! per gigabyte is a metric.
//!
//! **Calls:**
//! - `by=vmsplice`: `vmsplice(`
//! - `by=write`: `write(`, not `vmsplice(`
//!
//! **Pitfalls:**
//! - Bytes credited instead of counted: lmbench `bw_unix` credits 10 MiB whatever it moved, and
//!   `bw_pipe -M` nearly doubles a total that its chunks do not divide.
//! - Data that nobody touches, unless that is the question: the compiler removes lmbench's
//!   accesses.
//! - 64 KiB stay in the cache and can beat a memory copy.
//! - The placement of the two sides; helper processes that outlive their parent.
//! - Lent pages that change before they are read.
//! - A user with many pipes gets smaller ones; the capacity is a fact of the round.
//!
//! **Sources:** lmbench 1996 table 3; lmbench3 `bw_pipe`. See
//! docs/methods/operating-system.md#streams.

use super::stream::{self, Medium};
use crate::payload::{TOUCH, fill};
use groma_harness::prelude::*;
use groma_harness::sys::io::{pipe, write_full};
use groma_harness::sys::pages::{page_size, round_up};
use groma_harness::sys::splice::{largest_pipe, pipe_holds, resize_pipe, vmsplice_full};
use std::os::fd::AsFd;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Bandwidth of a pipe between two processes",
        about: about!("pipe_bandwidth.rs"),
        quantity: Quantity::Bandwidth,
        iteration: "1 MiB or more in transfers of that size, each read in full",
        timing: Timing::Each,
        outputs: stream::OUTPUTS,
        params: &[
            stream::SIZE,
            Param::word("buffer", "pipe capacity: the default, or the largest allowed", &["default", "max"])
                .quick(&["default"]),
            Param::word(
                "by",
                "how the writer transfers its buffer: by copying, or by mapping its pages (vmsplice)",
                &["write", "vmsplice"],
            )
            .quick(&["write"]),
            TOUCH,
        ],
        scaling: stream::SCALING,
        placements: &[
            Placement::SameCpu,
            Placement::SameLlc,
            Placement::CrossLlc,
            Placement::CrossNode,
            Placement::Free,
        ],
        interference: Interference::Blocking,
        target_half_width: 0.05,
        version: 2,
        ..Info::new("ipc.pipe_bandwidth")
    },
    run: Run::Here(run),
};

/// The buffers that a writer rotates whose pages a pipe of that capacity borrows: one more than it
/// holds, since even the shortest transfer occupies a page of the pipe.
fn lent_buffers(holds: u64, size: usize, page: usize) -> usize {
    (holds as usize).div_ceil(size.max(page)) + 1
}

fn run(ctx: &mut Ctx) -> Outcome {
    let size = ctx.int("size") as usize;
    let lends = ctx.word("by") == "vmsplice";
    let (read_end, write_end) = pipe().context("making a pipe")?;
    if ctx.word("buffer") == "max" {
        let Some(most) = largest_pipe() else {
            return Err(BenchError::Unsupported(
                "/proc/sys/fs/pipe-max-size does not say how large a pipe may be".into(),
            ));
        };
        resize_pipe(write_end.as_fd(), most).context("making the pipe larger")?;
    }
    let holds = pipe_holds(write_end.as_fd()).context("asking what the pipe holds")?;
    let medium = Medium { read_end, write_end, holds };
    let touch = stream::touches(ctx);
    stream::run(ctx, medium, size, u64::MAX, || {
        let buffers = if lends { lent_buffers(holds, size, page_size()) } else { 1 };
        let apart = round_up(size, page_size());
        let mut map = stream::buffer(buffers * apart)?;
        Ok(Box::new(move |to, number| {
            let buffer = &mut map[number as usize % buffers * apart..][..size];
            if touch {
                fill(buffer, number);
            }
            if lends { vmsplice_full(to, buffer) } else { write_full(to, buffer) }
        }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ipc::stream::tests::assert_measured;

    /// With one less, a page is filled again while its last reader may still be at it.
    #[test]
    fn no_page_is_filled_again_while_the_pipe_has_it() {
        for (holds, size, buffers) in [
            (64 << 10, 64 << 10, 2),
            (64 << 10, 5000, 15),
            (64 << 10, 1001, 17),
            (1 << 20, 64 << 10, 17),
            (64 << 10, 1 << 20, 2),
        ] {
            assert_eq!(lent_buffers(holds, size, 4096), buffers, "{size} bytes in a pipe of {holds}");
        }
    }

    #[test]
    fn every_byte_that_counts_was_moved() {
        for (size, buffer, by) in [
            ("64K", "default", "write"),
            ("4K", "max", "write"),
            ("1001", "default", "write"),
            ("1M", "default", "write"),
            ("64K", "default", "vmsplice"),
            ("5000", "default", "vmsplice"),
            ("1001", "max", "vmsplice"),
            ("1M", "max", "vmsplice"),
        ] {
            let chosen = [("size", size), ("buffer", buffer), ("by", by)];
            match assert_measured(&BENCH, &chosen, None) {
                Ok(tried) => {
                    let facts = &tried.result.output.facts;
                    assert!(facts.iter().any(|f| f.key == "stream.holds"), "{facts:?}");
                }
                // A user with many pipes is not allowed a larger one.
                Err(BenchError::Denied(why)) if buffer == "max" => eprintln!("{chosen:?}: {why}"),
                Err(stop) => panic!("{chosen:?}: {stop}"),
            }
        }
    }
}
