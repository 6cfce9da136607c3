//! One thread that serves many TCP connections: the time for a request and its answer.
//!
//! **Measures:** What an event-driven server with one thread does: `epoll_wait`, a `read` of each
//! connection that is ready, a `write` of the answer, over `connections` of them. `active=one` has
//! one request under way at a time, on another connection each time: the round trip of a server
//! that is idle between requests. `active=many` has 64 of them (all connections, where there are
//! fewer), written before the first answer is read: the time for each is that of the slower side,
//! and the server's own CPU time is `cpu_server`. With `events=uring` the server uses io_uring
//! instead: an operation for each connection that receives for ever, and answers that are sent by
//! the same call that waits for the next requests.
//!
//! **Does not measure:** Connecting and accepting (`net.tcp_crr`, `net.tcp_accept`), HTTP, or a
//! client whose requests arrive by a clock (`http.open_loop`).
//!
//! **Method:** All connections are made before anything is timed, and are asked in a random order
//! that is the same in each pass, so that with many of them the kernel's data of a connection has
//! left the caches when its turn comes. Requests and answers have 64 bytes, which hold the number
//! of the connection and of the request. The server answers what it reads by one `write`. A read
//! that fills less than its buffer has drained the socket, which is all that `events=edge` needs:
//! no further read that fails with EAGAIN is made for it. The rings of `events=uring` do their work
//! when the server waits (`IORING_SETUP_DEFER_TASKRUN`), and the kernel chooses the buffers.
//!
//! **Proofs:** Every answer is that of the request that was made on its connection, and the server
//! has answered as many as were made. The fact serve.requests_per_wait says how many events a call
//! of `epoll_wait`, or of `io_uring_enter`, brought.
//!
//! **Pitfalls:**
//! - A few connections, all in the caches, are what benchmarks measure, and not what servers have.
//! - On one CPU the server runs when the client waits, so `active=many` is the work of both sides.
//! - The limit of descriptors is raised as far as possible; more than that is `denied`.
//!
//! **Sources:** Kegel, "The C10K problem"; will-it-scale's `poll2`; stress-ng `--epoll`. See
//! docs/methods/operating-system.md#many-connections.

use super::tcp_crr::local;
use super::{PLACEMENTS, within};
use crate::peer::{Family, Limits, Peer, Service, Session, Transport, receive_numbers, send_numbers};
use crate::proofs;
use crate::rings::rings_with;
use groma_harness::prelude::*;
use groma_harness::sys::counters::thread_cpu_ns;
use groma_harness::sys::io::{read, read_full, write_full};
use groma_harness::sys::ready::{Epoll, allow_descriptors};
use groma_harness::sys::uring::{Event, Mode, Receive, Receiver};
use groma_harness::sys::{net, socket};
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Request and answer over one of many TCP connections that one thread serves",
        about: about!("tcp_serve.rs"),
        iteration: "a request on one connection (active=one), or on up to 64 of them",
        timing: Timing::Each,
        outputs: &[Output::MAIN, Output::named("cpu_server", "CPU time of the server for a request").detail()],
        params: &[
            Param::count("connections", "connections that the server has")
                .takes(Memory::PerMember(16 << 10))
                .quick(&["1000"])
                .full(&["1", "10", "100", "10000"]),
            Param::word("active", "requests under way at a time: one, or 64 on as many connections", &["one", "many"])
                .quick(&["one", "many"]),
            Param::word(
                "events",
                "how the server learns of a request: by epoll, while there is one or once, or by io_uring",
                &["level", "edge", "uring"],
            )
            .quick(&["level"])
            .full(&["edge", "uring"]),
        ],
        scaling: Scaling::processes("each copy forks its own server, which a process with threads must not"),
        placements: PLACEMENTS,
        needs: &[Need::Loopback],
        interference: Interference::Blocking,
        target_half_width: 0.02,
        tier: Tier::Standard,
        ..Info::new("net.tcp_serve")
    },
    run: Run::Here(run),
};

/// The most connections: beyond, the ports of a few addresses would not do.
const MAX_CONNECTIONS: u64 = 100_000;
/// Requests under way at a time in `active=many`.
const MANY_REQUESTS: usize = 64;
/// Bytes of a request and of its answer.
const SIZE: usize = 64;
/// Descriptors that a process has beside its connections.
const OTHERS: u64 = 64;
/// Limits::size of the ways in which the server learns of requests.
const LEVEL: u32 = 0;
const EDGE: u32 = 1;
const URING: u32 = 2;
/// Entries of the server's ring, and buffers that the kernel chooses from: more than there are
/// requests under way.
const ENTRIES: u64 = 256;

/// The peer.
pub(super) static SERVICE: Service = Service { name: "net.tcp_serve", transport: Transport::Tcp, serve };

fn serve(session: Session) -> io::Result<()> {
    serve_by(session, |request| request)
}

/// Serves as many connections as the client has said, and one more that asks for the counts: the
/// requests that were answered, the calls of `epoll_wait`, the CPU time in nanoseconds.
fn serve_by(session: Session, answer: impl Fn([u8; SIZE]) -> [u8; SIZE]) -> io::Result<()> {
    let count = within(session.limits.count.into(), MAX_CONNECTIONS)?;
    allow_descriptors(count as u64 + OTHERS).map_err(|_| io::ErrorKind::PermissionDenied)?;
    let Some(control) = session.accept()? else { return Ok(()) };
    let mut connections = Vec::with_capacity(count);
    while connections.len() < count {
        let Some(connection) = session.accept()? else { return Ok(()) };
        connections.push(connection);
    }
    if session.limits.size == URING {
        return serve_by_uring(&session, &control, &connections, answer);
    }
    let (at_control, at_hold) = (count, count + 1);
    let mut epoll = Epoll::over(&[])?;
    epoll.make_room(MANY_REQUESTS);
    for (place, connection) in connections.iter().enumerate() {
        let added = match session.limits.size {
            EDGE => epoll.add_edge(connection.as_fd(), place),
            _ => epoll.add(connection.as_fd(), place),
        };
        check_result(added)?;
    }
    check_result(epoll.add(control.as_fd(), at_control))?;
    check_result(epoll.add(session.hold.as_fd(), at_hold))?;
    // The client starts when it has read this.
    send_numbers(&control, [count as u64])?;
    let (mut answered, mut waits) = (0u64, 0u64);
    loop {
        waits += 1;
        for place in epoll.wait()? {
            if place == at_hold {
                return Ok(());
            }
            if place == at_control {
                read_full(control.as_fd(), &mut [0])?;
                send_numbers(&control, [answered, waits, thread_cpu_ns()])?;
                continue;
            }
            let connection = connections[place].as_fd();
            let mut request = [0; SIZE + 1];
            match read(connection, &mut request)? {
                SIZE => {}
                n @ 0..SIZE => read_full(connection, &mut request[n..SIZE])?,
                _ => return Err(io::ErrorKind::InvalidData.into()),
            }
            let whole = request.first_chunk::<SIZE>().copied().ok_or(io::ErrorKind::InvalidData)?;
            write_full(connection, &answer(whole))?;
            answered += 1;
        }
    }
}

/// As [`serve_by`], without a system call for each message. The waits are calls of
/// `io_uring_enter`.
fn serve_by_uring(
    session: &Session,
    control: &TcpStream,
    connections: &[TcpStream],
    answer: impl Fn([u8; SIZE]) -> [u8; SIZE],
) -> io::Result<()> {
    let ring = rings_with(ENTRIES, Mode::Deferred).map_err(|stop| io::Error::other(stop.to_string()))?;
    let mut receiver = Receiver::new(ring, ENTRIES as u16, SIZE, Receive::Multishot)?;
    for (place, connection) in connections.iter().enumerate() {
        receiver.add(connection.as_fd());
        if place % (ENTRIES as usize) == ENTRIES as usize - 1 {
            receiver.submit()?;
        }
    }
    receiver.submit()?;
    let (at_control, at_hold) = (receiver.watch(control.as_fd()), receiver.watch(session.hold.as_fd()));
    send_numbers(control, [connections.len() as u64])?;
    let (mut answered, mut waits) = (0u64, 0u64);
    loop {
        waits += 1;
        receiver.enter()?;
        while let Some(event) = receiver.next_event()? {
            match event {
                Event::Readable(place) if place == at_hold => return Ok(()),
                Event::Readable(_) => {
                    read_full(control.as_fd(), &mut [0])?;
                    send_numbers(control, [answered, waits, thread_cpu_ns()])?;
                    receiver.watch_again(at_control);
                }
                Event::Message(message) => {
                    // 64 bytes over the loopback are one segment, and stay one.
                    let request = receiver.bytes(&message);
                    let whole = request.first_chunk::<SIZE>().copied().ok_or(io::ErrorKind::InvalidData)?;
                    request.copy_from_slice(&answer(whole));
                    receiver.send_back(message);
                    answered += 1;
                }
            }
        }
    }
}

fn check_result(result: isize) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(-result as i32)) }
}

/// The client's connections, in the order in which they are asked.
struct Asked {
    all: Vec<TcpStream>,
    order: Vec<usize>,
    next: usize,
    /// Requests so far, and answers that were not those of their requests.
    made: u64,
    wrong: u64,
}

impl Asked {
    /// Writes a request on each of the next `batch` connections, then reads all answers.
    #[inline]
    fn ask(&mut self, batch: usize) -> io::Result<()> {
        for i in 0..batch {
            write_full(self.connection(i), &request(self.place(i), self.made + i as u64))?;
        }
        for i in 0..batch {
            let mut answer = [0; SIZE];
            read_full(self.connection(i), &mut answer)?;
            self.wrong += u64::from(answer != request(self.place(i), self.made + i as u64));
        }
        self.made += batch as u64;
        self.next = (self.next + batch) % self.order.len();
        Ok(())
    }

    fn place(&self, i: usize) -> usize {
        self.order[(self.next + i) % self.order.len()]
    }

    fn connection(&self, i: usize) -> BorrowedFd<'_> {
        self.all[self.place(i)].as_fd()
    }
}

/// A request: the connection and the number of the request, again and again.
#[inline]
fn request(place: usize, number: u64) -> [u8; SIZE] {
    let mut bytes = [0; SIZE];
    for pair in bytes.chunks_exact_mut(2 * size_of::<u64>()) {
        let (first, second) = pair.split_at_mut(size_of::<u64>());
        first.copy_from_slice(&(place as u64).to_le_bytes());
        second.copy_from_slice(&number.to_le_bytes());
    }
    bytes
}

fn run(ctx: &mut Ctx) -> Outcome {
    measure(ctx, &SERVICE)
}

fn measure(ctx: &mut Ctx, service: &'static Service) -> Outcome {
    let count = ctx.int("connections");
    if count > MAX_CONNECTIONS {
        return Err(BenchError::Unsupported(format!("a server has {MAX_CONNECTIONS} connections here at most")));
    }
    allow_descriptors(count + OTHERS).map_err(|most| {
        BenchError::Denied(format!(
            "{count} connections need {} descriptors; the hard limit (ulimit -Hn) is {most}",
            count + OTHERS
        ))
    })?;
    let batch = if ctx.word("active") == "many" { MANY_REQUESTS.min(count as usize) } else { 1 };
    let how = match ctx.word("events") {
        "edge" => EDGE,
        "uring" => URING,
        _ => LEVEL,
    };
    if how == URING {
        // The server would say no more than that it failed.
        rings_with(ENTRIES, Mode::Deferred)?;
    }
    let limits = Limits { size: how, count: count as u32 };
    let peer = Peer::start_within(ctx, service, Family::V4, limits)?;
    let to = peer.address();
    let control = TcpStream::connect(to).context("connecting")?;
    net::reset_on_close(control.as_fd()).context("setting SO_LINGER")?;
    let mut all = Vec::with_capacity(count as usize);
    for made in 0..count as u32 {
        let near = socket::tcp(to).context("making a socket")?;
        net::reset_on_close(near.as_fd()).context("setting SO_LINGER")?;
        if !peer.is_remote() {
            socket::bind_address(near.as_fd(), local(made)).context("choosing an address")?;
        }
        socket::connect(near.as_fd(), &to).context("connecting")?;
        let near = TcpStream::from(near);
        near.set_nodelay(true).context("setting TCP_NODELAY")?;
        all.push(near);
    }
    let mut order: Vec<usize> = (0..all.len()).collect();
    ctx.rng().shuffle(&mut order);
    let mut asked = Asked { all, order, next: 0, made: 0, wrong: 0 };
    let [ready] = receive_numbers(&control).context("waiting for the server")?;
    let counts = || -> io::Result<[u64; 3]> {
        write_full(control.as_fd(), &[1])?;
        receive_numbers(&control)
    };
    let before = counts().context("asking for the counts")?;
    ctx.measure_per(batch as f64, |iters| {
        for _ in 0..iters {
            asked.ask(batch).context("asking over a connection")?;
        }
        Ok(())
    })?;
    let after = counts().context("asking for the counts")?;
    let [answered, waits, cpu_ns] = [0, 1, 2].map(|i| after[i] - before[i]);
    let far = peer.is_remote();
    // Before the connections, whose ends by a reset would be errors of the server.
    if let Some(exit) = peer.end()? {
        proofs::peer_ended_well(ctx, &exit);
    }
    let wanted = ctx.iterations() as f64 * batch as f64;
    ctx.state_as("cpu_server", cpu_ns as f64 * 1e-9 / asked.made as f64);
    // One of the calls brought the question for these counts.
    ctx.fact("serve.requests_per_wait", format!("{:.1}", answered as f64 / (waits.max(2) - 1) as f64));
    ctx.prove("connections that the server has, of those asked for", "1", ready as f64 / count as f64, 1.0..=1.0);
    ctx.prove("requests that the server answered per request", "1", answered as f64 / wanted, 1.0..=1.0);
    ctx.prove("answers that were not those of their request", "0", asked.wrong as f64, 0.0..=0.0);
    if far {
        return Ok(());
    }
    let again: io::Result<u64> = asked.all.iter().map(|one| Ok(net::connection(one.as_fd())?.retransmits)).sum();
    // As in `http.get`: a busy machine may acknowledge late.
    let again = again.context("asking for TCP_INFO")? as f64;
    ctx.prove(
        "segments that the client sent again per request",
        "0, or below 0.01 when busy",
        again / wanted,
        0.0..=0.01,
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::{try_failing, try_out};

    fn wrongly(session: Session) -> io::Result<()> {
        serve_by(session, |mut request| {
            request[SIZE - 1] ^= 1;
            request
        })
    }

    static WRONG: Service = Service { name: "net.test", transport: Transport::Tcp, serve: wrongly };
    static FROM_WRONG: Benchmark = Benchmark { info: BENCH.info, run: Run::Here(|ctx| measure(ctx, &WRONG)) };

    #[test]
    fn an_answer_to_another_request_does_not_count() {
        let tried = try_failing(&FROM_WRONG, &[("connections", "3")], None).expect("loopback");
        assert_eq!(tried.proofs_held("answers that were not those of their request"), [false]);
    }

    /// More connections than are asked at a time, so that the order wraps around within a batch.
    #[test]
    fn all_connections_are_asked_in_each_way() {
        for events in ["level", "edge", "uring"] {
            for connections in ["1", "100"] {
                let params = [("connections", connections), ("active", "many"), ("events", events)];
                let tried = match try_out(&BENCH, &params, None) {
                    Err(stop) if events == "uring" => return println!("no rings here: {stop}"),
                    tried => tried.expect("loopback"),
                };
                assert_eq!(tried.proven("requests that the server answered per request"), 1.0);
                let each: f64 = tried.result.fact("serve.requests_per_wait").expect("told").parse().expect("a number");
                // Never more than were under way.
                let most = if connections == "1" { 1.0 } else { MANY_REQUESTS as f64 };
                assert!(each > 0.0 && each <= most + 0.05, "{events} {connections}: {each}");
            }
        }
    }

    #[test]
    fn more_connections_than_ports_are_unsupported() {
        assert!(matches!(try_out(&BENCH, &[("connections", "100001")], None), Err(BenchError::Unsupported(_))));
    }
}
