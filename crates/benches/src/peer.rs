//! The peer of a network benchmark.
//!
//! It is a helper process on this machine, or a service of `groma serve` on another. The benchmark
//! cannot tell: it connects to [`Peer::address`], measures, and ends the peer. What both sides have
//! to agree on (a size, an option) first goes over their own connection, since they share no
//! memory. See docs/methods/operating-system.md#peers.

pub(crate) use groma_harness::remote::{Limits, Service, Session, Socket, Transport};

use groma_harness::prelude::*;
use groma_harness::remote::Control;
use groma_harness::sys::fork::Child;
use groma_harness::sys::io::{pipe, read_full, write_full};
use groma_harness::sys::process::Exit;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, OwnedFd};

/// A running peer. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Peer {
    address: SocketAddr,
    side: Side,
}

#[derive(Debug)]
enum Side {
    /// A forked helper process, which exits when there is something to read from the pipe `hold`,
    /// or its end.
    Here { child: Child, hold: OwnedFd },
    /// A service on another machine, which ends with its connection.
    There(Control),
}

/// The address family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    V4,
    V6,
}

impl Family {
    /// The family that the value of a parameter names: `v4` or `v6`.
    pub(crate) fn of_word(word: &str) -> Family {
        if word == "v6" { Family::V6 } else { Family::V4 }
    }

    /// A loopback address whose port the kernel chooses.
    pub(crate) fn loopback(self) -> SocketAddr {
        let ip: IpAddr = match self {
            Family::V4 => Ipv4Addr::LOCALHOST.into(),
            Family::V6 => Ipv6Addr::LOCALHOST.into(),
        };
        SocketAddr::new(ip, 0)
    }
}

impl Peer {
    /// Starts the service: on this machine, on the CPU of the placement, or on `--host`.
    pub(crate) fn start(ctx: &Ctx, service: &'static Service) -> Result<Peer, BenchError> {
        Peer::start_by(ctx, service, Family::V4)
    }

    /// As [`Peer::start`], with an address of this family; `Unsupported` where that of `--host` is
    /// of another.
    pub(crate) fn start_by(ctx: &Ctx, service: &'static Service, family: Family) -> Result<Peer, BenchError> {
        Peer::start_within(ctx, service, family, Limits::default())
    }

    /// As [`Peer::start_by`], with limits on what the service will send or accept.
    pub(crate) fn start_within(
        ctx: &Ctx,
        service: &'static Service,
        family: Family,
        limits: Limits,
    ) -> Result<Peer, BenchError> {
        if let Some(remote) = ctx.remote() {
            if remote.address.is_ipv6() != (family == Family::V6) {
                let named = if remote.address.is_ipv6() { "an IPv6" } else { "an IPv4" };
                return Err(BenchError::Unsupported(format!("--host names {named} address")));
            }
            let mut control = Control::open(remote).map_err(BenchError::Failed)?;
            let address = control.start(service.name, limits).map_err(BenchError::Failed)?;
            return Ok(Peer { address, side: Side::There(control) });
        }
        let socket = Socket::bind(service.transport, family.loopback()).context("binding on the loopback")?;
        let address = socket.address().context("asking for the port")?;
        let (hold, held) = pipe().context("making a pipe")?;
        let child =
            ctx.fork_peer(&[held.as_fd()], || match (service.serve)(Session { socket, hold, client: None, limits }) {
                Ok(()) => 0,
                Err(e) => {
                    eprintln!("{}: the peer: {e}", service.name);
                    1
                }
            })?;
        Ok(Peer { address, side: Side::Here { child, hold: held } })
    }

    /// The address to connect or send to.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether it is on another machine, where packets may be lost and this kernel counts nothing.
    pub(crate) fn is_remote(&self) -> bool {
        matches!(self.side, Side::There(_))
    }

    /// Ends the peer and waits for it. Returns the exit of a peer on this machine; the failure of a
    /// service on another machine is an error.
    pub(crate) fn end(self) -> Result<Option<Exit>, BenchError> {
        match self.side {
            Side::Here { child, hold } => {
                // Its end would do, were it not for copies in children that others have forked,
                // each of which may wait for the end of the other. One that is gone tells so by its
                // exit.
                let _ = write_full(hold.as_fd(), &[0]);
                child.wait().map(Some).context("waiting for the peer")
            }
            Side::There(control) => control.end().map(|()| None).map_err(BenchError::Failed),
        }
    }
}

/// Sends numbers to the peer; [`receive_numbers`] receives them.
pub(crate) fn send_numbers<const N: usize>(connection: &TcpStream, numbers: [u64; N]) -> io::Result<()> {
    // One write: with Nagle's algorithm a second would wait for the acknowledgement of the first.
    write_full(connection.as_fd(), numbers.map(u64::to_be_bytes).as_flattened())
}

/// Receives the numbers that [`send_numbers`] sent at the other end.
pub(crate) fn receive_numbers<const N: usize>(connection: &TcpStream) -> io::Result<[u64; N]> {
    let mut numbers = [[0; 8]; N];
    read_full(connection.as_fd(), numbers.as_flattened_mut())?;
    Ok(numbers.map(u64::from_be_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proofs::testing::in_a_worker;
    use crate::scratch::testing::Place;
    use groma_harness::model::Placement;
    use groma_harness::sys::affinity;
    use groma_harness::testing::{try_out, try_placed};

    static COUNTER: Service = Service { name: "net.test", transport: Transport::Tcp, serve: count };

    /// Doubles the number that each connection brings, until the peer is ended.
    fn count(session: Session) -> io::Result<()> {
        while let Some(connection) = session.accept()? {
            let [number] = receive_numbers(&connection)?;
            send_numbers(&connection, [2 * number])?;
        }
        Ok(())
    }

    static BENCH: Benchmark =
        Benchmark { info: Info { timing: Timing::Stated, ..Info::new("net.test") }, run: Run::Here(run) };

    fn run(ctx: &mut Ctx) -> Outcome {
        let peer = Peer::start(ctx, &COUNTER)?;
        assert!(!peer.is_remote() && peer.address().ip().is_loopback());
        for number in [1, 7] {
            let connection = TcpStream::connect(peer.address()).context("connecting")?;
            send_numbers(&connection, [number]).context("asking")?;
            assert_eq!(receive_numbers(&connection).context("receiving")?, [2 * number]);
        }
        let address = peer.address();
        let exit = peer.end()?.expect("it was on this machine");
        assert_eq!(exit.code(), Some(0));
        assert_eq!(after_the_end(ctx, address).kind(), io::ErrorKind::ConnectionRefused);

        // Whatever stops a benchmark, its peer ends with it.
        let address = Peer::start(ctx, &COUNTER)?.address();
        after_the_end(ctx, address);
        ctx.state(1.0);
        Ok(())
    }

    /// The error of connecting to a peer that has ended. The listener lives until its last copy is
    /// closed, and children that other tests fork hold copies until they execute a program. What
    /// is closed while a connection is made to it resets that one and refuses the next.
    fn after_the_end(ctx: &Ctx, address: SocketAddr) -> io::Error {
        let end = ctx.now_ns() + 10_000_000_000;
        loop {
            match TcpStream::connect(address) {
                Err(error) if error.kind() != io::ErrorKind::ConnectionReset => return error,
                _ => assert!(ctx.now_ns() < end, "the listener is still there"),
            }
        }
    }

    #[test]
    fn a_peer_serves_until_it_is_ended() {
        try_out(&BENCH, &[], None).expect("loopback");
    }

    /// Each benchmark between two CPUs, once with usual values. A peer that stayed on this side's
    /// CPU would measure switches in place of wake-ups.
    #[test]
    fn the_peer_is_on_the_second_cpu_of_the_placement() {
        const UNSUPPORTED: i32 = 2;
        let cpus = affinity::allowed().expect("an affinity");
        let [here, there, ..] = cpus[..] else { return println!("skipped: one CPU") };
        let two_sided = crate::all().into_iter().filter(|bench| bench.info.placements.contains(&Placement::SameLlc));
        let mut seen = 0;
        for bench in two_sided {
            let place = Place::new();
            // In this process a round would take the end of another test's child for its peer's.
            let ended =
                in_a_worker(|| match try_placed(bench, &[], Some(place.path()), Placement::SameLlc, &[here, there]) {
                    Ok(tried) => i32::from(tried.proven("times the peer was seen on another CPU") != 0.0),
                    Err(BenchError::Unsupported(_)) => UNSUPPORTED,
                    Err(_) => 1,
                });
            assert!(matches!(ended, Some(0 | UNSUPPORTED)), "{}: {ended:?}", bench.info.id);
            seen += usize::from(ended == Some(0));
        }
        assert!(seen > 20, "{seen}");
    }
}
