//! Round trip of one message between two processes over Unix sockets.
//!
//! **Measures:** A write and a read on each side of a pair of sockets, for each kind: stream,
//! datagrams, and messages over a connection (`seqpacket`).
//!
//! **Does not measure:** Making connections, or passing descriptors.
//!
//! **Method:** As `ipc.pipe_rtt` (`trip.rs`). The two sockets are made as a pair, or connected
//! through addresses as two programs would do; the addresses are abstract, so nothing appears in
//! the file system. A stream's message is sent and read until it is whole, whatever its size.
//! Datagrams and messages arrive whole or not at all, and one above the socket's buffer is
//! `unsupported`.
//!
//! **Pitfalls:**
//! - Messages larger than the buffer end lmbench `lat_unix -m` silently.
//! - The placement of the two sides: 9 us against 34 us with lmbench on one machine (2-vCPU KVM
//!   guest, AMD EPYC (Zen 4), Linux 6.18).
//! - A wake-up too many: reading a message also wakes its sender, who may write again. Whether that
//!   wake-up preempts the reader depends on who has used more of the CPU, so a side that works
//!   between the trips makes them 25 % slower
//!   (docs/methods/timing.md#frequency-probe).
//! - One task that writes to itself, reported as IPC (will-it-scale `unix1`).
//!
//! **Sources:** lmbench3 `lat_unix`. See
//! docs/methods/operating-system.md#round-trips.

use super::ends::{Socket, length, message};
use super::{NEAR_PLACEMENTS, ONE_PROCESS_EACH, beyond, sizes, trip};
use crate::parts::{self, Composition, Shown};
use crate::work::FIRST_TRIPS;
use groma_harness::prelude::*;
use groma_harness::sys::unix::{self, Kind};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Round trip of a message between two processes over Unix sockets",
        about: about!("unix_rtt.rs"),
        iteration: "one round trip: a write and a read on each side",
        timing: Timing::Each,
        outputs: &[Output::MAIN, FIRST_TRIPS],
        params: &[
            sizes(&["1", "64", "1K", "16K", "64K"]),
            Param::word("kind", "what the sockets carry", &["stream", "dgram", "seqpacket"]).quick(&["stream"]),
            Param::word("socket", "made as a pair, or connected through an abstract address", &["pair", "named"])
                .quick(&["pair"]),
        ],
        scaling: ONE_PROCESS_EACH,
        placements: NEAR_PLACEMENTS,
        composed_of: COMPOSED_OF,
        interference: Interference::Blocking,
        target_half_width: 0.02,
        // 2: no frequency probe runs between the trips.
        version: 2,
        ..Info::new("ipc.unix_rtt")
    },
    run: Run::Here(run),
};

const COMPOSED_OF: &[Composition] = &[Composition {
    of: Shown::of("ipc.unix_rtt", &[("size", "1"), ("kind", "stream"), ("socket", "pair")]),
    hardware: &[],
    parts: &[parts::WRITES, parts::READS, parts::SWITCHES, parts::SLEEPS, parts::ADDRESS_SPACES],
    rest: "the socket: a buffer made and freed for each message, and the sender woken as well",
}];

/// What the sockets carry, by the parameter's word.
fn kind_of(word: &str) -> Kind {
    match word {
        "stream" => Kind::Stream,
        "dgram" => Kind::Dgram,
        _ => Kind::SeqPacket,
    }
}

/// Two sockets that are connected in the way that the parameter's word names.
fn sockets(way: &str, kind: Kind) -> io::Result<(OwnedFd, OwnedFd)> {
    if way == "pair" { unix::pair(kind) } else { unix::connected(kind) }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let size = length(ctx)?;
    let kind = kind_of(ctx.word("kind"));
    let (here, there) = sockets(ctx.word("socket"), kind).context("making Unix sockets")?;
    let whole = kind != Kind::Stream;
    if whole {
        let longest = unix::longest_message(here.as_fd()).context("asking for the socket's buffer")?;
        if size > longest {
            return Err(beyond(size, "the socket's send buffer", Some(longest as u64)));
        }
    }
    let message = message(ctx)?;
    let mut here = Socket { fd: here, whole, message: message.clone() };
    let there = Socket { fd: there, whole, message };
    trip::measure(ctx, &mut here, || Ok(there))
}

#[cfg(test)]
mod tests {
    use super::*;

    use groma_harness::testing::try_out;
    use std::os::unix::net::UnixDatagram;

    #[test]
    fn the_sockets_are_those_that_the_words_name() {
        let kinds = ["stream", "dgram", "seqpacket"].map(kind_of);
        assert_eq!(kinds, [Kind::Stream, Kind::Dgram, Kind::SeqPacket]);
        // Of a pair neither has an address; of a connection one may have none.
        let has_address = |fd: OwnedFd| !UnixDatagram::from(fd).local_addr().expect("an address").is_unnamed();
        for (way, named) in [("pair", false), ("named", true)] {
            for kind in kinds {
                let (here, there) = sockets(way, kind).expect("two sockets");
                assert_eq!(has_address(here) || has_address(there), named, "{way} {kind:?}");
            }
        }
    }

    #[test]
    fn only_a_stream_carries_what_no_buffer_holds() {
        let try_kind = |kind| try_out(&BENCH, &[("kind", kind), ("size", "4M")], None);
        try_kind("stream").expect("a message in pieces");
        for kind in ["dgram", "seqpacket"] {
            assert!(matches!(try_kind(kind), Err(BenchError::Unsupported(_))));
        }
    }
}
