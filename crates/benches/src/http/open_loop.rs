//! HTTP requests that arrive by a clock, whether or not the server has answered the last one.
//!
//! **Measures:** The time from when a request was *due* to the last byte of its response, while
//! requests are due at a share of the highest rate of this client and server (`load`, in percent).
//! `arrivals=random` has exponential gaps, as many independent users make them; `even` has equal
//! ones. `.p99` and `.p999` are what one of 100 and one of 1000 exceeds. `.peak` is the highest
//! rate, and `.closed_p99` the tail of the same server asked the usual way: the next request when
//! the last one is answered.
//!
//! **Does not measure:** A production server, or more than one connection: requests wait in a line
//! before one server that takes one at a time.
//!
//! **Method:** A tenth of the time goes to a closed loop; the median time of its requests is the
//! service time, and one request per service time the highest rate. Then the times at which
//! requests are due are drawn, and each is sent when it is due, or when the one before is answered,
//! if that is later: either way its latency begins when it was due. The client waits for that time
//! by reading the clock, since the lateness of a timer (`timer.sleep`) would count as the server's,
//! so both sides need a CPU of their own. A round has at least 3700 requests, and takes no more
//! than ten time limits.
//!
//! **Calls:**
//! - no trace of `load`, `arrivals`: the client reads the clock in between, without a call
//!
//! **Proofs:** Every response is whole, the server has sent as many bodies as were due, and none
//! was sent before it was due. Where fewer than 95 % of the due requests were answered within the
//! time that they should have taken, the line only grows: the values are `unresolved`.
//!
//! **Pitfalls:**
//! - A client that waits for an answer before it asks again does not send the requests that a
//!   stalled server would have made wait: *coordinated omission*. ab, `wrk` and lmbench's
//!   `lat_http` are such clients.
//! - Near the highest rate the tail is a matter of the line: with random arrivals at 90 %, the mean
//!   wait is 4.5 service times (M/D/1).
//! - A neighbour that takes the server's CPU for 2 ms delays a hundred requests, as it would in
//!   service.
//!
//! **Sources:** Tene, "How NOT to measure latency"; `wrk2`; Schroeder, Wierman and Harchol-Balter,
//! "Open versus closed" (NSDI 2006). See docs/methods/operating-system.md#open-loop.

use super::client::{Client, server_usage};
use super::server::SERVICE;
use crate::peer::Peer;
use crate::proofs;
use crate::quantiles::state_quantile;
use groma_harness::prelude::*;
use groma_harness::stats::order::{median, quantile_if_enough};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Response time of HTTP from when a request was due, at a share of the highest rate",
        about: about!("open_loop.rs"),
        iteration: "as many requests as the time limit allows, each from when it was due",
        timing: Timing::Stated,
        outputs: &[
            Output::MAIN,
            Output::named("p99", "what one request of 100 exceeds"),
            Output::named("p999", "what one request of 1000 exceeds"),
            Output::named("peak", "the highest rate, of requests one after the other")
                .quantity(Quantity::Rate)
                .detail(),
            Output::named("closed_p99", "what one of 100 of these exceeds").detail(),
        ],
        params: &[
            Param::count("load", "rate, in percent of the highest").quick(&["50", "90"]).full(&["10", "75"]),
            Param::word("arrivals", "the gaps between requests: exponential, or equal", &["random", "even"])
                .quick(&["random"])
                .full(&["even"]),
        ],
        scaling: Scaling::alone("it states values, and its client does not share its CPU"),
        placements: &[Placement::SameLlc, Placement::Remote],
        needs: &[Need::Loopback],
        interference: Interference::Blocking,
        target_half_width: 0.05,
        tier: Tier::Standard,
        ..Info::new("http.open_loop")
    },
    run: Run::Here(run),
};

/// Bytes of a body.
const SIZE: u64 = 1024;
/// The part of the time limit that the closed loop takes, and its fewest requests: enough for its
/// own quantile.
const CLOSED_SHARE: u64 = 10;
const MIN_CLOSED_REQUESTS: usize = 370;
/// The fewest requests of the open loop: enough for the quantile of one in a thousand.
const MIN_REQUESTS: usize = 3700;
/// The most, which bounds the memory.
const MAX_REQUESTS: usize = 1 << 20;
/// Times the time limit that a round may take for them.
const PATIENCE: u64 = 10;
/// The share of the intended rate that has to be kept.
const KEPT: f64 = 0.95;

/// When each of so many requests is due, in nanoseconds from the start. `uniform` draws numbers
/// from 0 up to, and without, 1.
fn due_times(count: usize, gap_ns: f64, is_random: bool, mut uniform: impl FnMut() -> f64) -> Vec<u64> {
    let mut at = 0.0;
    let next = |_| {
        let due = at as u64;
        at += if is_random { -gap_ns * (1.0 - uniform()).ln() } else { gap_ns };
        due
    };
    (0..count).map(next).collect()
}

/// What happened to the requests: latency in seconds, and those that were sent before they were
/// due.
struct Seen {
    latencies: Vec<f64>,
    early: usize,
    /// From when the first request was due to the last answer.
    elapsed_ns: u64,
}

/// Sends each request when it is due, or as soon as the one before is answered. Tests pass a clock
/// and a server of their own.
fn open_loop(due: &[u64], now_ns: impl Fn() -> u64, mut request: impl FnMut() -> Outcome) -> Result<Seen, BenchError> {
    let mut seen = Seen { latencies: Vec::with_capacity(due.len()), early: 0, elapsed_ns: 0 };
    let start = now_ns();
    for &at in due {
        let at = start + at;
        let mut now = now_ns();
        while now < at {
            std::hint::spin_loop();
            now = now_ns();
        }
        seen.early += usize::from(now < at);
        request()?;
        let end = now_ns();
        seen.latencies.push((end - at) as f64 * 1e-9);
        seen.elapsed_ns = end - start;
    }
    Ok(seen)
}

fn run(ctx: &mut Ctx) -> Outcome {
    let load = ctx.int("load");
    if load >= 100 {
        return Err(BenchError::Unsupported(
            "a load is 99 percent at most: from 100 on the line only grows".to_owned(),
        ));
    }
    let peer = Peer::start(ctx, &SERVICE)?;
    let to = peer.address();
    let path = format!("/memory/{SIZE}");
    // As in `http.get`: the first request makes the body, and usage is asked between clients.
    let mut first = Client::new(to, &path, true).context("connecting")?;
    let connection = first.get(SIZE).context("getting")?;
    first.close(connection).context("closing")?;
    let [_, sent_before] = server_usage(to).context("asking what the server has used")?;
    let mut client = Client::new(to, &path, false).context("connecting")?;
    let mut whole = 0u64;
    let mut request = || -> Outcome {
        client.get(SIZE).context("getting")?;
        whole += 1;
        Ok(())
    };

    let begun = ctx.now_ns();
    let (limit, mut closed) = (ctx.time_limit_ns(), Vec::with_capacity(1 << 12));
    let mut now = begun;
    while closed.len() < MIN_CLOSED_REQUESTS || now < begun + limit / CLOSED_SHARE {
        request()?;
        let end = ctx.now_ns();
        closed.push((end - now) as f64 * 1e-9);
        now = end;
    }
    let Some(service) = median(&closed).filter(|seconds| *seconds > 0.0) else {
        return Err(BenchError::Failed("the clock stood still".to_owned()));
    };
    let gap_ns = service * 1e9 * 100.0 / load as f64;
    let fits = |ns: u64| (ns as f64 / gap_ns) as usize;
    let count = fits(limit).max(MIN_REQUESTS.min(fits(PATIENCE * limit))).clamp(1, MAX_REQUESTS);
    let due = {
        let is_random = ctx.word("arrivals") == "random";
        let rng = ctx.rng();
        due_times(count, gap_ns, is_random, || rng.unit())
    };
    let seen = open_loop(&due, || ctx.now_ns(), &mut request)?;
    ctx.sampled_since(begun);
    let again = client.end().context("closing")?;
    let [_, sent_after] = server_usage(to).context("asking what the server has used")?;
    let far = peer.is_remote();
    if let Some(exit) = peer.end()? {
        proofs::peer_ended_well(ctx, &exit);
    }

    let asked = (closed.len() + due.len()) as f64;
    state(ctx, service, &closed, &seen, due.last().copied().unwrap_or(0) as f64 + gap_ns);
    ctx.prove("whole responses of status 200 per request", "1", whole as f64 / asked, 1.0..=1.0);
    let sent = sent_after.wrapping_sub(sent_before) as f64;
    ctx.prove("bodies that the server sent per request", "1", sent / asked, 1.0..=1.0);
    ctx.prove("requests sent before they were due", "0", seen.early as f64, 0.0..=0.0);
    let (expected, most) = if far { ("below 0.5", 0.5) } else { ("0, or below 0.01 when busy", 0.01) };
    ctx.prove("segments that the client sent again per request", expected, again as f64 / asked, 0.0..=most);
    Ok(())
}

/// States the quantiles, if the rate was kept. `intended_ns` is the time that the requests should
/// have taken.
fn state(ctx: &mut Ctx, service: f64, closed: &[f64], seen: &Seen, intended_ns: f64) {
    ctx.state_as("peak", 1.0 / service);
    if let Some(tail) = quantile_if_enough(closed, 0.99) {
        ctx.state_as("closed_p99", tail);
    }
    let kept = intended_ns / (seen.elapsed_ns as f64).max(1.0);
    ctx.fact("http.requests", seen.latencies.len());
    ctx.fact("http.rate_kept_percent", format!("{:.1}", 100.0 * kept.min(1.0)));
    for (output, p) in [("", 0.5), ("p99", 0.99), ("p999", 0.999)] {
        if kept < KEPT {
            let why = format!("the server kept {:.0} % of the rate: the line of requests only grew", 100.0 * kept);
            ctx.unresolved(output, &why);
        } else {
            state_quantile(ctx, output, p, &seen.latencies);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::stats::Rng;
    use groma_harness::sys::affinity;
    use groma_harness::testing::{try_out, try_placed};
    use std::cell::Cell;

    /// A server that takes 10 ns for each request, and stalls for 100 ns at the third one.
    #[test]
    fn requests_that_a_stalled_server_makes_wait_count_from_when_they_were_due() {
        let (now, served) = (Cell::new(1000u64), Cell::new(0));
        let request = || {
            served.set(served.get() + 1);
            now.set(now.get() + if served.get() == 3 { 110 } else { 10 });
            Ok(())
        };
        // The clock moves while the client waits.
        let clock = || {
            now.set(now.get() + 1);
            now.get()
        };
        let due: Vec<u64> = (0..8).map(|i| i * 20).collect();
        let seen = open_loop(&due, clock, request).expect("nothing fails");
        let ns: Vec<u64> = seen.latencies.iter().map(|seconds| (seconds * 1e9).round() as u64).collect();
        assert_eq!((seen.early, served.get()), (0, 8));
        // Before it, a request takes the server's time and what the clock itself takes; those that
        // were due during the stall take what was left of it, in their order.
        assert!(ns[0] < 20 && ns[1] < 20 && ns[2] >= 110, "{ns:?}");
        assert!(ns[3] >= 90 && ns[4] >= 80 && ns[3] > ns[4] && ns[4] > ns[5], "{ns:?}");
    }

    #[test]
    fn random_gaps_have_the_mean_of_even_ones_and_their_deviation() {
        let mut rng = Rng::new(5);
        let gaps = |due: &[u64]| due.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect::<Vec<_>>();
        let even = gaps(&due_times(10_000, 1000.0, false, || 0.5));
        assert!(even.iter().all(|gap| *gap == 1000.0));
        let random = gaps(&due_times(10_000, 1000.0, true, || rng.unit()));
        let mean = random.iter().sum::<f64>() / random.len() as f64;
        let variance = random.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / random.len() as f64;
        assert!((mean / 1000.0 - 1.0).abs() < 0.04, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.05, "{variance}");
    }

    /// On one CPU the client would wait on the server's CPU.
    #[test]
    fn more_load_is_more_waiting() {
        let cpus = affinity::allowed().expect("an affinity");
        let [here, there, ..] = cpus[..] else { return println!("skipped: one CPU") };
        let tried = try_placed(&BENCH, &[("load", "50")], None, Placement::SameLlc, &[here, there]).expect("loopback");
        assert_eq!(tried.proven("requests sent before they were due"), 0.0);
        assert!(tried.stated("peak").is_some_and(|rate| rate > 0.0));
        // Half of all requests of a closed loop are no faster than its median; a line adds to it.
        if let (Some(open), Some(peak)) = (tried.stated(""), tried.stated("peak")) {
            assert!(open * peak > 0.5, "{open} {peak}");
        }
    }

    #[test]
    fn a_full_server_is_unsupported() {
        assert!(matches!(try_out(&BENCH, &[("load", "100")], None), Err(BenchError::Unsupported(_))));
    }
}
