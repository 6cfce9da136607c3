//! An HTTP/1.1 `GET` from a small server in another process, up to the last byte of the body.
//!
//! **Measures:** Request and response, over a persistent connection (`keep_alive`) or over one per
//! request (`close`). The latter includes `socket`, `connect`, and the server's `poll`, `accept`
//! and close, but not the client's own close. The body comes from the server's memory by one
//! `writev` together with the head, or by `sendfile` from a file in memory.
//!
//! **Does not measure:** A production server, a disk, encryption, or name resolution.
//!
//! **Method:** Each request is timed alone, one after the other. This is a closed loop, whose tail
//! is that of an idle server; under a fixed arrival rate, queueing would come on top. The client
//! reads in pieces of 64 KiB, parses the status line, and checks the length and the first and last
//! byte of every piece. The server reports before and after what it has used and sent: its CPU time
//! per request is a metric, its count of bodies a proof. The client closes connections of single
//! requests by a reset, so none stays in TIME_WAIT.
//!
//! **Calls:**
//! - `connection=keep_alive from=file`: `sendfile(`
//! - `connection=keep_alive from=file`: `MSG_MORE`; the head leaves in one segment with the file
//! - timed `connection=close from=memory`: `clock socket connect write read clock`; no close is
//!   timed
//!
//! **Pitfalls:**
//! - lmbench `lat_http` and `lmhttp`: empty and failed responses count as fast ones; the mean is
//!   over another number of requests than were made; the server sends malformed headers, runs on
//!   after its stop, and serves any path.
//! - Ports can run out in TIME_WAIT.
//! - Nagle's algorithm delays a response whose head and body are separate writes.
//!
//! **Sources:** lmbench3 `lat_http`; RFC 9112. See docs/methods/operating-system.md#http.

use super::client::{Client, server_usage};
use super::server::{MAX_BODY, SERVICE};
use crate::parts::{self, Composition, Part, Shown, Times};
use crate::peer::Peer;
use crate::proofs;
use groma_harness::prelude::*;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Request and whole response of HTTP/1.1 between two processes",
        about: about!("get.rs"),
        iteration: "one request, its response read to the end",
        timing: Timing::Each,
        outputs: &[Output::MAIN, Output::named("cpu_server", "CPU time of the server for a request").detail()],
        params: &[
            Param::size("size", "bytes in the body").quick(&["1K"]).full(&["0", "10K", "100K", "1M"]),
            Param::word("connection", "one persistent connection, or one per request", &["keep_alive", "close"])
                .quick(&["keep_alive"])
                .standard(&["close"]),
            Param::word(
                "from",
                "the server's source of the body: a buffer, or a file sent with sendfile",
                &["memory", "file"],
            )
            .quick(&["memory"]),
        ],
        scaling: Scaling::processes("each copy forks its own server, which a process with threads must not"),
        placements: &[Placement::SameCpu, Placement::SameLlc, Placement::Remote],
        needs: &[Need::Loopback],
        composed_of: COMPOSED_OF,
        interference: Interference::Blocking,
        target_half_width: 0.02,
        version: 2,
        ..Info::new("http.get")
    },
    run: Run::Here(run),
};

const COMPOSED_OF: &[Composition] = &[
    Composition {
        of: Shown::of("http.get", &[("connection", "keep_alive"), ("from", "memory")]),
        hardware: &[BODY],
        parts: &[Part::of(1.0, "a byte over TCP and back", parts::TCP), BODY],
        rest: "the request and its head built and parsed, the body checked",
    },
    Composition {
        of: Shown::of("http.get", &[("size", "1K"), ("connection", "close"), ("from", "memory")]),
        hardware: &[BODY],
        parts: &[
            Part::of(1.0, "a request over a connection that stays", KEPT),
            Part::of(1.0, "connecting", CONNECT),
            Part::difference(1.0, "accepting", ACCEPT, CONNECT),
        ],
        rest: "the server woken twice, its poll, sockets made and closed on both sides, the end by a reset",
    },
];

/// The body, copied to the socket and from it.
const BODY: Part =
    Part::of(0.0, "bytes of the body, read and written by two copies", parts::COPY).times(Times::Param(4.0, "size"));
/// A request over a connection that stays.
const KEPT: Shown = Shown::of("http.get", &[("size", "1K"), ("connection", "keep_alive"), ("from", "memory")]);
/// Connecting to a server that accepts later.
const CONNECT: Shown = Shown::of("net.tcp_connect", &[("acceptor", "later"), ("family", "v4")]);
/// Connecting and accepting.
const ACCEPT: Shown = Shown::of("net.tcp_accept", &[("family", "v4")]);

/// CPU time of the server for each of so many requests, in seconds: what it has used since it had
/// used `before_ns`.
fn seconds_each(before_ns: u64, after_ns: u64, requests: f64) -> f64 {
    after_ns.saturating_sub(before_ns) as f64 / 1e9 / requests
}

fn run(ctx: &mut Ctx) -> Outcome {
    let size = ctx.int("size");
    if size > MAX_BODY {
        return Err(BenchError::Unsupported(format!("a body has {MAX_BODY} bytes at most")));
    }
    let path = format!("/{}/{size}", ctx.word("from"));
    let peer = Peer::start(ctx, &SERVICE)?;
    let to = peer.address();
    // The first request makes the server create the body, before anything is counted. The server
    // serves one client at a time, so its usage is read before the persistent connection is made
    // and after it is closed.
    let mut first = Client::new(to, &path, true).context("connecting")?;
    let connection = first.get(size).context("getting")?;
    first.close(connection).context("closing")?;
    let [cpu_before, sent_before] = server_usage(to).context("asking what the server has used")?;

    let mut client = Client::new(to, &path, ctx.word("connection") == "close").context("connecting")?;
    let mut whole = 0u64;
    ctx.measure_staged(|iters, watch| {
        for _ in 0..iters {
            watch.start();
            let got = client.get(size);
            watch.stop();
            client.close(got.context("getting")?).context("closing")?;
            whole += 1;
        }
        Ok(())
    })?;
    let again = client.end().context("closing")?;
    let requests = ctx.iterations() as f64;
    let [cpu_after, sent_after] = server_usage(to).context("asking what the server has used")?;
    ctx.state_as("cpu_server", seconds_each(cpu_before, cpu_after, requests));
    let far = peer.is_remote();
    if let Some(exit) = peer.end()? {
        proofs::peer_ended_well(ctx, &exit);
    }
    ctx.prove("whole responses of status 200 per request", "1", whole as f64 / requests, 1.0..=1.0);
    let sent = sent_after.wrapping_sub(sent_before);
    ctx.prove("bodies that the server sent per request", "1", sent as f64 / requests, 1.0..=1.0);
    // A request is one segment. A busy machine may acknowledge it so late that it is sent again
    // (`net.tcp_rtt`).
    let (expected, most) =
        if far { ("below 0.5 per request", requests / 2.0) } else { ("0, or below 1 % when busy", requests / 100.0) };
    ctx.prove("segments that the client sent again", expected, again as f64, 0.0..=most);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn a_request_costs_what_was_used_for_requests() {
        assert_eq!(seconds_each(3_000_000_000, 5_000_000_000, 4.0), 0.5);
    }

    /// What the server had used before is less than what it has used afterwards.
    #[test]
    fn the_server_uses_cpu_time_for_requests() {
        let tried = try_out(&BENCH, &[("size", "100K")], None).expect("loopback");
        assert!(tried.stated("cpu_server").is_some_and(|seconds| seconds > 0.0), "{:?}", tried.result);
    }

    /// Both sides copy the body, and a copy reads it and writes it.
    #[test]
    fn a_body_is_read_and_written_by_two_copies() {
        assert_eq!(BODY.times, Times::Param(2.0 * 2.0, "size"));
    }

    #[test]
    fn a_body_that_no_server_has_is_unsupported() {
        assert!(matches!(try_out(&BENCH, &[("size", "1G")], None), Err(BenchError::Unsupported(_))));
    }
}
