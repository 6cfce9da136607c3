//! Making a TCP connection on the loopback: `connect` alone.
//!
//! Measures the one call, from which the caller returns when the handshake of three segments is complete. Does not measure
//! making the socket, accepting, or closing, which happen outside the timed part.
//!
//! Method: each connect is timed alone. The other side, a process of its own, takes the connection afterwards, when it is
//! told (`acceptor=later`): so there is nobody to wake in the timed part. With `acceptor=waiting` it sleeps in `accept` as
//! a server does, and its wake-up belongs to the call; where both share a CPU it is the scheduler that decides, for a whole
//! round, whether its work comes before the caller returns (here 6.1 or 11.4 us). In both cases the next
//! connect follows when the last connection was taken: the queue never holds more than one, whatever runs beside us.
//! Connections are closed by a reset (SO_LINGER 0): an orderly close would leave each port in TIME_WAIT for 60 s, and a
//! few runs would use up the 28,232 of a default machine, their own and their neighbours'; a rotation of source
//! addresses only puts that off. The reset comes after the clock has stopped and makes no difference to `connect`
//! (12.51 against 12.45 us).
//!
//! Proofs: each connection says that it is established and that no segment of it was sent again (TCP_INFO, retransmits
//! of the handshake included), and the other side counted as many as were made. The counters of the network namespace
//! (`/proc/net/netstat`) are noted when they move, since others move them too.
//!
//! Traps: a backlog that overflows drops handshakes, and each is repeated a second later (lmbench `lat_connect` 3971 us
//! against 12.5, its result the retransmission timer); no server, and refused connections are timed; TIME_WAIT.
//!
//! Source: lmbench 1996 table 15, lmbench3 `lat_connect` (both with `socket` and `close`).

use crate::proofs;
use groma_harness::prelude::*;
use groma_harness::sys::fork::Child;
use groma_harness::sys::net::{self, Dropped};
use groma_harness::sys::shared::{self, Shared};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Connecting to a process over TCP on the loopback",
        about: about!("tcp_connect.rs"),
        iteration: "one connect",
        timing: Timing::Each,
        params: &[Param {
            name: "acceptor",
            help: "takes connections later, outside the timed part, or waits for them and must be woken",
            kind: ParamKind::Word(&["later", "waiting"]),
            quick: &[],
            default: &["later"],
            full: &["later", "waiting"],
        }],
        scaling: Scaling::processes("each copy forks its other side, which a process with threads must not"),
        placements: &[
            Placement::SameCpu,
            Placement::SameLlc,
            Placement::CrossLlc,
            Placement::CrossNode,
            Placement::Free,
        ],
        needs: &[Need::Loopback],
        lineage: &["lmbench1996:table15", "lmbench3:lat_connect"],
        interference: Interference::Blocking,
        width: 0.02,
        ..Info::new("net.tcp_connect")
    },
    run: Run::Here(run),
};

/// More than is ever needed: one connection waits at a time.
const BACKLOG: u16 = 4096;
/// How long to wait for the other side before looking whether it is still there.
const LOOK: Duration = Duration::from_millis(100);

/// The words that the two sides share.
const MADE: usize = 0;
const ACCEPTED: usize = 1;
const STOP: usize = 2;

/// The other side: accepts, closes, counts; only what was made, unless it waits.
fn accept_until_stopped(listener: &TcpListener, words: &[AtomicU32], waits: bool) -> i32 {
    let mut taken = 0;
    loop {
        while !waits && words[MADE].load(SeqCst) == taken {
            shared::wait(&words[MADE], taken, None);
        }
        let Ok((connection, _)) = listener.accept() else { return 1 };
        if words[STOP].load(SeqCst) == 1 {
            return i32::from(net::reset_on_close(connection.as_fd()).is_err());
        }
        drop(connection);
        taken += 1;
        words[ACCEPTED].store(taken, SeqCst);
        shared::wake(&words[ACCEPTED]);
    }
}

/// Says that there is a connection to be taken.
fn tell(made: u32, words: &[AtomicU32]) {
    words[MADE].store(made, SeqCst);
    shared::wake(&words[MADE]);
}

/// Sleeps until the other side has accepted `made` connections.
fn wait_for(made: u32, words: &[AtomicU32], peer: &mut Child) -> Outcome {
    loop {
        let seen = words[ACCEPTED].load(SeqCst);
        if seen == made {
            return Ok(());
        }
        shared::wait(&words[ACCEPTED], seen, Some(LOOK));
        if words[ACCEPTED].load(SeqCst) == seen
            && let Some(exit) = peer.poll().doing("looking after the accepting side")?
        {
            return Err(Stop::Failed(format!("the accepting side {exit}")));
        }
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let words = Shared::<AtomicU32>::new(3).doing("sharing three words")?;
    let listener = net::listen(BACKLOG).doing("listening on the loopback")?;
    let SocketAddr::V4(address) = listener.local_addr().doing("asking for the port")? else {
        return Err(Stop::Failed("the loopback has no IPv4 address".to_owned()));
    };
    let waits = ctx.word("acceptor") == "waiting";
    let mut peer = ctx.fork_peer(&[], || accept_until_stopped(&listener, &words, waits))?;
    drop(listener);

    let dropped = Dropped::read();
    let (mut made, mut retransmits, mut established) = (0u32, 0, 0u32);
    ctx.measure_staged(|iters, watch| {
        for _ in 0..iters {
            let socket = net::socket().doing("making a socket")?;
            net::reset_on_close(socket.as_fd()).doing("setting SO_LINGER")?;
            watch.start();
            let connected = net::connect(socket.as_fd(), &address);
            watch.stop();
            connected.doing("connecting")?;
            made += 1;
            let tcp = net::connection(socket.as_fd()).doing("asking for TCP_INFO")?;
            retransmits += tcp.retransmits;
            established += u32::from(tcp.established);
            tell(made, &words);
            wait_for(made, &words, &mut peer)?;
        }
        Ok(())
    })?;

    let accepted = words[ACCEPTED].load(SeqCst);
    words[STOP].store(1, SeqCst);
    let farewell = net::socket().doing("making a socket")?;
    net::connect(farewell.as_fd(), &address).doing("connecting for the last time")?;
    tell(made + 1, &words);
    let peer = peer.wait().doing("waiting for the accepting side")?;
    proofs::peer_ended_well(ctx, &peer);
    let asked = ctx.iterations() as f64;
    ctx.prove("connections established per connect", "1", f64::from(established) / asked, 1.0..=1.0);
    ctx.prove("connections accepted per connect", "1", f64::from(accepted) / asked, 1.0..=1.0);
    ctx.prove("segments that TCP sent again, handshakes included", "0", retransmits as f64, 0.0..=0.0);
    if let (Some(before), Some(after)) = (dropped, Dropped::read()) {
        let added = after.since(&before);
        if added != Dropped::default() {
            ctx.note(format!(
                "on this machine, not in our connections: {} overflows, {} drops, {} repeated handshakes",
                added.overflows, added.drops, added.syn_retransmits
            ));
        }
    }
    if let Some(longest) = net::longest_backlog() {
        ctx.fact("listen.backlog", longest.min(BACKLOG.into()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn every_connect_makes_one_connection_at_the_first_try() {
        for acceptor in ["later", "waiting"] {
            let tried = try_out(&BENCH, &[("acceptor", acceptor)], None).expect("loopback");
            assert!(tried.samples("") >= 3);
            assert_eq!(tried.proven("connections established per connect"), 1.0);
            assert_eq!(tried.proven("connections accepted per connect"), 1.0);
            assert_eq!(tried.proven("segments that TCP sent again, handshakes included"), 0.0);
            assert_eq!(tried.proven("exit code of the other side"), 0.0);
        }
    }
}
