//! Bandwidth of a Unix socket from one process to another, in bytes per second.
//!
//! **Measures:** A stream as in `ipc.pipe_bandwidth`: the writer fills every word, the reader looks
//! at every word, or with `touch=no` neither does.
//!
//! - `kind` is `stream`, or `seqpacket`, where each transfer is one message that arrives whole or
//!   not at all; the largest is the one that fits into the buffer.
//! - `buffer` is the capacity of the socket: the default, or 4 MiB as far as an unprivileged
//!   program may request them (SO_SNDBUF up to `net.core.wmem_max`).
//!
//! **Does not measure:** Datagrams, whose readers see no end of the stream.
//!
//! **Method:** A pair of connected sockets; the rest is as in `ipc.pipe_bandwidth` (`stream.rs`).
//! The kernel charges its own overhead to the buffer, so fewer bytes than its size are in flight.
//!
//! **Pitfalls:**
//! - Bytes credited instead of counted, and a buffer that large transfers overrun: lmbench
//!   `bw_unix` credits 10 MiB whatever it moved, 19,140 instead of 2000 MB/s.
//! - Data that nobody touches, unless that is the question; the placement of the two sides.
//!
//! **Sources:** lmbench3 `bw_unix`. See docs/methods/operating-system.md#streams.

use super::stream::{self, Medium};
use crate::payload::{TOUCH, fill};
use groma_harness::prelude::*;
use groma_harness::sys::io::write_full;
use groma_harness::sys::socket;
use groma_harness::sys::unix::{self, Kind};
use std::os::fd::AsFd;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Bandwidth of a Unix socket between two processes",
        about: about!("unix_bandwidth.rs"),
        quantity: Quantity::Bandwidth,
        iteration: "1 MiB or more in transfers of that size, each read in full",
        timing: Timing::Each,
        outputs: stream::OUTPUTS,
        params: &[
            stream::SIZE,
            Param::word("kind", "kind of the socket", &["stream", "seqpacket"]).quick(&["stream"]),
            Param::word("buffer", "socket buffer: the default, or up to 4 MiB", &["default", "large"])
                .quick(&["default"]),
            TOUCH,
        ],
        scaling: stream::SCALING,
        placements: &[Placement::SameCpu, Placement::SameLlc],
        interference: Interference::Blocking,
        target_half_width: 0.05,
        version: 2,
        ..Info::new("ipc.unix_bandwidth")
    },
    run: Run::Here(run),
};

/// Bytes that the kernel takes at once (net/unix/af_unix.c): one piece more than the buffer holds
/// may be in flight.
pub(super) const PIECE: u64 = 32 << 10;
/// What iperf and others request; the kernel reduces it to its limit.
const LARGE_BUFFER: usize = 4 << 20;

fn run(ctx: &mut Ctx) -> Outcome {
    let size = ctx.int("size") as usize;
    let kind = if ctx.word("kind") == "seqpacket" { Kind::SeqPacket } else { Kind::Stream };
    let (read_end, write_end) = unix::pair(kind).context("making a pair of sockets")?;
    if ctx.word("buffer") == "large" {
        socket::set_send_buffer(write_end.as_fd(), LARGE_BUFFER).context("setting SO_SNDBUF")?;
    }
    let holds = socket::send_buffer(write_end.as_fd()).context("asking for SO_SNDBUF")? as u64 + PIECE;
    let medium = Medium { read_end, write_end, holds };
    let touch = stream::touches(ctx);
    stream::run(ctx, medium, size, u64::MAX, || {
        let mut map = stream::buffer(size)?;
        Ok(Box::new(move |to, number| {
            if touch {
                fill(&mut map[..size], number);
            }
            write_full(to, &map[..size])
        }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ipc::stream::tests::assert_measured;
    use groma_harness::testing::try_out;

    #[test]
    fn every_byte_that_counts_was_moved() {
        for (size, kind, buffer) in [
            ("64K", "stream", "default"),
            ("3000", "stream", "large"),
            ("1M", "stream", "default"),
            ("64K", "seqpacket", "default"),
            ("1001", "seqpacket", "large"),
        ] {
            assert_measured(&BENCH, &[("size", size), ("kind", kind), ("buffer", buffer)], None)
                .expect("a pair of sockets");
        }
    }

    /// In the other socket it would be of no use.
    #[test]
    fn the_buffer_is_that_of_the_side_that_writes() {
        for (buffer, large) in [("default", false), ("large", true)] {
            let (_, end) = unix::pair(Kind::Stream).expect("a pair of sockets");
            if large {
                socket::set_send_buffer(end.as_fd(), LARGE_BUFFER).expect("SO_SNDBUF");
            }
            let holds = socket::send_buffer(end.as_fd()).expect("SO_SNDBUF") as u64 + PIECE;
            let tried = assert_measured(&BENCH, &[("buffer", buffer)], None).expect("a pair of sockets");
            assert_eq!(tried.result.fact("stream.holds"), Some(holds.to_string().as_str()), "{buffer}");
        }
    }

    #[test]
    fn a_message_that_no_buffer_holds_is_unsupported() {
        let chosen = [("size", "64M"), ("kind", "seqpacket"), ("buffer", "large")];
        assert!(
            matches!(try_out(&BENCH, &chosen, None), Err(BenchError::Unsupported(why)) if why.starts_with("writing"))
        );
    }
}
