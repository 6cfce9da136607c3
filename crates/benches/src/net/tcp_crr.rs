//! A whole TCP exchange on its own connection: connect, one byte there, one byte back, close.
//!
//! **Measures:** What a client of a server without persistent connections waits for, on the
//! loopback or with `--host` to another machine: socket, handshake, a round trip with two wake-ups,
//! and the close.
//!
//! **Does not measure:** A connection that is kept (`net.tcp_rtt`), the handshake alone
//! (`net.tcp_connect`), or a server that accepts and serves many clients at once.
//!
//! **Method:** Each exchange is timed alone. With the watch stopped in between, the state of the
//! connection is read from TCP_INFO. The server waits in `accept`, one connection at a time, and
//! the next exchange follows when the last was answered, so its queue never holds more than one.
//! With `close=reset`, the default, the client closes by a reset (SO_LINGER 0), and no port stays
//! in TIME_WAIT; the server's close may come before or after it. With `close=orderly` the client
//! ends its half, waits until the server has closed as well, and closes, as in netperf. Each such
//! connection stays in TIME_WAIT for 60 s, even after its server is gone. An address has some
//! 28,000 ports, so over IPv4's loopback each 4096 connections come from another address of 127/8;
//! choosing it is part of the exchange. At the end the server reports how many bytes it has
//! answered.
//!
//! **Calls:**
//! - timed: `clock socket setsockopt connect write read clock`; close is not timed
//! - timed: `clock getsockopt clock close clock`; close is timed, TCP_INFO is not
//!
//! **Proofs:** One established connection for each exchange, as many answers as exchanges, and no
//! segment sent again on the loopback.
//!
//! **Pitfalls:**
//! - Those of `net.tcp_connect`.
//! - Ports can run out in TIME_WAIT. Over IPv6 and between machines, where there is one address,
//!   the result is then `unsupported`.
//! - Nagle's algorithm does not affect the first byte.
//!
//! **Sources:** netperf's `TCP_CRR`; the operating-system parts of lmbench3 `lat_connect` and
//! `lat_http`. See docs/methods/operating-system.md#tcp-connections.

use super::{FAMILY, PLACEMENTS};
use crate::peer::{Family, Peer, Service, Session, Socket, Transport, receive_numbers, send_numbers};
use crate::proofs;
use groma_harness::prelude::*;
use groma_harness::sys::io::{read, read_full, write_full};
use groma_harness::sys::socket::shutdown;
use groma_harness::sys::{net, socket};
use std::io;
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::os::fd::AsFd;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "TCP connection, request of a byte, reply of a byte, and close",
        about: about!("tcp_crr.rs"),
        iteration: "one connection with one exchange",
        timing: Timing::Each,
        params: &[
            Param::word(
                "close",
                "by a reset, which leaves no port in TIME_WAIT, or in the orderly way",
                &["reset", "orderly"],
            )
            .quick(&["reset"]),
            FAMILY,
        ],
        scaling: Scaling::processes("each copy forks its other side, which a process with threads must not"),
        placements: PLACEMENTS,
        needs: &[Need::Loopback],
        interference: Interference::Blocking,
        target_half_width: 0.02,
        // 2: close=orderly waits for the server's close.
        version: 2,
        ..Info::new("net.tcp_crr")
    },
    run: Run::Here(run),
};

/// Requests: an exchange that the client ends by a reset, one that it ends in order, and the number
/// of exchanges so far.
const COUNT: u8 = 0;
const RESET: u8 = 1;
const ORDERLY: u8 = 2;

/// Connections from one local address: few of its ports, so that a free one is found at once.
const PER_ADDRESS: u32 = 4096;

/// The peer.
pub(super) static SERVICE: Service = Service { name: "net.tcp_crr", transport: Transport::Tcp, serve };

fn serve(session: Session) -> io::Result<()> {
    let mut answered = 0u64;
    // It waits in `accept` itself: a `poll` before it would be part of every exchange. A client
    // that leaves without asking for the count ends this process.
    let Socket::Listener(listener) = &session.socket else { return Err(io::ErrorKind::InvalidInput.into()) };
    loop {
        let (connection, from) = listener.accept()?;
        if !session.is_client(from.ip()) {
            continue;
        }
        let mut byte = [0];
        read_full(connection.as_fd(), &mut byte)?;
        if byte[0] == COUNT {
            return send_numbers(&connection, [answered]);
        }
        write_full(connection.as_fd(), &byte)?;
        answered += 1;
        // The end of the client's half.
        if byte[0] == ORDERLY && read(connection.as_fd(), &mut byte)? != 0 {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
}

/// The local address of a connection over the loopback, by its number: one of 127.1.0.0/16.
pub(super) fn local(made: u32) -> IpAddr {
    let [.., third, fourth] = (made / PER_ADDRESS).to_be_bytes();
    Ipv4Addr::new(127, 1, third, fourth).into()
}

/// Why a connection failed.
fn no_port(e: &io::Error) -> BenchError {
    if e.kind() == io::ErrorKind::AddrNotAvailable {
        let why = "all ports of this address are in use or in TIME_WAIT: close=reset leaves none, and \
                   net.ipv4.ip_local_port_range sets how many there are";
        return BenchError::Unsupported(why.to_owned());
    }
    BenchError::from_io("connecting", e)
}

fn run(ctx: &mut Ctx) -> Outcome {
    measure(ctx, &SERVICE)
}

fn measure(ctx: &mut Ctx, service: &'static Service) -> Outcome {
    let reset = ctx.word("close") == "reset";
    let peer = Peer::start_by(ctx, service, Family::of_word(ctx.word("family")))?;
    let address = peer.address();
    let request = [if reset { RESET } else { ORDERLY }];
    let rotates = !reset && !peer.is_remote() && address.is_ipv4();
    let (mut made, mut established, mut ended, mut retransmits) = (0u32, 0u32, 0u32, 0);
    ctx.measure_staged(|iters, watch| {
        for _ in 0..iters {
            let mut answer = [0];
            watch.start();
            let socket = socket::tcp(address).context("making a socket")?;
            if reset {
                net::reset_on_close(socket.as_fd()).context("setting SO_LINGER")?;
            }
            if rotates {
                socket::bind_address(socket.as_fd(), local(made)).context("choosing an address")?;
            }
            socket::connect(socket.as_fd(), &address).map_err(|e| no_port(&e))?;
            write_full(socket.as_fd(), &request).context("writing to the socket")?;
            read_full(socket.as_fd(), &mut answer).context("reading from the socket")?;
            watch.stop();
            let tcp = net::connection(socket.as_fd()).context("asking for TCP_INFO")?;
            retransmits += tcp.retransmits;
            established += u32::from(tcp.established && answer == request);
            made += 1;
            watch.start();
            if !reset {
                shutdown(socket.as_fd()).context("ending this half")?;
                ended += u32::from(read(socket.as_fd(), &mut answer).context("waiting for the peer's end")? == 0);
            }
            drop(socket);
            watch.stop();
        }
        Ok(())
    })?;
    let last = TcpStream::connect(address).context("connecting for the last time")?;
    write_full(last.as_fd(), &[COUNT]).context("asking for the count")?;
    let [answered] = receive_numbers(&last).context("reading the count")?;
    net::reset_on_close(last.as_fd()).context("setting SO_LINGER")?;
    drop(last);
    let far = peer.is_remote();
    if let Some(peer) = peer.end()? {
        proofs::peer_ended_well(ctx, &peer);
    }
    let asked = ctx.iterations() as f64;
    ctx.prove("connections established and answered per exchange", "1", f64::from(established) / asked, 1.0..=1.0);
    if !reset {
        ctx.prove("ends of the peer that were seen per exchange", "1", f64::from(ended) / asked, 1.0..=1.0);
    }
    ctx.prove("requests that the peer counted per exchange", "1", answered as f64 / asked, 1.0..=1.0);
    if far {
        ctx.fact("segments.again", retransmits);
    } else {
        ctx.prove("segments that TCP sent again, handshakes included", "0", retransmits as f64, 0.0..=0.0);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_failing;

    /// Answers each request with another byte.
    fn serve_wrong(session: Session) -> io::Result<()> {
        let mut answered = 0u64;
        while let Some(connection) = session.accept()? {
            let mut byte = [0];
            read_full(connection.as_fd(), &mut byte)?;
            if byte[0] == COUNT {
                return send_numbers(&connection, [answered]);
            }
            write_full(connection.as_fd(), &[byte[0] + 1])?;
            answered += 1;
        }
        Ok(())
    }

    static WRONG: Service = Service { name: "net.test", transport: Transport::Tcp, serve: serve_wrong };
    static FROM_WRONG: Benchmark = Benchmark { info: BENCH.info, run: Run::Here(|ctx| measure(ctx, &WRONG)) };

    #[test]
    fn an_answer_to_something_else_does_not_count() {
        let tried = try_failing(&FROM_WRONG, &[], None).expect("loopback");
        assert_eq!(tried.proof("connections established and answered per exchange").seen, 0.0);
        assert_eq!(tried.proof("requests that the peer counted per exchange").seen, 1.0);
    }

    #[test]
    fn no_address_has_more_connections_than_ports() {
        for (made, address) in [(0, "127.1.0.0"), (4095, "127.1.0.0"), (4096, "127.1.0.1"), (4096 * 257, "127.1.1.1")] {
            assert_eq!(local(made).to_string(), address);
        }
        let none = no_port(&io::ErrorKind::AddrNotAvailable.into());
        assert!(matches!(none, BenchError::Unsupported(_)), "{none}");
    }
}
