//! A remote procedure call that does nothing, beside a bare exchange of the same number of bytes.
//!
//! **Measures:** The round trip of an ONC RPC call of procedure NULL: 40 bytes there and 24 back,
//! on TCP with a record mark of 4 bytes before each. The control, in the same round, exchanges as
//! many bytes by the same calls over the same transport with a server that does not look into them.
//! The difference (`.tax`) is building, reading and checking the call and its answer on both sides.
//!
//! **Does not measure:** A library (`libtirpc` adds buffers, locks, XDR streams and dispatch
//! tables), authentication, or the port mapper: the port is known, and nothing is registered.
//!
//! **Method:** As in `net.tcp_rtt`, each call is timed alone. Each of the two variants has a server
//! process; both are on the peer's CPU, each asleep in its own read. Transaction numbers count up;
//! each answer must carry the number of its call and report that it was accepted and succeeded. On
//! UDP a call that is not answered within a second is sent again, as the protocol requires, and
//! answers to earlier calls are skipped; the number of repetitions is a proof. Connections end by a
//! reset, so no port stays in TIME_WAIT.
//!
//! **Calls:**
//! - `transport=tcp`: `write(`, not `sendto(`
//! - `transport=udp`: `sendto(`, not `write(`
//!
//! **Pitfalls:**
//! - lmbench `lat_rpc` needs a port mapper, and a call that fails or times out (25 ms) is not a
//!   failure of the benchmark.
//! - Its two figures, and those of the paper, include their library.
//! - Delayed acknowledgements and Nagle's algorithm play no part here: each message is one segment,
//!   answered at once.
//!
//! **Sources:** RFC 5531; lmbench 1996 tables 12 and 13 (RPC/TCP and RPC/UDP); lmbench3 `lat_rpc`.
//! See docs/methods/operating-system.md#rpc.

use super::exchange::{self, Calls};
use super::onc;
use crate::parts::{self, Composition, Part, Shown};
use crate::peer::{Peer, Service};
use crate::proofs;
use groma_harness::prelude::*;
use groma_harness::sys::counters::Usage;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Round trip of a remote procedure call that does nothing",
        about: about!("null.rs"),
        iteration: "one call and its answer",
        timing: Timing::Each,
        outputs: &[
            Output::MAIN,
            Output::named("bare", "round trip of as many bytes that nobody looks into").detail(),
            Output::named("tax", "what the protocol adds to its transport").difference("", "bare"),
        ],
        params: &[Param::word("transport", "transport of calls and answers", &["tcp", "udp"])
            .quick(&["tcp"])
            .standard(&["udp"])],
        scaling: Scaling::processes("each copy forks its other side, which a process with threads must not"),
        placements: &[Placement::SameCpu, Placement::SameLlc, Placement::Remote],
        needs: &[Need::Loopback],
        composed_of: COMPOSED_OF,
        interference: Interference::Blocking,
        target_half_width: 0.02,
        version: 2,
        ..Info::new("rpc.null")
    },
    run: Run::Here(run),
};

const COMPOSED_OF: &[Composition] = &[
    Composition {
        of: Shown::of("rpc.null", &[("transport", "tcp")]),
        hardware: &[],
        parts: &[Part::of(1.0, "a byte over TCP and back", parts::TCP)],
        rest: "72 bytes instead of 2; the call built, read and checked",
    },
    Composition {
        of: Shown::of("rpc.null", &[("transport", "udp")]),
        hardware: &[],
        parts: &[Part::of(1.0, "a datagram there and back", parts::UDP)],
        rest: "64 bytes instead of 8; the call built, read and checked; time limits of the reads",
    },
];

fn run(ctx: &mut Ctx) -> Outcome {
    let services = match ctx.word("transport") {
        "udp" => [&exchange::RPC_UDP, &exchange::BARE_UDP],
        _ => [&exchange::RPC_TCP, &exchange::BARE_TCP],
    };
    measure(ctx, services)
}

/// Calls the first service, and exchanges as many bytes with the second.
fn measure(ctx: &mut Ctx, [rpc_service, bare_service]: [&'static Service; 2]) -> Outcome {
    let rpc_peer = Peer::start(ctx, rpc_service)?;
    let bare_peer = Peer::start(ctx, bare_service)?;
    let far = rpc_peer.is_remote();
    let mut rpc = Calls::connect(rpc_service.transport, rpc_peer.address()).context("connecting")?;
    let mut bare = Calls::connect(bare_service.transport, bare_peer.address()).context("connecting")?;

    let before = Usage::thread();
    ctx.measure_variants(&mut [
        Variant::new("", |iters| {
            (0..iters).try_for_each(|_| rpc.call(onc::call, onc::successful_transaction)).context("calling")
        }),
        Variant::new("bare", |iters| {
            (0..iters).try_for_each(|_| bare.call(exchange::number, exchange::answer_number)).context("exchanging")
        }),
    ])?;
    let both = [rpc.end().context("ending the calls")?, bare.end().context("ending the exchange")?];
    // The second server inherited the descriptor that keeps the first one alive, so it ends first.
    let bare_exit = bare_peer.end()?;
    let rpc_exit = rpc_peer.end()?;
    if let (Some(mut all), Some(bare)) = (rpc_exit, bare_exit) {
        proofs::peer_ended_well(ctx, &bare);
        proofs::peer_ended_well(ctx, &all);
        all.usage.voluntary += bare.usage.voluntary;
        all.usage.involuntary += bare.usage.involuntary;
        proofs::switches_on_one_cpu(ctx, &before, &all);
    }
    let iterations = ctx.iterations() as f64;
    let answered: u64 = both.iter().map(|end| end.answered).sum();
    ctx.prove("answers compared per call", "1", answered as f64 / iterations, 1.0..=1.0);
    let again: u64 = both.iter().map(|end| end.again).sum();
    // A machine that is busy for a second answers late; a network loses packets.
    let (expected, most) = if far { ("below 0.5 of the calls", iterations / 2.0) } else { ("0, or few", 2.0) };
    ctx.prove("calls or segments sent again", expected, again as f64, 0.0..=most);
    let received: Option<u64> = both.iter().map(|end| end.received).sum();
    if let Some(received) = received {
        let expected = iterations * exchange::answer_bytes(rpc_service.transport) as f64;
        ctx.prove("bytes that TCP received per byte expected", "1", received as f64 / expected, 1.0..=1.0);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::{Session, Transport};
    use groma_harness::sys::clock::{Clock, Monotonic};
    use groma_harness::sys::io::{read_full, write_full};
    use groma_harness::testing::{assert_exceeds, try_out};
    use std::io;
    use std::os::fd::AsFd;

    /// Its answers have the number and the length of those to a call, and nothing else of them.
    static NO_CALLS: Benchmark =
        Benchmark { info: BENCH.info, run: Run::Here(|ctx| measure(ctx, [&exchange::BARE_TCP, &exchange::BARE_TCP])) };

    /// What a bare exchange takes at least here: many times as long as a call.
    const LONG_NS: u64 = 1_000_000;

    /// Exchanges as many bytes as are asked for, each time after a while.
    fn serve_slowly(session: Session) -> io::Result<()> {
        while let Some(connection) = session.accept()? {
            connection.set_nodelay(true)?;
            let (mut call, mut answer) = ([0; onc::MARK_BYTES + onc::CALL_BYTES], [0; exchange::ROOM]);
            while read_full(connection.as_fd(), &mut call).is_ok() {
                let end = Monotonic.now_ns() + LONG_NS;
                while Monotonic.now_ns() < end {
                    std::hint::spin_loop();
                }
                let (_, length) = exchange::respond_bare(&call, &mut answer)?.ok_or(io::ErrorKind::InvalidData)?;
                write_full(connection.as_fd(), &answer[..length])?;
            }
        }
        Ok(())
    }

    static SLOW: Service = Service { name: "rpc.test", transport: Transport::Tcp, serve: serve_slowly };
    static SLOW_BARE: Benchmark =
        Benchmark { info: BENCH.info, run: Run::Here(|ctx| measure(ctx, [&exchange::RPC_TCP, &SLOW])) };

    /// Proofs count the answers of both together.
    #[test]
    fn calls_and_bare_exchanges_have_their_own_series() {
        assert_exceeds(2.0, || {
            let tried = try_out(&SLOW_BARE, &[], None).expect("loopback");
            assert!(tried.least_ns("bare") >= LONG_NS as f64, "{}", tried.least_ns("bare"));
            tried.least_ns("bare") / tried.least_ns("")
        });
    }

    #[test]
    fn an_answer_that_does_not_say_that_the_call_succeeded_is_a_failure() {
        let ended = try_out(&NO_CALLS, &[], None).err();
        assert!(matches!(&ended, Some(BenchError::Failed(why)) if why.contains("did not succeed")), "{ended:?}");
    }
}
