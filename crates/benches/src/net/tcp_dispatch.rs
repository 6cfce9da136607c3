//! Several workers that accept the connections of one port: which of them the kernel wakes.
//!
//! **Measures:** A connection from before `connect` until the client has read the byte that a
//! worker answers. `burst` of them are opened at once; the time is that of the burst, divided by
//! it. `.largest_share` is the part of the connections that the busiest worker had (1/workers is
//! even), `.woken` how often workers were woken for a connection, by the kernel's count of their
//! sleeps. By `listener`:
//! - `shared`: all workers wait for one socket by `epoll`. Every one that is idle is woken.
//! - `exclusive`: the same with `EPOLLEXCLUSIVE` (Linux 4.5): one is woken, the last that began to
//!   wait.
//! - `blocking`: all wait in `accept` for one socket: one is woken, the first that began to wait.
//! - `reuseport`: each has a socket of its own at the port (`SO_REUSEPORT`), and the kernel chooses
//!   one by a hash of the addresses.
//!
//! **Does not measure:** What servers do with a connection (`net.tcp_serve`, `http.open_loop`), or
//! one end alone (`net.tcp_accept`).
//!
//! **Method:** The workers are processes that the scheduler places. Each accepts one connection,
//! answers with its number, closes, and waits again. The client's sockets are made before the watch
//! starts and closed by a reset after it stops, so that no port is left in TIME_WAIT.
//!
//! **Calls:**
//! - no trace of `workers`: more workers make the same calls
//!
//! **Proofs:** Every connection is answered by one worker, and each worker has counted as many as
//! the client has read answers with its number.
//!
//! **Pitfalls:**
//! - One client with one connection at a time finds all workers idle, which is the worst case of
//!   `shared`, and leaves `exclusive` with one worker that does all the work.
//! - The choice by hash does not see who is idle: with `reuseport` a connection waits for a worker
//!   that is busy beside others that are not.
//! - With more workers than CPUs, who is woken also waits for a CPU.
//!
//! **Sources:** The listening sockets of nginx (`accept_mutex`, `reuseport`). See
//! docs/methods/operating-system.md#tcp-connections.

use crate::peer::Family;
use crate::proofs;
use crate::sched::STRIDE;
use crate::work::{self, Done};
use groma_harness::prelude::*;
use groma_harness::rendezvous::{Control, Partners};
use groma_harness::sys::io::{read, write_full};
use groma_harness::sys::ready::Epoll;
use groma_harness::sys::shared::Shared;
use groma_harness::sys::{net, socket};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "A TCP connection to one of several workers that accept at one port",
        about: about!("tcp_dispatch.rs"),
        iteration: "a burst of connections, each answered by one byte",
        timing: Timing::Each,
        outputs: &[
            Output::MAIN,
            Output::named("largest_share", "connections of the busiest worker, of all; 1/workers is even")
                .quantity(Quantity::Ratio),
            Output::named("woken", "how often workers were woken for a connection").quantity(Quantity::Ratio),
        ],
        params: &[
            Param::word(
                "listener",
                "what the workers wait for: one socket by epoll, by EPOLLEXCLUSIVE or in accept, or one each",
                &["shared", "exclusive", "blocking", "reuseport"],
            )
            .quick(&["shared", "exclusive", "reuseport"])
            .full(&["blocking"]),
            Param::count("workers", "processes that accept")
                .takes(Memory::PerMember(Memory::TASK))
                .quick(&["4"])
                .full(&["2", "16"]),
            Param::count("burst", "connections that are opened at once").quick(&["1"]).standard(&["16"]),
        ],
        scaling: Scaling::processes("each copy forks its own workers, which a process with threads must not"),
        placements: &[Placement::Free],
        needs: &[Need::Loopback],
        interference: Interference::Blocking,
        target_half_width: 0.05,
        tier: Tier::Standard,
        ..Info::new("net.tcp_dispatch")
    },
    run: Run::Here(run),
};

/// The most workers: each answers with its number in a byte.
const MAX_WORKERS: u64 = 256;
/// The most connections at once, and the backlog.
const MAX_BURST: u64 = 128;
const BACKLOG: u16 = MAX_BURST as u16;

/// How workers wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    /// `epoll`, all for one socket or each for its own.
    Epoll,
    /// `epoll`, of which one is woken.
    Exclusive,
    /// `accept`.
    Blocking,
}

/// The body of a worker, until its listener is stopped. It counts what it accepts.
fn work(control: &Control, listener: &TcpListener, wait: Wait, worker: u8, accepted: &AtomicU64) -> io::Result<()> {
    let mut epoll = Epoll::over(&[])?;
    let added = match wait {
        Wait::Epoll => epoll.add(listener.as_fd(), 0),
        Wait::Exclusive => epoll.add_exclusive(listener.as_fd(), 0),
        Wait::Blocking => 0,
    };
    if added != 0 {
        return Err(io::Error::from_raw_os_error(-added as i32));
    }
    listener.set_nonblocking(wait != Wait::Blocking)?;
    control.arrive();
    loop {
        if wait != Wait::Blocking {
            drop(epoll.wait()?);
        }
        match socket::accept(listener.as_fd()) {
            Ok(connection) => {
                accepted.fetch_add(1, Relaxed);
                write_full(connection.as_fd(), &[worker])?;
            }
            // Another worker was faster.
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(e) if e.kind() == io::ErrorKind::InvalidInput => return Ok(()),
            Err(e) => return Err(e),
        }
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let (workers, burst) = (ctx.int("workers"), ctx.int("burst"));
    if !(1..=MAX_WORKERS).contains(&workers) || !(1..=MAX_BURST).contains(&burst) {
        return Err(BenchError::Unsupported(format!(
            "1 to {MAX_WORKERS} workers answer bursts of 1 to {MAX_BURST} connections"
        )));
    }
    let (workers, burst) = (workers as usize, burst as usize);
    let (wait, one_each) = match ctx.word("listener") {
        "exclusive" => (Wait::Exclusive, false),
        "blocking" => (Wait::Blocking, false),
        "reuseport" => (Wait::Epoll, true),
        _ => (Wait::Epoll, false),
    };
    let listeners = listeners(if one_each { workers } else { 1 }).context("listening on the loopback")?;
    let to = listeners[0].local_addr().context("asking for the port")?;
    let counts = Shared::<AtomicU64>::new(workers * STRIDE).context("sharing memory with the workers")?;
    let accepted = || -> Vec<u64> { (0..workers).map(|worker| counts[worker * STRIDE].load(Relaxed)).collect() };
    let mut partners = Partners::new()?;
    for worker in 0..workers {
        let (listener, counted) = (&listeners[worker % listeners.len()], &counts[worker * STRIDE]);
        let name = format!("worker {worker}");
        partners.fork(ctx, name, |control| work(control, listener, wait, worker as u8, counted))?;
    }
    partners.all_ready()?;
    let watch = partners.watch()?;
    let mut answers = vec![0u64; workers];
    let done = Done::new();
    let measured = ctx.measure_variants(&mut [Variant::staged("", |iters, watch| {
        for _ in 0..iters {
            let sockets = sockets(burst, to).context("making a socket")?;
            watch.start();
            for socket in &sockets {
                socket::connect(socket.as_fd(), &to).context("connecting")?;
            }
            let mut right = 0;
            for socket in &sockets {
                let mut answer = [0];
                let read = read(socket.as_fd(), &mut answer).context("reading an answer")?;
                if let (1, Some(count)) = (read, answers.get_mut(usize::from(answer[0]))) {
                    *count += 1;
                    right += 1;
                }
            }
            watch.stop();
            done.add(right);
        }
        Ok(())
    })
    .per_iter(burst as f64)]);
    measured.map_err(|stop| partners.explain(stop))?;
    drop(watch);
    for listener in &listeners {
        socket::stop_listening(listener).context("ending a listener")?;
    }
    let exits = partners.wait()?;
    let accepted = accepted();
    let (all, most) = (accepted.iter().sum::<u64>(), accepted.iter().copied().max().unwrap_or(0));
    ctx.state_as("largest_share", most as f64 / all.max(1) as f64);
    // Each worker slept once more, until its listener ended.
    let slept: u64 = exits.iter().map(|exit| exit.usage.voluntary.saturating_sub(1)).sum();
    ctx.state_as("woken", slept as f64 / all.max(1) as f64);
    proofs::all_left_well(ctx, "workers", &exits);
    let credited = ctx.iterations() * burst as u64;
    work::once_each(ctx, "answers per connection credited", done.count(), credited);
    let differ: u64 = accepted.iter().zip(&answers).map(|(counted, read)| counted.abs_diff(*read)).sum();
    ctx.prove("connections that worker and client count differently", "0", differ as f64, 0.0..=0.0);
    Ok(())
}

/// Listeners at one port.
fn listeners(count: usize) -> io::Result<Vec<TcpListener>> {
    let first = match count {
        1 => socket::listen(Family::V4.loopback(), BACKLOG)?,
        _ => socket::listen_beside(Family::V4.loopback(), BACKLOG)?,
    };
    let at = first.local_addr()?;
    let others = (1..count).map(|_| socket::listen_beside(at, BACKLOG));
    std::iter::once(Ok(first)).chain(others).collect()
}

/// Sockets that will connect.
fn sockets(count: usize, to: SocketAddr) -> io::Result<Vec<OwnedFd>> {
    let new = |_| {
        let socket = socket::tcp(to)?;
        net::reset_on_close(socket.as_fd())?;
        Ok(socket)
    };
    (0..count).map(new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn each_connection_has_one_worker() {
        for listener in ["shared", "exclusive", "blocking", "reuseport"] {
            for burst in ["1", "16"] {
                let chosen = [("listener", listener), ("workers", "3"), ("burst", burst)];
                let tried = try_out(&BENCH, &chosen, None).expect("loopback");
                assert_eq!(tried.proven("answers per connection credited"), 1.0, "{listener}");
                assert_eq!(tried.proven("connections that worker and client count differently"), 0.0, "{listener}");
                let share = tried.stated("largest_share").expect("stated");
                assert!((1.0 / 3.0..=1.0).contains(&share), "{listener}: {share}");
            }
        }
    }

    /// Of three idle workers, all are woken or one. A busy machine keeps some from sleeping, or
    /// has one woken twice.
    #[test]
    fn several_are_woken_for_a_shared_socket_alone() {
        let woken = |listener: &str| {
            let tried = try_out(&BENCH, &[("listener", listener), ("workers", "3")], None).expect("loopback");
            tried.stated("woken").expect("stated")
        };
        let mut tried = Vec::new();
        let as_idle = (0..20).any(|_| {
            let seen = ["shared", "exclusive", "blocking", "reuseport"].map(woken);
            tried.push(seen);
            seen[1..].iter().all(|one| *one < 1.5 && *one < seen[0])
        });
        assert!(as_idle, "{tried:?}");
    }
}
