//! Round trip of one datagram between two processes over UDP.
//!
//! **Measures:** The whole round trip, on the loopback or with `--host` to another machine: a send
//! and a receive on each side, the protocol in between, and two wake-ups.
//!
//! **Does not measure:** Fragmentation on a wire: IP fragments whatever is longer than the path's
//! MTU.
//!
//! **Method:** As in `net.tcp_rtt`, each round trip is timed alone. Each datagram carries its
//! number in its first four bytes, and only an answer with the same number and length ends the
//! trip. If no answer comes for 50 to 100 ms, the datagram is sent again with the same number. A
//! signal every 50 ms tells the time on both sides; a time-out of the socket would arm and cancel a
//! timer in every trip. This side counts what was sent and answered and waits at the end for late
//! answers, so a datagram counts as lost only when it is. A trip with a repetition stays among the
//! samples and shows in the tail. Both sockets are connected, so no other program's datagrams are
//! received.
//!
//! **Calls:**
//! - once: `it_value={tv_sec=0, tv_nsec=50000000}`
//!
//! **Proofs:** On the loopback hardly anything is lost, since only one datagram is ever in flight,
//! unless it was sent repeatedly while the peer waited for its CPU. Between machines losses are
//! facts.
//!
//! **Pitfalls:**
//! - A lost datagram hangs the benchmark: lmbench `lat_udp` waits for an alarm after 15 s per
//!   interval.
//! - Sizes that no datagram has: its `-m` takes 10 MiB, UDP 65,507 bytes.
//! - A time-out on each receive, which costs a timer per trip on each side.
//! - A fixed port in the range of ephemeral ports.
//!
//! **Sources:** lmbench 1996 tables 13 and 14; lmbench3 `lat_udp`. See
//! docs/methods/operating-system.md#udp.

use super::tcp_rtt::AGAIN_WHEN_BUSY;
use super::{FAMILY, PLACEMENTS, within};
use crate::peer::{Family, Limits, Peer, Service, Session, Transport};
use crate::proofs;
use crate::work::Done;
use crate::work::FIRST_TRIPS;
use groma_harness::prelude::*;
use groma_harness::sys::counters::Usage;
use groma_harness::sys::ticks::Ticks;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Round trip of a datagram between two processes over UDP",
        about: about!("udp_rtt.rs"),
        iteration: "one round trip: a send and a receive on each side",
        timing: Timing::Each,
        outputs: &[Output::MAIN, FIRST_TRIPS],
        params: &[
            Param::size("size", "bytes in the datagram, 4 to 65507").quick(&["4"]).full(&["64", "1K", "16K", "60K"]),
            FAMILY,
        ],
        scaling: Scaling::processes("each copy forks its other side, which a process with threads must not"),
        placements: PLACEMENTS,
        needs: &[Need::Loopback],
        interference: Interference::Blocking,
        target_half_width: 0.02,
        // 2: no time-out of the socket in the trip.
        version: 2,
        ..Info::new("net.udp_rtt")
    },
    run: Run::Here(run),
};

/// Bytes of the number that a datagram begins with.
const NUMBER: usize = 4;
/// The most bytes that a UDP datagram carries over IPv4.
const LONGEST_DATAGRAM: usize = 65_507;
/// A datagram without an answer is sent again at the second tick
/// (docs/methods/operating-system.md#udp).
const TICK: Duration = Duration::from_millis(50);
const LAST_TICK: u32 = 2;
/// After this many repetitions in a row the peer counts as gone.
const MAX_REPETITIONS: u32 = 100;

/// The peer.
pub(super) static SERVICE: Service = Service { name: "net.udp_rtt", transport: Transport::Udp, serve };

/// Echoes each datagram, so a forged source address never receives more than was sent in its name.
fn serve(session: Session) -> io::Result<()> {
    // One byte more than agreed upon detects a longer datagram.
    let size = within(session.limits.size.into(), LONGEST_DATAGRAM as u64)?;
    let mut buffer = vec![0; size + 1];
    let Some((len, from)) = session.receive(&mut buffer)? else { return Ok(()) };
    let socket = session.udp()?;
    socket.connect(from)?;
    let _ticks = Ticks::every(TICK)?;
    let mut got = Some(len);
    loop {
        match got {
            Some(0) => return Ok(()),
            Some(len) if len > size => {}
            Some(len) => {
                socket.send(&buffer[..len])?;
            }
            None if session.is_over() => return Ok(()),
            None => {}
        }
        got = receive(socket, &mut buffer)?;
    }
}

/// The length of the next datagram; `None` at a tick.
fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    match socket.recv(buffer) {
        Ok(n) => Ok(Some(n)),
        Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(None),
        Err(e) => Err(e),
    }
}

/// A socket of the address's family, connected to it.
pub(super) fn connect_socket(to: SocketAddr) -> Result<UdpSocket, BenchError> {
    let any: SocketAddr =
        if to.is_ipv4() { (Ipv4Addr::UNSPECIFIED, 0).into() } else { (Ipv6Addr::UNSPECIFIED, 0).into() };
    let socket = UdpSocket::bind(any).context("making a UDP socket")?;
    socket.connect(to).context("connecting a UDP socket")?;
    Ok(socket)
}

fn run(ctx: &mut Ctx) -> Outcome {
    measure(ctx, &SERVICE)
}

fn measure(ctx: &mut Ctx, service: &'static Service) -> Outcome {
    let size = ctx.int("size") as usize;
    if !(NUMBER..=LONGEST_DATAGRAM).contains(&size) {
        return Err(BenchError::Unsupported(format!("a datagram has {NUMBER} to {LONGEST_DATAGRAM} bytes here")));
    }
    let limits = Limits { size: size as u32, count: 1 };
    let peer = Peer::start_within(ctx, service, Family::of_word(ctx.word("family")), limits)?;
    let socket = connect_socket(peer.address())?;
    let mut message = vec![1u8; size];
    let mut answer = vec![0; LONGEST_DATAGRAM];
    let (mut sent, mut received, mut late) = (0u64, 0u64, 0u64);
    let mut trip = 0u32;
    let done = Done::new();
    let ticks = Ticks::every(TICK).context("making a timer")?;
    let before = Usage::thread();
    ctx.measure(|iters| {
        for _ in 0..iters {
            trip = trip.wrapping_add(1);
            message[..NUMBER].copy_from_slice(&trip.to_be_bytes());
            for time in 0.. {
                socket.send(&message).context("sending a datagram")?;
                sent += 1;
                late += u64::from(time > 0);
                let mut ticked = 0;
                let answered = loop {
                    let Some(n) = receive(&socket, &mut answer).context("receiving a datagram")? else {
                        ticked += 1;
                        if ticked == LAST_TICK {
                            break false;
                        }
                        continue;
                    };
                    received += 1;
                    if n == size && answer[..NUMBER] == message[..NUMBER] {
                        break true;
                    }
                };
                if answered {
                    done.add(1);
                    break;
                }
                if time == MAX_REPETITIONS {
                    return Err(BenchError::Failed("the peer does not answer".to_owned()));
                }
            }
        }
        Ok(())
    })?;
    // A datagram that was sent twice may be answered twice.
    for _ in 0..MAX_REPETITIONS {
        if received >= sent {
            break;
        }
        received += u64::from(receive(&socket, &mut answer).context("receiving a datagram")?.is_some());
    }
    drop(ticks);
    // An empty datagram ends the peer, which would otherwise notice only at the next tick.
    socket.send(&[]).context("sending a datagram")?;
    let far = peer.is_remote();
    if let Some(peer) = peer.end()? {
        proofs::peer_ended_well(ctx, &peer);
        proofs::switches_on_one_cpu(ctx, &before, &peer);
    }
    let lost = sent as f64 - received as f64;
    if far {
        ctx.fact("datagrams.lost", lost);
    } else {
        // A repetition can find the buffer full while the peer does not run.
        let most = sent as f64 * AGAIN_WHEN_BUSY;
        ctx.prove("datagrams lost", "0, or below 1 % when busy", lost, 0.0..=most);
    }
    let trips = ctx.iterations() as f64;
    done.prove(ctx, "round trips answered per round trip credited");
    ctx.prove("answers per round trip", "1 or more", received as f64 / trips, 1.0..);
    if late > 0 {
        ctx.note(format!("{late} of {trips} datagrams had no answer for 50 ms and more and were sent again"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::Socket;

    use groma_harness::sys::io::pipe;
    use groma_harness::sys::thread::spawn;
    use groma_harness::testing::{try_failing, try_out};

    /// Leaves the first datagram without an answer, and has two wrong ones before the right one for
    /// each of the others: one with another number, and one that is too short.
    fn serve_wrong(session: Session) -> io::Result<()> {
        let mut buffer = vec![0; LONGEST_DATAGRAM];
        let Some((_, from)) = session.receive(&mut buffer)? else { return Ok(()) };
        let socket = session.udp()?;
        socket.connect(from)?;
        loop {
            let length = socket.recv(&mut buffer)?;
            let right = &buffer[..length];
            let Some(short) = right.split_last().map(|(_, short)| short) else { return Ok(()) };
            let mut other = right.to_vec();
            other[NUMBER - 1] ^= 1;
            for answer in [&other[..], short, right] {
                socket.send(answer)?;
            }
        }
    }

    static WRONG: Service = Service { name: "net.test", transport: Transport::Udp, serve: serve_wrong };
    static FROM_WRONG: Benchmark = Benchmark { info: BENCH.info, run: Run::Here(|ctx| measure(ctx, &WRONG)) };

    #[test]
    fn only_the_answer_to_its_own_datagram_ends_a_trip() {
        // More answers than datagrams break a proof, as they should.
        let tried = try_failing(&FROM_WRONG, &[("size", "64")], None).expect("loopback");
        let answers = tried.proof("answers per round trip").seen;
        assert!(answers > 2.9, "{answers} answers were read in each trip");
        assert!(tried.has_remark("were sent again"), "{:?}", tried.result.output.remarks);
    }

    #[test]
    fn what_is_longer_than_agreed_upon_is_not_answered() {
        let socket = Socket::bind(Transport::Udp, Family::V4.loopback()).expect("loopback");
        let client = connect_socket(socket.address().expect("bound")).expect("loopback");
        client.set_read_timeout(Some(Duration::from_secs(60))).expect("a time-out");
        let (hold, held) = pipe().expect("pipe");
        let limits = Limits { size: 64, count: 1 };
        let serving =
            spawn(256 << 10, move || serve(Session { socket, hold, client: None, limits })).expect("a thread");
        let mut buffer = vec![0; LONGEST_DATAGRAM];
        // Datagrams are received in order, so the first answer belongs to the first that is
        // answered.
        for (number, len) in [(1, 65), (2, LONGEST_DATAGRAM), (3, 64), (4, 65), (5, 4)] {
            client.send(&vec![number; len]).expect("loopback");
        }
        for (number, len) in [(3, 64), (5, 4)] {
            let got = std::iter::repeat_with(|| receive(&client, &mut buffer).expect("loopback")).find_map(|n| n);
            assert_eq!(got, Some(len));
            assert_eq!(buffer[..len], vec![number; len]);
        }
        drop(held);
        serving.join().expect("no panic").expect("it ended well");
    }

    #[test]
    fn what_is_no_datagram_is_refused() {
        for size in ["3", "65508", "10M"] {
            assert!(matches!(try_out(&BENCH, &[("size", size)], None), Err(BenchError::Unsupported(_))), "{size}");
        }
    }
}
