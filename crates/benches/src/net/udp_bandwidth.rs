//! Bytes per second that arrive of a stream of datagrams, and the share that is lost.
//!
//! **Measures:** What a receiver gets of datagrams that are sent as fast as the sender can, on the
//! loopback or with `--host` from another machine.
//!
//! **Does not measure:** A rate without loss: UDP has no flow control, and what the receiver's
//! buffer cannot hold is dropped.
//!
//! **Method:** This side requests a batch of 1 MiB (at most 1024 datagrams) and receives until the
//! sender reports that it has sent all. A batch counts from the request to its last datagram, so
//! nothing is credited as received faster than it was sent. Each batch gives one value. The loss is
//! that of all datagrams of all rounds: the median of the batches is 0 as long as fewer than half
//! of them lose any. Each datagram is filled with its batch and number, and is compared.
//!
//! The sender repeats its end-of-batch message, with the number of datagrams that it has sent up to
//! then, every 2 ms until the next batch is requested, for at
//! most a second. Size and number of datagrams are agreed upon beforehand, over the connection that
//! proved the token, and the sender sends no more than that at once. A batch that is not answered
//! within a second is requested again.
//!
//! **Proofs:** What arrives is what was sent, in order on the loopback. There every datagram that
//! the sender has sent was received or is among those that the kernel dropped at this socket; from
//! another machine at most as many arrive as were sent.
//!
//! **Pitfalls:**
//! - What is sent is taken for what arrives.
//! - On one CPU the sender fills the buffer before the receiver can run, and most is lost. That is
//!   how UDP behaves there.
//! - lmbench's `bw_udp` was never built.
//!
//! **Sources:** lmbench3 `bw_udp` (as intended); iperf's datagram mode. See
//! docs/methods/operating-system.md#udp.

use super::udp_rtt::connect_socket;
use super::{FAMILY, PLACEMENTS, within};
use crate::payload::{fill, holds};
use crate::peer::{Family, Limits, Peer, Service, Session, Transport};
use crate::proofs;
use groma_harness::prelude::*;
use groma_harness::sys::{net, socket};
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::time::Duration;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Bandwidth of datagrams that arrive of a stream over UDP",
        about: about!("udp_bandwidth.rs"),
        quantity: Quantity::Bandwidth,
        iteration: "a batch of 1 MiB, or 1024 datagrams, that is sent; what arrives of it counts",
        timing: Timing::Stated,
        outputs: &[
            Output::MAIN,
            Output::named("loss", "Share of the datagrams of all rounds that do not arrive")
                .totals("lost", "sent")
                .quantity(Quantity::Ratio)
                .detail(),
        ],
        params: &[
            Param::size("size", "bytes in the datagram, 8 to 65507; 1472 fill a frame of Ethernet")
                .quick(&["1472"])
                .full(&["64", "8K", "60K"]),
            FAMILY,
        ],
        scaling: Scaling::alone("its values are stated, not timed together with those of others"),
        placements: PLACEMENTS,
        needs: &[Need::Loopback],
        interference: Interference::Blocking,
        target_half_width: 0.05,
        tier: Tier::Standard,
        // 2: the loss is that of all datagrams, not of the median batch.
        version: 2,
        ..Info::new("net.udp_bandwidth")
    },
    run: Run::Here(run),
};

/// Bytes in a batch, and datagrams at most.
const BATCH: usize = 1 << 20;
const MAX_DATAGRAMS: usize = 1024;
/// The datagram number that reports the end of a batch, and the bytes of that report: this number,
/// and how many datagrams were sent before.
const LAST: u32 = u32::MAX;
const REPORT: usize = 16;
/// The share of datagrams on the loopback that may be neither received nor among the drops of this
/// socket: the kernel's own queue can overflow on a busy CPU.
const ELSEWHERE: f64 = 0.01;
const SHORTEST_DATAGRAM: usize = 8;
const LONGEST_DATAGRAM: usize = 65_507;
/// The least number of batches, whatever time they need.
const MIN_BATCHES: u32 = 3;
/// A receive times out after this time.
const PATIENCE: Duration = Duration::from_millis(50);
/// Receives that time out before a batch is requested again, and before the peer is
/// given up.
const ANEW: u32 = 20;
const MAX_SILENT_RECEIVES: u32 = 160;
const ANEW_NS: u64 = 1_000_000_000;

/// How often the end of a batch is reported: for a second, after which a client repeats its
/// request.
const MAX_LAST_WORDS: u32 = 500;

/// The peer.
pub(super) static SERVICE: Service = Service { name: "net.udp_bandwidth", transport: Transport::Udp, serve };

/// A request is the number of a batch, and the only input from the network. Size and number of
/// datagrams were agreed upon over the connection that proved the token.
fn serve(session: Session) -> io::Result<()> {
    let Limits { size, count } = session.limits;
    let size = within(size.into(), LONGEST_DATAGRAM as u64)?;
    if count as usize > MAX_DATAGRAMS || count as usize * size > BATCH {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut request = [0; size_of::<u32>()];
    let Some((mut len, from)) = session.receive(&mut request)? else { return Ok(()) };
    let socket = session.udp()?;
    socket.connect(from)?;
    socket.set_read_timeout(Some(Duration::from_millis(2)))?;
    let mut datagram = vec![0; size];
    let mut total = 0u64;
    while !session.is_over() {
        if len != request.len() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let batch = u32::from_be_bytes(request);
        for index in 0..count {
            fill(&mut datagram, number(batch, index));
            match count_sent(socket.send(&datagram))? {
                Some(n) => total += n,
                None => return Ok(()),
            }
        }
        let mut words = 0;
        len = loop {
            if session.is_over() {
                return Ok(());
            }
            if words < MAX_LAST_WORDS {
                words += 1;
                let report = [number(batch, LAST).to_le_bytes(), total.to_le_bytes()];
                match count_sent(socket.send(report.as_flattened()))? {
                    Some(n) => total += n,
                    None => return Ok(()),
                }
            }
            match receive(socket, &mut request) {
                Ok(Some(n)) => break n,
                Ok(None) => {}
                Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => return Ok(()),
                Err(e) => return Err(e),
            }
        };
    }
    Ok(())
}

/// The length of the next datagram; `None` when none comes in time.
fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    loop {
        return match socket.recv(buffer) {
            Ok(n) => Ok(Some(n)),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => Ok(None),
            // A receive with a time-out is not restarted after a signal, even with SA_RESTART
            // (signal(7)).
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => Err(e),
        };
    }
}

/// How many datagrams were sent: 1, or 0 where there is no buffer space; such a one counts as lost.
/// `None` when there is no receiver any more.
fn count_sent(result: io::Result<usize>) -> io::Result<Option<u64>> {
    match result {
        Ok(_) => Ok(Some(1)),
        Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => Ok(None),
        Err(e) if e.kind() == io::ErrorKind::OutOfMemory || socket::is_queue_full(&e) => Ok(Some(0)),
        Err(e) => Err(e),
    }
}

/// The number that fills every word of a datagram.
fn number(batch: u32, index: u32) -> u64 {
    u64::from(batch) << 32 | u64::from(index)
}

/// Whether a datagram that begins with this word is not as it was sent.
fn is_changed(datagram: &[u8], size: usize, word: u64) -> bool {
    datagram.len() != size || !holds(datagram, word)
}

/// What arrived of a batch, and the time from its request to the last datagram that arrived.
struct Seen {
    arrived: u32,
    ns: u64,
}

impl Seen {
    /// Bytes per second that arrived; lost datagrams do not count.
    fn rate(&self, size: usize) -> f64 {
        f64::from(self.arrived) * size as f64 / (self.ns as f64 * 1e-9)
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    measure(ctx, &SERVICE)
}

fn measure(ctx: &mut Ctx, service: &'static Service) -> Outcome {
    let size = ctx.int("size") as usize;
    if !(SHORTEST_DATAGRAM..=LONGEST_DATAGRAM).contains(&size) {
        return Err(BenchError::Unsupported(format!(
            "a datagram has {SHORTEST_DATAGRAM} to {LONGEST_DATAGRAM} bytes here"
        )));
    }
    let count = (BATCH / size).min(MAX_DATAGRAMS) as u32;
    let limits = Limits { size: size as u32, count };
    let peer = Peer::start_within(ctx, service, Family::of_word(ctx.word("family")), limits)?;
    let socket = connect_socket(peer.address())?;
    socket.set_read_timeout(Some(PATIENCE)).context("setting a time-out")?;
    let mut buffer = vec![0; LONGEST_DATAGRAM];
    let (mut batch, mut batches, mut arrived, mut empty, mut disorder, mut changed) = (0u32, 0u32, 0u64, 0u32, 0, 0);
    // All datagrams that were read here, those that the kernel dropped instead, and all that were
    // sent there: at the end of a batch.
    let (mut read, mut both) = (0u64, (0, 0));
    let until = ctx.now_ns() + ctx.time_limit_ns();
    // The first batch is the warm-up.
    while batches <= MIN_BATCHES || ctx.now_ns() < until {
        batch += 1;
        let start = ctx.now_ns();
        socket.send(&batch.to_be_bytes()).context("asking for a batch")?;
        let (mut got, mut last, mut next, mut silence) = (0u32, start, 0, 0);
        let complete = loop {
            let Some(n) = receive(&socket, &mut buffer).context("receiving a datagram")? else {
                silence += 1;
                if silence == ANEW {
                    break false;
                }
                continue;
            };
            read += 1;
            let Some(word) = buffer[..n].first_chunk().map(|word| u64::from_le_bytes(*word)) else { continue };
            let (of, index) = ((word >> 32) as u32, word as u32);
            if of != batch {
                // The sender still reports the end of an earlier batch: this request may be lost.
                if got == 0 && ctx.now_ns() - start > ANEW_NS {
                    break false;
                }
                continue;
            }
            if index == LAST && n == REPORT {
                let before = buffer[size_of::<u64>()..REPORT].first_chunk().map_or(0, |n| u64::from_le_bytes(*n));
                // Without this report, which was read as well.
                both = (read - 1, before);
                break true;
            }
            changed += u32::from(is_changed(&buffer[..n], size, word));
            disorder += u32::from(index < next);
            next = index.saturating_add(1);
            got += 1;
            last = ctx.now_ns();
        };
        if !complete {
            empty += 1;
            if empty * ANEW > MAX_SILENT_RECEIVES {
                return Err(BenchError::Failed("the peer does not answer".to_owned()));
            }
            continue;
        }
        batches += 1;
        if batches == 1 {
            continue;
        }
        arrived += u64::from(got);
        let seen = Seen { arrived: got, ns: last - start };
        ctx.state_as("sent", f64::from(count));
        ctx.state_as("lost", f64::from(count) - f64::from(got));
        if got > 0 {
            ctx.state(seen.rate(size));
        }
    }
    let far = peer.is_remote();
    let dropped = net::dropped(socket.as_fd());
    drop(socket);
    if let Some(peer) = peer.end()? {
        proofs::peer_ended_well(ctx, &peer);
    }
    ctx.prove("datagrams that arrived changed", "0", f64::from(changed), 0.0..=0.0);
    prove_counts(ctx, both, dropped, far);
    prove_order(ctx, disorder, arrived, far);
    if empty > 0 {
        ctx.note(format!("{empty} batches were requested again"));
    }
    Ok(())
}

/// Proves that the datagrams read here, and those that the kernel dropped instead, are those that
/// the peer sent.
fn prove_counts(ctx: &mut Ctx, (read, sent): (u64, u64), dropped: io::Result<u32>, far: bool) {
    let (read, sent) = (read as f64, sent as f64);
    let name = "datagrams received or dropped here per datagram sent there";
    match dropped {
        Ok(dropped) if !far => {
            let seen = (read + f64::from(dropped)) / sent;
            ctx.prove(name, "1, or 0.99 and more when busy", seen, 1.0 - ELSEWHERE..=1.0);
        }
        // What is lost on the way, and by a kernel that does not count, is not known.
        _ => ctx.prove(name, "1 at most", read / sent, 0.0..=1.0),
    }
}

/// Proves that hardly any of the datagrams that arrived came behind a later one: `disorder` did.
fn prove_order(ctx: &mut Ctx, disorder: u32, arrived: u64, far: bool) {
    if far {
        ctx.fact("datagrams.out_of_order", disorder);
    } else {
        // A sender that moves to another CPU overtakes datagrams still queued on the first.
        let most = if ctx.peer_cpu().is_some() { 0.0 } else { arrived as f64 / 100.0 };
        ctx.prove("datagrams out of order", "0, or below 1 % where the sender moves", f64::from(disorder), 0.0..=most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::Socket;
    use groma_harness::sys::affinity;
    use groma_harness::sys::clock::{Clock, Monotonic};
    use groma_harness::sys::io::pipe;
    use groma_harness::sys::thread::spawn;
    use groma_harness::testing::{stating, try_failing, try_failing_at, try_out};

    /// Starts a service with these limits: its address, what keeps it alive, and its thread.
    fn serving(
        limits: Limits,
    ) -> (std::net::SocketAddr, std::os::fd::OwnedFd, std::thread::JoinHandle<io::Result<()>>) {
        let socket = Socket::bind(Transport::Udp, Family::V4.loopback()).expect("loopback");
        let to = socket.address().expect("bound");
        let (hold, held) = pipe().expect("pipe");
        let session = Session { socket, hold, client: None, limits };
        (to, held, spawn(256 << 10, move || serve(session)).expect("a thread"))
    }

    #[test]
    fn nothing_is_sent_beyond_what_was_agreed_upon() {
        let (to, held, service) = serving(Limits { size: 100, count: 3 });
        let client = connect_socket(to).expect("loopback");
        client.set_read_timeout(Some(Duration::from_secs(60))).expect("a time-out");
        let mut buffer = vec![0; LONGEST_DATAGRAM];
        for batch in [1u32, 2] {
            // A request in the old form of three numbers that asks for more still gets what was
            // agreed upon.
            let asked = [batch.to_be_bytes(), 1024u32.to_be_bytes(), 60_000u32.to_be_bytes()];
            client.send(asked.as_flattened()).expect("loopback");
            let mut lengths = Vec::new();
            loop {
                let n = receive(&client, &mut buffer).expect("loopback").expect("a datagram in time");
                let word = u64::from_le_bytes(*buffer.first_chunk().expect("a number"));
                if word == number(batch, LAST) {
                    break;
                }
                if word >> 32 == u64::from(batch) {
                    lengths.push(n);
                }
            }
            assert_eq!(lengths, [100; 3]);
        }
        drop((client, held));
        service.join().expect("no panic").expect("it ended well");
        for (size, count) in [(0, 1), (65_508, 1), (1472, 1025), (65_507, 17), (u32::MAX, u32::MAX)] {
            let (_, held, service) = serving(Limits { size, count });
            drop(held);
            let ended = service.join().expect("no panic").map_err(|e| e.kind());
            assert_eq!(ended, Err(io::ErrorKind::InvalidData), "{size} {count}");
        }
    }

    #[test]
    fn what_arrives_was_sent() {
        for size in ["1472", "8", "60K"] {
            let tried = try_out(&BENCH, &[("size", size)], None).expect("loopback");
            let values = |name| tried.result.series(name).map_or(&[][..], |s: &groma_harness::model::Series| &s.values);
            assert!(!values("").is_empty() && values("").iter().all(|v| *v > 0.0));
            assert!(values("sent").len() >= 3 && values("sent").len() == values("lost").len());
            assert!(values("lost").iter().zip(values("sent")).all(|(lost, sent)| (0.0..=*sent).contains(lost)));
            assert_eq!(tried.proven("datagrams that arrived changed"), 0.0);
            tried.proven("datagrams out of order");
            let both = tried.proven("datagrams received or dropped here per datagram sent there");
            assert!((1.0 - ELSEWHERE..=1.0).contains(&both), "{both}");
            assert_eq!(tried.proven("exit code of the peer"), 0.0);
        }
    }

    /// The loopback loses nothing, so only this test shows that lost datagrams do not count.
    #[test]
    fn what_is_lost_is_not_counted_as_moved() {
        let seen = Seen { arrived: 150, ns: 1_000_000 };
        assert_eq!(seen.rate(1000), 150e6);
    }

    /// Serves batches of which `send` sends what it likes: it is given the batch, how many
    /// datagrams are asked for, and what sends the one of a number.
    fn serve_so(
        session: Session,
        send: impl Fn(u32, u32, &mut dyn FnMut(u32) -> io::Result<()>) -> io::Result<()>,
    ) -> io::Result<()> {
        let Limits { size, count } = session.limits;
        let mut request = [0; size_of::<u32>()];
        let Some((_, from)) = session.receive(&mut request)? else { return Ok(()) };
        let socket = session.udp()?;
        socket.connect(from)?;
        socket.set_read_timeout(Some(Duration::from_millis(2)))?;
        let (mut datagram, mut total) = (vec![0; size as usize], 0u64);
        while !session.is_over() {
            let batch = u32::from_be_bytes(request);
            send(batch, count, &mut |index| {
                fill(&mut datagram, number(batch, index));
                total += count_sent(socket.send(&datagram))?.unwrap_or(0);
                Ok(())
            })?;
            while !session.is_over() {
                let report = [number(batch, LAST).to_le_bytes(), total.to_le_bytes()];
                total += count_sent(socket.send(report.as_flattened()))?.unwrap_or(0);
                match receive(socket, &mut request) {
                    Ok(None) => {}
                    Ok(Some(_)) => break,
                    // The client has gone.
                    Err(_) => return Ok(()),
                }
            }
        }
        Ok(())
    }

    /// Sends nothing of the first batch but its end, and all of the others.
    fn serve_late(session: Session) -> io::Result<()> {
        serve_so(session, |batch, count, send| (0..if batch == 1 { 0 } else { count }).try_for_each(send))
    }

    static LATE: Service = Service { name: "net.test", transport: Transport::Udp, serve: serve_late };
    static FROM_LATE: Benchmark = Benchmark { info: BENCH.info, run: Run::Here(|ctx| measure(ctx, &LATE)) };

    #[test]
    fn what_is_lost_of_the_batch_that_warms_up_does_not_count() {
        let tried = try_out(&FROM_LATE, &[("size", "8")], None).expect("loopback");
        let lost = &tried.result.series("lost").expect("stated").values;
        // Of the others at least as many arrive as the buffer holds.
        assert!(!lost.is_empty() && lost.iter().all(|lost| *lost < MAX_DATAGRAMS as f64), "{lost:?}");
    }

    /// What a batch of [`serve_few`] takes at least, in nanoseconds.
    const LONG_NS: u64 = 2_000_000;

    /// Sends the first and the last datagram of each batch, far apart, and none of the others.
    fn serve_few(session: Session) -> io::Result<()> {
        serve_so(session, |_, count, send| {
            let begun = Monotonic.now_ns();
            send(0)?;
            while Monotonic.now_ns() < begun + LONG_NS {
                std::hint::spin_loop();
            }
            send(count - 1)
        })
    }

    static FEW_DATAGRAMS: Service = Service { name: "net.test", transport: Transport::Udp, serve: serve_few };
    static FROM_FEW: Benchmark = Benchmark { info: BENCH.info, run: Run::Here(|ctx| measure(ctx, &FEW_DATAGRAMS)) };

    /// Two datagrams of eight bytes in 2 ms and more, of the 1024 that were asked for.
    #[test]
    fn the_rate_is_that_of_what_arrived_and_all_else_is_lost() {
        let tried = try_out(&FROM_FEW, &[("size", "8")], None).expect("loopback");
        let values = |name: &str| tried.result.series(name).expect("stated").values.clone();
        let (sent, rates) = (MAX_DATAGRAMS as f64, values(""));
        assert!(values("sent").iter().all(|n| *n == sent), "{:?}", values("sent"));
        // On a busy machine one of the two may find no room.
        let lost: Vec<f64> = values("lost").into_iter().filter(|lost| *lost < sent).collect();
        assert!(lost.iter().all(|lost| *lost >= sent - 2.0) && lost.len() == rates.len(), "{lost:?}");
        let most = 2.0 * 8.0 / (LONG_NS as f64 * 1e-9);
        let both: Vec<f64> = rates.into_iter().zip(lost).filter(|b| b.1 == sent - 2.0).map(|b| b.0).collect();
        assert!(!both.is_empty() && both.iter().all(|rate| *rate > 0.0 && *rate <= most * 1.001), "{most}: {both:?}");
    }

    #[test]
    fn a_datagram_is_as_it_was_sent_when_it_has_its_length_and_all_of_its_words() {
        let word = number(3, 5);
        let mut datagram = vec![0; 1001];
        fill(&mut datagram, word);
        assert!(!is_changed(&datagram, 1001, word) && is_changed(&datagram[..1000], 1001, word));
        datagram[1000] ^= 1;
        assert!(is_changed(&datagram, 1001, word));
    }

    #[test]
    fn what_is_neither_received_nor_dropped_is_missed_and_nothing_comes_twice() {
        fn run(ctx: &mut Ctx) -> Outcome {
            for (read, dropped, far) in [
                (1000, Some(0), false),
                (700, Some(300), false),
                (985, Some(0), false),
                (1001, Some(0), false),
                (700, Some(301), false),
                // What was dropped on the way from another machine, and by a kernel that does not
                // count, is not known.
                (700, Some(0), true),
                (700, None, false),
                (1001, Some(0), true),
                (1001, None, false),
            ] {
                let dropped = dropped.ok_or_else(|| io::ErrorKind::Unsupported.into());
                prove_counts(ctx, (read, 1000), dropped, far);
            }
            ctx.state(1.0);
            Ok(())
        }
        let tried = try_failing(&stating(run), &[], None).expect("a value");
        let expected = [true, true, false, false, false, true, true, false, false];
        assert_eq!(tried.proofs_held("datagrams received"), expected);
    }

    #[test]
    fn a_sender_that_stays_on_its_cpu_sends_in_order() {
        fn run(ctx: &mut Ctx) -> Outcome {
            for disorder in [0, 1, 9, 11] {
                prove_order(ctx, disorder, 1000, false);
            }
            prove_order(ctx, 500, 1000, true);
            ctx.state(1.0);
            Ok(())
        }
        let bench = stating(run);
        let free = try_failing(&bench, &[], None).expect("a value");
        assert_eq!(free.proofs_held("datagrams out of order"), [true, true, true, false]);
        let here = affinity::allowed().expect("the CPUs that are allowed")[0];
        let placed = try_failing_at(&bench, Placement::SameCpu, &[here, here]).expect("a value");
        assert_eq!(placed.proofs_held("datagrams out of order"), [true, false, false, false]);
    }

    #[test]
    fn what_is_no_datagram_is_refused() {
        for size in ["7", "65508"] {
            assert!(matches!(try_out(&BENCH, &[("size", size)], None), Err(BenchError::Unsupported(_))), "{size}");
        }
    }
}
