//! Round trip of one message between two processes over a TCP connection.
//!
//! **Measures:** The whole round trip on a connection that stays, on the loopback or with `--host`
//! to another machine: a write and a read on each side, the protocol in between, and two wake-ups.
//!
//! **Does not measure:** Making connections (`net.tcp_connect`).
//!
//! **Method:** As in `ipc.pipe_rtt`, each round trip is timed alone, messages are sent and read in
//! full whatever pieces they arrive in, and the placement of the two sides is part of the result.
//! The first and last byte of each message carry its number and are compared in the answer.
//! TCP_NODELAY is set unless the parameter says otherwise. The proofs are TCP's own counters of
//! this one connection (TCP_INFO), since those of the whole machine move with other programs: as
//! many bytes received as the round trips took, and hardly a segment sent again. At the end the
//! peer closes by a reset, so no port stays in TIME_WAIT.
//!
//! **Pitfalls:**
//! - Without a server, writes and reads that fail are timed (lmbench 0.8 against 41 us).
//! - Short reads: lmbench `lat_tcp` hangs or crashes with large messages.
//! - The softirq that delivers runs on the sender's CPU.
//! - Packet filters and connection tracking in containers.
//! - Nagle's algorithm delays only what is sent while something is unacknowledged.
//!
//! **Sources:** lmbench 1996 table 12; lmbench3 `lat_tcp` (both with Nagle's algorithm on). See
//! docs/methods/operating-system.md#tcp-round-trips.

use super::{FAMILY, PLACEMENTS, within};
use crate::parts::{self, Composition, Shown};
use crate::peer::{Family, Peer, Service, Session, Transport, receive_numbers, send_numbers};
use crate::proofs;
use crate::work;
use crate::work::FIRST_TRIPS;
use groma_harness::prelude::*;
use groma_harness::sys::counters::Usage;
use groma_harness::sys::io::{read, read_full, write_full};
use groma_harness::sys::net;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Round trip of a message between two processes over TCP",
        about: about!("tcp_rtt.rs"),
        iteration: "one round trip: a write and a read on each side",
        timing: Timing::Each,
        outputs: &[Output::MAIN, FIRST_TRIPS],
        params: &[
            Param::size("size", "bytes in the message").quick(&["1"]).full(&["64", "1K", "16K", "64K"]),
            Param::word("nodelay", "TCP_NODELAY; off is Nagle's algorithm", &["on", "off"]).quick(&["on"]),
            FAMILY,
        ],
        scaling: Scaling::processes("each copy forks its other side, which a process with threads must not"),
        placements: PLACEMENTS,
        needs: &[Need::Loopback],
        composed_of: COMPOSED_OF,
        interference: Interference::Blocking,
        target_half_width: 0.02,
        version: 2,
        ..Info::new("net.tcp_rtt")
    },
    run: Run::Here(run),
};

const COMPOSED_OF: &[Composition] = &[Composition {
    of: Shown::of("net.tcp_rtt", &[("size", "1"), ("nodelay", "on"), ("family", "v4")]),
    hardware: &[],
    parts: &[parts::WRITES, parts::READS, parts::SWITCHES, parts::SLEEPS, parts::ADDRESS_SPACES, parts::DATAGRAMS],
    rest: "TCP: acknowledgements, timers, the state of the connection",
}];

/// The share of segments that may be sent again. A segment is sent again when its acknowledgement
/// is 200 ms late, which happens when the host takes the CPU away for that long. So few do not
/// affect the median.
pub(super) const AGAIN_WHEN_BUSY: f64 = 0.01;
/// Messages up to this size are one segment. Of several segments TCP sends the last again when no
/// acknowledgement arrives for some milliseconds, as on a busy machine where the reader waits for
/// its CPU. In less than half of the round trips that does not affect the median.
const ONE_SEGMENT: usize = 16 << 10;
/// The longest message; longer ones are the subject of `net.tcp_bandwidth`.
const LONGEST_MESSAGE: u64 = 16 << 20;

/// The peer.
pub(super) static SERVICE: Service = Service { name: "net.tcp_rtt", transport: Transport::Tcp, serve };

fn serve(session: Session) -> io::Result<()> {
    let Some(connection) = session.accept()? else { return Ok(()) };
    let [size, nodelay] = receive_numbers(&connection)?;
    connection.set_nodelay(nodelay == 1)?;
    if connection.nodelay()? != (nodelay == 1) {
        return Err(io::Error::other("TCP_NODELAY is not what it was set to"));
    }
    let mut message = vec![0; within(size, LONGEST_MESSAGE)?];
    echo(connection.as_fd(), connection.as_fd(), &mut message)?;
    net::reset_on_close(connection.as_fd())
}

/// Reads messages as long as `message` and writes each back, until the benchmark closes between two
/// messages.
fn echo(input: BorrowedFd<'_>, output: BorrowedFd<'_>, message: &mut [u8]) -> io::Result<()> {
    while read(input, &mut message[..1])? != 0 {
        read_full(input, &mut message[1..])?;
        write_full(output, message)?;
    }
    Ok(())
}

/// How many segments may be sent again per round trip of a message of this length, in words and as
/// the most.
fn allowed_again(far: bool, length: usize) -> (&'static str, f64) {
    match length {
        _ if far => ("below 0.5", 0.5),
        ..=ONE_SEGMENT => ("0, or below 0.01 when busy", AGAIN_WHEN_BUSY),
        _ => ("0, or below 0.5 when busy", 0.5),
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    measure(ctx, &SERVICE)
}

fn measure(ctx: &mut Ctx, service: &'static Service) -> Outcome {
    let size = ctx.int("size");
    if size > LONGEST_MESSAGE {
        return Err(BenchError::Unsupported(format!("a message has no more than {LONGEST_MESSAGE} bytes")));
    }
    let mut message = vec![1u8; size as usize];
    let nodelay = ctx.word("nodelay") == "on";
    let peer = Peer::start_by(ctx, service, Family::of_word(ctx.word("family")))?;
    let here = TcpStream::connect(peer.address()).context("connecting")?;
    here.set_nodelay(nodelay).context("setting TCP_NODELAY")?;
    send_numbers(&here, [message.len() as u64, u64::from(nodelay)]).context("writing to the socket")?;

    // The peer checks its own option, and does not answer if it differs.
    let set = f64::from(u8::from(here.nodelay().context("asking for TCP_NODELAY")?));
    let asked = f64::from(u8::from(nodelay));
    ctx.prove("TCP_NODELAY as the kernel has it", &asked.to_string(), set, asked..=asked);

    let before = Usage::thread();
    let mut answer = vec![0; message.len()];
    let (mut trip, mut trips) = (0u8, 0);
    ctx.measure(|iters| {
        for _ in 0..iters {
            trip = trip.wrapping_add(1);
            let last = message.len() - 1;
            (message[0], message[last]) = (trip, trip);
            write_full(here.as_fd(), &message).context("writing to the socket")?;
            read_full(here.as_fd(), &mut answer).context("reading from the socket")?;
            if (answer[0], answer[last]) != (trip, trip) {
                return Err(BenchError::Failed("the answer does not match the last message".to_owned()));
            }
            trips += 1;
        }
        Ok(())
    })?;
    let tcp = net::connection(here.as_fd()).context("asking for TCP_INFO")?;
    here.shutdown(Shutdown::Write).context("ending the connection")?;
    let far = peer.is_remote();
    if let Some(peer) = peer.end()? {
        proofs::peer_ended_well(ctx, &peer);
        proofs::switches_on_one_cpu(ctx, &before, &peer);
    }
    work::once_each(ctx, "round trips answered per round trip credited", trips, ctx.iterations());
    let again = tcp.retransmits as f64 / ctx.iterations().max(1) as f64;
    let (expected, most) = allowed_again(far, message.len());
    ctx.prove("segments that TCP sent again per round trip", expected, again, 0.0..=most);
    let expected = ctx.iterations() as f64 * message.len() as f64;
    match tcp.received {
        Some(bytes) => {
            let seen = bytes as f64 / expected;
            ctx.prove("bytes that TCP received per byte expected", "1", seen, 1.0..=1.0);
        }
        None => ctx.note("this kernel does not count the bytes of a connection"),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    use groma_harness::testing::try_out;

    #[test]
    fn more_is_sent_again_of_several_segments_and_on_a_network() {
        let allowed = |far, length| allowed_again(far, length).1;
        assert_eq!([1, 16 << 10, (16 << 10) + 1].map(|length| allowed(false, length)), [0.01, 0.01, 0.5]);
        assert_eq!(allowed(true, 1), 0.5);
    }

    /// Answers each message with one in which the byte at this place, from either end, is another.
    fn spoil(session: &Session, from_the_end: bool) -> io::Result<()> {
        let Some(connection) = session.accept()? else { return Ok(()) };
        let [size, _] = receive_numbers(&connection)?;
        let mut message = vec![0; size as usize];
        let place = if from_the_end { message.len() - 1 } else { 0 };
        while read_full(connection.as_fd(), &mut message).is_ok() {
            message[place] ^= 1;
            write_full(connection.as_fd(), &message)?;
        }
        net::reset_on_close(connection.as_fd())
    }

    static WRONG_FIRST: Service =
        Service { name: "net.test", transport: Transport::Tcp, serve: |session| spoil(&session, false) };
    static WRONG_LAST: Service =
        Service { name: "net.test", transport: Transport::Tcp, serve: |session| spoil(&session, true) };

    #[test]
    fn an_answer_has_to_be_that_to_the_last_message() {
        let runs: [fn(&mut Ctx) -> Outcome; 2] = [|ctx| measure(ctx, &WRONG_FIRST), |ctx| measure(ctx, &WRONG_LAST)];
        for run in runs {
            let bench = Benchmark { info: BENCH.info, run: Run::Here(run) };
            let tried = try_out(&bench, &[("size", "64")], None).map(|_| ());
            assert!(matches!(&tried, Err(BenchError::Failed(why)) if why.contains("does not match")), "{tried:?}");
        }
    }

    #[test]
    fn a_message_too_long_is_refused() {
        let size = (LONGEST_MESSAGE + 1).to_string();
        assert!(matches!(try_out(&BENCH, &[("size", &size)], None), Err(BenchError::Unsupported(_))));
    }
}
