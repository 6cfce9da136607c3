//! Making a TCP connection, on the loopback or to another machine: `connect` alone.
//!
//! **Measures:** One call, which returns when the handshake of three segments is complete.
//!
//! **Does not measure:** Creating the socket, accepting, or closing, which all happen outside the
//! timed part.
//!
//! **Method:** Each connect is timed alone. The peer is another process. With `acceptor=later` it
//! accepts the connection afterwards, when it is told to over a connection that stays, so nobody is
//! woken in the timed part. With `acceptor=waiting` it sleeps in `accept` as a server does, and its
//! wake-up is part of the call. Where both share a CPU, the scheduler then decides for a whole
//! round whether the peer's work comes before the caller returns (6.1 or 11.4 us). In both cases
//! the next connect follows when the last connection was accepted, so the queue never holds more
//! than one, whatever runs beside the benchmark.
//!
//! Connections are closed by a reset (SO_LINGER 0). An orderly close would leave each port in
//! TIME_WAIT for 60 s, and a few runs would use up the 28,232 ports of a default machine, for
//! themselves and for other programs; rotating source addresses only postpones that. The reset
//! comes after the clock has stopped and does not change `connect` (12.51 against 12.45 us).
//!
//! **Calls:**
//! - timed: `clock connect clock`; the socket is made before the clock is read
//!
//! **Proofs:** Each connection reports that it is established and that none of its segments was
//! sent again (TCP_INFO, retransmits of the handshake included), and the peer counted as many as
//! were made. Counters of the network namespace (`/proc/net/netstat`) are only noted when they
//! move, since other programs move them too.
//!
//! **Pitfalls:**
//! - A backlog that overflows drops handshakes, and each is repeated a second later: lmbench
//!   `lat_connect` printed 3971 us against 12.5, its result being the retransmission timer.
//! - Without a server, refused connections are timed.
//! - Ports in TIME_WAIT.
//!
//! **Sources:** lmbench 1996 table 15; lmbench3 `lat_connect` (both with `socket` and `close`). See
//! docs/methods/operating-system.md#tcp-connections.

use super::{FAMILY, PLACEMENTS};
use crate::parts::{self, Composition, Part, Shown, Times};
use crate::peer::{Family, Peer, Service, Session, Socket, Transport, receive_numbers, send_numbers};
use crate::proofs;
use groma_harness::prelude::*;
use groma_harness::remote::BACKLOG;
use groma_harness::sys::io::read;
use groma_harness::sys::net::{self, Dropped};
use groma_harness::sys::socket;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Connecting to a process over TCP",
        about: about!("tcp_connect.rs"),
        iteration: "one connect",
        timing: Timing::Each,
        params: &[
            Param::word(
                "acceptor",
                "takes connections later, outside the timed part, or waits for them and must be woken",
                &["later", "waiting"],
            )
            .quick(&["later"]),
            FAMILY,
        ],
        scaling: Scaling::processes("each copy forks its other side, which a process with threads must not"),
        placements: PLACEMENTS,
        needs: &[Need::Loopback],
        composed_of: COMPOSED_OF,
        interference: Interference::Blocking,
        target_half_width: 0.02,
        version: 2,
        ..Info::new("net.tcp_connect")
    },
    run: Run::Here(run),
};

const COMPOSED_OF: &[Composition] = &[Composition {
    of: Shown::of("net.tcp_connect", &[("acceptor", "later"), ("family", "v4")]),
    hardware: &[],
    parts: &[
        Part::of(1.0, "system call", parts::CALL),
        Part { what: "three segments, each as half of two datagrams", ..parts::DATAGRAMS }.times(Times::Fixed(1.5)),
    ],
    rest: "the sockets of both sides, the choice of a port, the route, TCP's handshake",
}];

/// The peer.
pub(super) static SERVICE: Service = Service { name: "net.tcp_connect", transport: Transport::Tcp, serve };

/// Accepts, closes and counts connections; unless it waits in `accept`, only after each has been
/// announced. The first connection stays open as the control connection.
fn serve(session: Session) -> io::Result<()> {
    let Some(line) = session.accept()? else { return Ok(()) };
    line.set_nodelay(true)?;
    let [waits] = receive_numbers(&line)?;
    let Socket::Listener(listener) = &session.socket else { return Err(io::ErrorKind::InvalidInput.into()) };
    let mut taken = 0u64;
    loop {
        if waits == 0 && read(line.as_fd(), &mut [0; 8])? == 0 {
            return net::reset_on_close(line.as_fd());
        }
        let connection = loop {
            match listener.accept()? {
                (connection, from) if session.is_client(from.ip()) => break connection,
                // From another address; the client's is still to come.
                _ => {}
            }
        };
        if waits == 1 && socket::is_ready(&line) {
            // The last connection only wakes this process.
            net::reset_on_close(connection.as_fd())?;
            return net::reset_on_close(line.as_fd());
        }
        drop(connection);
        taken += 1;
        send_numbers(&line, [taken])?;
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    measure(ctx, &SERVICE)
}

fn measure(ctx: &mut Ctx, service: &'static Service) -> Outcome {
    let waits = ctx.word("acceptor") == "waiting";
    let peer = Peer::start_by(ctx, service, Family::of_word(ctx.word("family")))?;
    let address = peer.address();
    let line = TcpStream::connect(address).context("connecting")?;
    line.set_nodelay(true).context("setting TCP_NODELAY")?;
    send_numbers(&line, [u64::from(waits)]).context("writing to the peer")?;

    let dropped = Dropped::read();
    let (mut made, mut retransmits, mut established, mut accepted) = (0u64, 0, 0u32, 0);
    ctx.measure_staged(|iters, watch| {
        for _ in 0..iters {
            let socket = socket::tcp(address).context("making a socket")?;
            net::reset_on_close(socket.as_fd()).context("setting SO_LINGER")?;
            watch.start();
            let connected = socket::connect(socket.as_fd(), &address);
            watch.stop();
            connected.context("connecting")?;
            made += 1;
            let tcp = net::connection(socket.as_fd()).context("asking for TCP_INFO")?;
            retransmits += tcp.retransmits;
            if !tcp.established {
                return Err(BenchError::Failed("connect came back without a connection".to_owned()));
            }
            established += 1;
            if !waits {
                send_numbers(&line, [made]).context("writing to the peer")?;
            }
            [accepted] = receive_numbers(&line).context("reading from the peer")?;
            if accepted != made {
                return Err(BenchError::Failed(format!("made {made} connections, of which {accepted} were accepted")));
            }
        }
        Ok(())
    })?;

    line.shutdown(Shutdown::Write).context("ending the connection")?;
    if waits {
        let farewell = socket::tcp(address).context("making a socket")?;
        socket::connect(farewell.as_fd(), &address).context("connecting for the last time")?;
    }
    let far = peer.is_remote();
    if let Some(peer) = peer.end()? {
        proofs::peer_ended_well(ctx, &peer);
    }
    let asked = ctx.iterations() as f64;
    ctx.prove("connections established per connect", "1", f64::from(established) / asked, 1.0..=1.0);
    ctx.prove("connections accepted per connect", "1", accepted as f64 / asked, 1.0..=1.0);
    if far {
        ctx.fact("segments.again", retransmits);
    } else {
        ctx.prove("segments that TCP sent again, handshakes included", "0", retransmits as f64, 0.0..=0.0);
    }
    if let (Some(before), Some(after)) = (dropped, Dropped::read()) {
        let added = after.since(&before);
        if added != Dropped::default() {
            ctx.note(format!(
                "on this machine, not in our connections: {} overflows, {} drops, {} repeated handshakes",
                added.overflows, added.drops, added.syn_retransmits
            ));
        }
    }
    if let (Some(longest), false) = (net::longest_backlog(), far) {
        ctx.fact("listen.backlog", longest.min(BACKLOG.into()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    /// Accepts every second connection, and says how many it has accepted.
    fn serve_half(session: Session) -> io::Result<()> {
        let Some(line) = session.accept()? else { return Ok(()) };
        line.set_nodelay(true)?;
        let [_] = receive_numbers(&line)?;
        let mut taken = 0u64;
        for number in 0.. {
            if read(line.as_fd(), &mut [0; 8])? == 0 {
                break;
            }
            if number % 2 == 0 {
                drop(session.accept()?);
                taken += 1;
            }
            send_numbers(&line, [taken])?;
        }
        net::reset_on_close(line.as_fd())
    }

    static HALF: Service = Service { name: "net.test", transport: Transport::Tcp, serve: serve_half };
    static FROM_HALF: Benchmark = Benchmark { info: BENCH.info, run: Run::Here(|ctx| measure(ctx, &HALF)) };

    #[test]
    fn a_connection_that_is_not_accepted_ends_the_round() {
        let tried = try_out(&FROM_HALF, &[], None).map(|_| ());
        let expected = "made 2 connections, of which 1 were accepted".to_owned();
        assert_eq!(tried, Err(BenchError::Failed(expected)));
    }

    #[test]
    fn a_handshake_has_three_segments_and_a_round_trip_two_datagrams() {
        assert_eq!(COMPOSED_OF[0].parts[1].times, Times::Fixed(3.0 / 2.0));
    }
}
