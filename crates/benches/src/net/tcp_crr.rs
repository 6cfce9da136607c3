//! A whole TCP exchange on its own connection: connect, one byte there, one byte back, close.
//!
//! **Measures:** What a client of a server without persistent connections waits for, on the
//! loopback or with `--host` to another machine: socket, handshake, a round trip with two wake-ups,
//! and the client's close. The server's close may come before or after it.
//!
//! **Method:** Each exchange is timed alone. With the watch stopped in between, the state of the
//! connection is read from TCP_INFO. The server waits in `accept`, one connection at a time, and
//! the next exchange follows when the last was answered, so its queue never holds more than one.
//! With `close=reset`, the default, the client closes by a reset (SO_LINGER 0), and no port stays
//! in TIME_WAIT. `close=orderly` closes as programs do, and leaves each connection in TIME_WAIT for
//! 60 s, even after its server is gone. At the end the server reports how many bytes it has
//! answered.
//!
//! **Proofs:** One established connection for each exchange, as many answers as exchanges, and no
//! segment sent again on the loopback.
//!
//! **Pitfalls:**
//! - Those of `net.tcp_connect`.
//! - Ports can run out in TIME_WAIT.
//! - Nagle's algorithm does not affect the first byte.
//!
//! **Sources:** netperf's `TCP_CRR`; the operating-system parts of lmbench3 `lat_connect` and
//! `lat_http`. See docs/methods/operating-system.md#tcp-connections.

use super::{FAMILY, PLACEMENTS};
use crate::peer::{Family, Peer, Service, Session, Socket, Transport, hear, say};
use crate::proofs;
use groma_harness::prelude::*;
use groma_harness::sys::io::{read_full, write_full};
use groma_harness::sys::{net, socket};
use std::io;
use std::net::TcpStream;
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
        lineage: &["netperf:TCP_CRR"],
        interference: Interference::Blocking,
        target_half_width: 0.02,
        ..Info::new("net.tcp_crr")
    },
    run: Run::Here(run),
};

/// An ordinary request, and the request for the number of requests so far.
const REQUEST: u8 = 1;
const COUNT: u8 = 0;

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
            return say(&connection, [answered]);
        }
        write_full(connection.as_fd(), &byte)?;
        answered += 1;
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let reset = ctx.word("close") == "reset";
    let peer = Peer::start_by(ctx, &SERVICE, Family::of_word(ctx.word("family")))?;
    let address = peer.address();
    let (mut established, mut retransmits) = (0u32, 0);
    ctx.measure_staged(|iters, watch| {
        for _ in 0..iters {
            let mut answer = [0];
            watch.start();
            let socket = socket::tcp(address).context("making a socket")?;
            if reset {
                net::reset_on_close(socket.as_fd()).context("setting SO_LINGER")?;
            }
            socket::connect(socket.as_fd(), &address).context("connecting")?;
            write_full(socket.as_fd(), &[REQUEST]).context("writing to the socket")?;
            read_full(socket.as_fd(), &mut answer).context("reading from the socket")?;
            watch.stop();
            let tcp = net::connection(socket.as_fd()).context("asking for TCP_INFO")?;
            retransmits += tcp.retransmits;
            established += u32::from(tcp.established && answer == [REQUEST]);
            watch.start();
            drop(socket);
            watch.stop();
        }
        Ok(())
    })?;
    let last = TcpStream::connect(address).context("connecting for the last time")?;
    write_full(last.as_fd(), &[COUNT]).context("asking for the count")?;
    let [answered] = hear(&last).context("reading the count")?;
    net::reset_on_close(last.as_fd()).context("setting SO_LINGER")?;
    drop(last);
    let far = peer.is_remote();
    if let Some(peer) = peer.end()? {
        proofs::peer_ended_well(ctx, &peer);
    }
    let asked = ctx.iterations() as f64;
    ctx.prove("connections established and answered per exchange", "1", f64::from(established) / asked, 1.0..=1.0);
    ctx.prove("requests that the peer counted per exchange", "1", answered as f64 / asked, 1.0..=1.0);
    if far {
        ctx.fact("segments.again", retransmits);
    } else {
        ctx.prove("segments that TCP sent again, handshakes included", "0", retransmits as f64, 0.0..=0.0);
    }
    Ok(())
}
