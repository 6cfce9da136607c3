//! Both ends of a TCP connection in one task: `connect`, then `accept`.
//!
//! **Measures:** The cost of the two calls when no process has to be woken, and as a detail
//! (`.alone`) `accept` of a connection that is already waiting.
//!
//! **Does not measure:** Creating the sockets, closing them, or waking a server (`net.tcp_crr`).
//!
//! **Method:** On the loopback a connection is established without the server doing anything, and
//! waits in its queue. One task can therefore do both ends one after the other, without a scheduler
//! in between. Two loops take turns: one times both calls, the other only the second. Sockets are
//! created before and closed after (by a reset) with the watch stopped.
//!
//! **Calls:**
//! - timed: `clock connect accept4 clock`; the pair is timed
//! - timed: `clock accept4 clock`; accept is timed alone
//!
//! **Proofs:** Each connection is established, none of its segments was sent again (TCP_INFO), and
//! each accept returns the connection that was just made.
//!
//! **Pitfalls:** Those of `net.tcp_connect`.
//!
//! **Sources:** libMicro `connection` and its `accept`-like modes; the operating-system part of
//! lmbench 1996 table 15. See docs/methods/operating-system.md#tcp-connections.

use super::FAMILY;
use crate::peer::Family;
use groma_harness::prelude::*;
use groma_harness::sys::{net, socket};
use std::cell::Cell;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Connect and accept over TCP on the loopback, both in one task",
        about: about!("tcp_accept.rs"),
        iteration: "one connect and one accept",
        timing: Timing::Each,
        outputs: &[Output::MAIN, Output::named("alone", "Accepting a TCP connection that waits").detail()],
        params: &[FAMILY],
        needs: &[Need::Loopback],
        target_half_width: 0.02,
        tier: Tier::Standard,
        version: 2,
        ..Info::new("net.tcp_accept")
    },
    run: Run::Here(run),
};

/// The backlog; only one connection waits at a time.
pub(crate) const BACKLOG: u16 = 128;

/// What is timed of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timed {
    /// `connect` and the accept.
    Both,
    /// The accept of a connection that waits.
    Accept,
}

/// Makes a connection to the loopback address `to` and has `accept` accept it. Returns whether that
/// accepted the connection just made, and how many segments TCP sent again.
pub(crate) fn connect_and_accept(
    to: SocketAddr,
    timed: Timed,
    watch: &mut Stopwatch<'_>,
    accept: impl FnOnce() -> Result<OwnedFd, BenchError>,
) -> Result<(bool, u64), BenchError> {
    let here = socket::tcp(to).context("making a socket")?;
    net::reset_on_close(here.as_fd()).context("setting SO_LINGER")?;
    if timed == Timed::Both {
        watch.start();
    }
    socket::connect(here.as_fd(), &to).context("connecting")?;
    if timed == Timed::Accept {
        watch.start();
    }
    let there = accept();
    watch.stop();
    let there = TcpStream::from(there?);
    let tcp = net::connection(here.as_fd()).context("asking for TCP_INFO")?;
    let here = TcpStream::from(here);
    let own = here.local_addr().context("asking for the port")?;
    Ok((is_the_same(tcp.established, own, there.peer_addr().ok()), tcp.retransmits))
}

/// Whether what was accepted is the connection that was just made.
fn is_the_same(established: bool, here: SocketAddr, accepted: Option<SocketAddr>) -> bool {
    established && accepted == Some(here)
}

fn run(ctx: &mut Ctx) -> Outcome {
    let family = Family::of_word(ctx.word("family"));
    let listener: TcpListener = socket::listen(family.loopback(), BACKLOG).context("listening on the loopback")?;
    let address = listener.local_addr().context("asking for the port")?;
    let (right, retransmits) = (Cell::new(0u64), Cell::new(0u64));
    let each = |timed: Timed, iters: u64, watch: &mut Stopwatch<'_>| -> Outcome {
        for _ in 0..iters {
            let accept = || socket::accept(listener.as_fd()).context("accepting");
            let (is_right, again) = connect_and_accept(address, timed, watch, accept)?;
            right.set(right.get() + u64::from(is_right));
            retransmits.set(retransmits.get() + again);
        }
        Ok(())
    };
    ctx.measure_variants(&mut [
        Variant::staged("", |iters, watch| each(Timed::Both, iters, watch)),
        Variant::staged("alone", |iters, watch| each(Timed::Accept, iters, watch)),
    ])?;
    let each = right.get() as f64 / ctx.iterations() as f64;
    ctx.prove("connections established and accepted per connect", "1", each, 1.0..=1.0);
    ctx.prove("segments that TCP sent again, handshakes included", "0", retransmits.get() as f64, 0.0..=0.0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::stats::order;
    use groma_harness::testing::try_out;

    #[test]
    fn another_connection_and_one_that_is_not_established_do_not_count() {
        let [one, other] = [1, 2].map(|port| SocketAddr::new(Family::V4.loopback().ip(), port));
        assert!(is_the_same(true, one, Some(one)));
        assert!(!is_the_same(false, one, Some(one)) && !is_the_same(true, one, Some(other)));
        assert!(!is_the_same(true, one, None));
    }

    fn per_iteration(sample: &groma_harness::model::Sample) -> f64 {
        sample.elapsed_ns as f64 / sample.iters as f64
    }

    #[test]
    fn accepting_is_a_part_of_connecting() {
        let tried = try_out(&BENCH, &[], None).expect("loopback");
        // A handshake takes more than ten times as long as an accept of an established connection;
        // the variants take turns.
        let [both, alone] = ["", "alone"].map(|name| {
            let samples = &tried.result.series(name).expect("samples").samples;
            order::median(&samples.iter().map(per_iteration).collect::<Vec<f64>>()).expect("samples")
        });
        assert!(alone < both / 2.0, "{alone} ns to accept, {both} ns to connect and accept");
    }
}
