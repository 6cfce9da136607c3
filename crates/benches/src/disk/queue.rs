//! Requests of 4 KiB to a disk, many at a time.
//!
//! **Measures:** How many direct requests (O_DIRECT) of 4 KiB at random places a disk completes per
//! second while `depth` of them are in flight. `access=mixed` writes three of ten, and `write` all,
//! over blocks of our own file. `.latency`, `.p99` and `.p999` are of single requests, from the
//! call that submits to the return of the call that brings the completion: the median, and what one
//! of 100 and one of 1000 exceeds.
//!
//! **Does not measure:** The page cache, or what a thread for each request would cost. It never
//! writes to a device.
//!
//! **Method:** One thread keeps the queue full through io_uring: whatever has completed is
//! replaced, each request by a call of its own, so that the disk has the first while the next is
//! made; the last of these calls waits for the next completion. Nothing is counted before each slot
//! was used twice; then requests are counted from one completion to a later one, so neither filling
//! nor draining the queue is in the rate. A round lasts for its time limit and 3700 requests, and
//! for no more than ten time limits. No place is used twice within a round. Every read must bring
//! the block of its place (`disk.random_read`), and the kernel's count of what came from a disk
//! must agree.
//!
//! **Calls:**
//! - no trace of `access`: the kernel reads the requests from memory
//!
//! **Pitfalls:**
//! - Quantiles need enough requests (368 for `.p99`, 3687 for `.p999`); a round with fewer has
//!   none.
//! - Latency grows with the depth once the disk is busy: depth / latency is the rate.
//! - At great depths one CPU may be the limit, and not the disk.
//! - At small depths the CPU that the disk interrupts is faster than others: 13,600 and 9,800
//!   requests per second at depth 1 (2-vCPU KVM guest).
//! - Hosts, volumes and caches: see `disk.random_read`.
//!
//! **Sources:** fio with `ioengine=io_uring`, `rw=randread`, `rw=randrw rwmixread=70` and
//! `rw=randwrite`; held against it in docs/methods/operating-system.md#disk-queue.

use super::{
    BLOCK, NEEDS, ON, Places, REQUEST, SIZE, Target, UNCOUNTED, check_stamps, fill_randomly, prove_all_written,
    prove_read, put_stamps,
};
use crate::quantiles::state_quantile;
use crate::rings::rings;
use groma_harness::prelude::*;
use groma_harness::sys::counters::Usage;
use groma_harness::sys::uring::Requests;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Direct requests of 4 KiB to a disk, many in flight",
        about: about!("queue.rs"),
        version: 2,
        quantity: Quantity::Rate,
        iteration: "as many requests as the time limit allows",
        timing: Timing::Stated,
        outputs: &[
            Output::MAIN,
            Output::named("latency", "median time of a request").quantity(Quantity::Latency),
            Output::named("p99", "what one request of 100 exceeds").quantity(Quantity::Latency),
            Output::named("p999", "what one request of 1000 exceeds").quantity(Quantity::Latency),
        ],
        params: &[
            ON,
            SIZE,
            Param::count("depth", "requests in flight").quick(&["16"]).standard(&["1", "4", "64", "256"]),
            Param::word(
                "access",
                "reads alone, seven reads and three writes of ten, or writes alone",
                &["read", "mixed", "write"],
            )
            .quick(&["read"])
            .standard(&["mixed"])
            .full(&["write"]),
        ],
        // Writes among the reads at one depth.
        combination_tier: |params| {
            let writes = params.word("access").is_some_and(|access| writes_of_ten(access) > 0);
            if writes && params.int("depth") != Some(16) { Tier::Full } else { Tier::Quick }
        },
        scaling: Scaling::alone("the depth says how many requests there are at once"),
        interference: Interference::Blocking,
        target_half_width: 0.05,
        needs: NEEDS,
        ..Info::new("disk.queue")
    },
    run: Run::Here(run),
};

/// Requests that a round makes however short its time limit, for its quantiles.
const MIN_REQUESTS: usize = 3700;
/// Times the time limit that it may take for them.
const PATIENCE: u64 = 10;
/// Of ten requests, how many are writes, by the word of `access`.
fn writes_of_ten(access: &str) -> u64 {
    match access {
        "mixed" => 3,
        "write" => 10,
        _ => 0,
    }
}

/// What was counted.
#[derive(Default)]
struct Counted {
    /// Reads and writes of the whole round.
    reads: u64,
    writes: u64,
    /// Requests that have ended, those that are not counted included.
    ended: usize,
    /// When the last of those ended that are not counted because they fill the queue.
    begun_ns: u64,
    /// The time of each request that was counted, in seconds.
    latencies: Vec<f64>,
    /// The time in which they completed, in nanoseconds.
    elapsed_ns: u64,
    /// The fewest requests in flight once all slots were submitted again.
    fewest: usize,
    /// Nothing is counted any more: the queue runs empty.
    over: bool,
}

impl Counted {
    /// A request has ended. It counts when each of the `depth` slots was used twice before.
    #[inline]
    fn end_one(&mut self, submitted_ns: u64, now_ns: u64, depth: usize) {
        self.ended += 1;
        if self.over {
            return;
        }
        if self.ended > 2 * depth {
            self.latencies.push(now_ns.saturating_sub(submitted_ns) as f64 * 1e-9);
            self.elapsed_ns = now_ns - self.begun_ns;
        } else {
            self.begun_ns = now_ns;
        }
    }

    /// Ends the count when its time is over, if the requests are enough for the quantiles or are
    /// not waited for any longer.
    #[inline]
    fn end_if_enough(&mut self, now_ns: u64, limit_ns: u64, depth: usize) {
        let spent = if self.ended <= 2 * depth { 0 } else { now_ns.saturating_sub(self.begun_ns) };
        self.over |= spent >= limit_ns && (self.latencies.len() >= MIN_REQUESTS || spent >= PATIENCE * limit_ns);
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let (depth, writes) = (ctx.int("depth"), writes_of_ten(ctx.word("access")));
    let ring = rings(depth)?;
    let target = if writes > 0 { Target::open_to_write(ctx) } else { Target::open(ctx) }?;
    let mut places = target.places(ctx, REQUEST as u64);
    let file = target.file.try_clone().context("duplicating the descriptor")?;
    let mut requests = Requests::new(ring, file, depth as usize, REQUEST).context("mapping buffers")?;
    for slot in 0..depth as usize {
        fill_randomly(ctx, requests.buffer(slot));
    }
    let before = [Usage::thread(), Usage::process()];
    let counted = keep_full(ctx, &target, &mut requests, &mut places, writes)?;
    let asked = counted.reads * REQUEST as u64;
    // Requests that would wait for something are made by other threads of this process.
    let [by_thread, by_process] = [Usage::thread().since(&before[0]), Usage::process().since(&before[1])];
    let used = if by_thread.blocks_in as f64 * BLOCK >= 0.99 * asked as f64 { by_thread } else { by_process };
    let blocks = if counted.reads > 0 { used.blocks_in } else { by_process.blocks_out };
    if blocks == 0 {
        return Err(BenchError::Unsupported(UNCOUNTED.to_owned()));
    }
    if counted.reads > 0 {
        prove_read(ctx, &used, asked);
    }
    if counted.writes > 0 {
        prove_all_written(ctx, by_process.blocks_out as f64 * BLOCK, counted.writes * REQUEST as u64);
    }
    // By Little's law; requests that began before the count are in it as a whole, those that ended
    // after it are not at all, and of many that makes no difference.
    let in_flight = counted.latencies.iter().sum::<f64>() / (counted.elapsed_ns as f64 * 1e-9);
    ctx.fact("disk.in_flight", format!("{in_flight:.1}"));
    let fewest = counted.fewest as f64 / depth as f64;
    ctx.prove("requests in flight once all are submitted, of the depth", "exactly 1", fewest, 1.0..=1.0);
    // Where the CPU is the limit, all have ended when the last is submitted: on average half of
    // them are in flight, and fewer on a CPU that others use.
    if counted.latencies.len() as u64 >= 16 * depth {
        ctx.prove("mean requests in flight, of the depth", "1 (0.25 to 1.2)", in_flight / depth as f64, 0.25..=1.2);
    }
    state(ctx, &counted);
    if counted.reads > 0 {
        target.compare_with_reused(ctx, &mut places)?;
    }
    Ok(())
}

/// Keeps the queue full until enough was counted, then lets it run empty.
fn keep_full(
    ctx: &mut Ctx,
    target: &Target,
    requests: &mut Requests,
    places: &mut Places,
    writes_of_ten: u64,
) -> Result<Counted, BenchError> {
    let depth = ctx.int("depth") as usize;
    let mut counted = Counted { latencies: Vec::with_capacity(1 << 16), fewest: usize::MAX, ..Counted::default() };
    // By slot: the offset, when the request was submitted, and whether it writes.
    let mut slots = vec![(0, 0, false); depth];
    let mut free: Vec<usize> = (0..depth).collect();
    let (limit, begun) = (ctx.time_limit_ns(), ctx.now_ns());
    while !(counted.over && requests.in_flight() == 0) {
        if counted.over || free.is_empty() {
            free.clear();
            requests.enter(1).context("io_uring_enter")?;
        }
        while let Some(slot) = free.pop() {
            let at = places.draw();
            let writes = ctx.rng().below(10) < writes_of_ten;
            slots[slot] = (at, ctx.now_ns(), writes);
            if writes {
                put_stamps(requests.buffer(slot), at);
                requests.write(slot, at);
            } else {
                // Nothing that an earlier request left may pass for an answer.
                requests.buffer(slot)[..8].fill(0);
                requests.read(slot, at);
            }
            // One call for each request, so that the disk has the first while the next is made.
            requests.enter(u32::from(free.is_empty())).context("io_uring_enter")?;
        }
        if !counted.over {
            counted.fewest = counted.fewest.min(requests.in_flight());
        }
        let now = ctx.now_ns();
        while let Some(request) = requests.pop() {
            let (at, submitted, writes) = slots[request.slot];
            if request.result != REQUEST as i32 {
                let error = || std::io::Error::from_raw_os_error(-request.result);
                let how = if request.result < 0 { error().to_string() } else { format!("{} B", request.result) };
                return Err(BenchError::Failed(format!("a request of {REQUEST} B at {at}: {how}")));
            }
            match writes {
                true => counted.writes += 1,
                false if target.ours => {
                    check_stamps(requests.buffer(request.slot), at)?;
                    counted.reads += 1;
                }
                false => counted.reads += 1,
            }
            free.push(request.slot);
            counted.end_one(submitted, now, depth);
        }
        counted.end_if_enough(now, limit, depth);
    }
    ctx.sampled_since(begun);
    Ok(counted)
}

/// The outputs that are quantiles of the latency.
const QUANTILES: [(&str, f64); 3] = [("latency", 0.5), ("p99", 0.99), ("p999", 0.999)];

fn state(ctx: &mut Ctx, counted: &Counted) {
    let n = counted.latencies.len();
    ctx.fact("disk.requests", n);
    ctx.state(n as f64 / (counted.elapsed_ns as f64 * 1e-9));
    QUANTILES.into_iter().for_each(|(output, p)| state_quantile(ctx, output, p, &counted.latencies));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::tests::on_a_file;
    use groma_harness::stats::order::quantile_if_enough;
    use groma_harness::testing::try_out;

    #[test]
    fn as_many_are_in_flight_as_were_asked_for() {
        for depth in ["1", "8"] {
            let Some(tried) = on_a_file(&BENCH, &[("depth", depth)]) else { return };
            assert!(tried.proven("bytes that came from a disk, of those asked for") >= 0.99);
            assert!(tried.proven("mean requests in flight, of the depth") >= 0.25);
            assert_eq!(tried.proven("requests in flight once all are submitted, of the depth"), 1.0);
        }
    }

    #[test]
    fn three_of_ten_requests_write_or_all() {
        let read = "bytes that came from a disk, of those asked for";
        for (access, reads) in [("mixed", true), ("write", false)] {
            let Some(tried) = on_a_file(&BENCH, &[("access", access), ("depth", "4")]) else { return };
            assert!(tried.proven("bytes that went to a disk, of those written") >= 0.99);
            assert_eq!(!tried.proofs_held(read).is_empty(), reads, "{access}");
        }
        assert_eq!(["read", "mixed", "write"].map(writes_of_ten), [0, 3, 10]);
    }

    #[test]
    fn reads_have_many_depths_and_reads_with_writes_one() {
        let depths = |access, tier| -> Vec<u64> {
            let points = BENCH.info.points(tier);
            points.iter().filter(|p| p.word("access") == Some(access)).filter_map(|p| p.int("depth")).collect()
        };
        assert_eq!((depths("read", Tier::Standard).len(), depths("mixed", Tier::Standard)), (5, vec![16]));
        assert_eq!(["read", "mixed", "write"].map(|access| depths(access, Tier::Full).len()), [5; 3]);
    }

    #[test]
    fn a_device_is_never_written() {
        let tried = try_out(&BENCH, &[("on", "/dev/null"), ("access", "mixed")], None);
        assert!(matches!(tried, Err(BenchError::Unsupported(_))), "{tried:?}");
    }

    /// Neither the requests that fill the queue nor those that empty it are in the rate.
    #[test]
    fn requests_count_between_the_filling_of_the_queue_and_its_end() {
        let mut counted = Counted::default();
        for (submitted, now) in [(100, 1000), (200, 1100), (1000, 1900), (1100, 2300), (1900, 3000), (2300, 3700)] {
            counted.end_one(submitted, now, 2);
        }
        counted.over = true;
        counted.end_one(3000, 9000, 2);
        assert_eq!((counted.latencies, counted.elapsed_ns), (vec![1100.0 * 1e-9, 1400.0 * 1e-9], 1400));
    }

    #[test]
    fn a_round_ends_with_its_time_and_enough_requests_or_without_patience() {
        for (ended, requests, spent, over) in [
            (5, MIN_REQUESTS, 9, false),
            (5, MIN_REQUESTS - 1, 10, false),
            (5, MIN_REQUESTS, 10, true),
            (5, 1, 10 * PATIENCE - 1, false),
            (5, 1, 10 * PATIENCE, true),
            // The queue has not been used twice.
            (4, 0, 1000 * PATIENCE, false),
        ] {
            let mut counted = Counted { ended, begun_ns: 50, latencies: vec![1.0; requests], ..Counted::default() };
            counted.end_if_enough(50 + spent, 10, 2);
            assert_eq!(counted.over, over, "{ended} ended, {requests} counted, {spent} ns");
            // It does not begin again.
            counted.over = true;
            counted.end_if_enough(50, 10, 2);
            assert!(counted.over);
        }
    }

    /// The rate is of the requests that were counted, over the time in which they ended.
    #[test]
    fn a_round_states_its_rate_and_its_quantiles() {
        fn stated(ctx: &mut Ctx) -> Outcome {
            let latencies: Vec<f64> =
                (0..MIN_REQUESTS).map(|i| if i < MIN_REQUESTS / 50 { 5e-3 } else { 1e-3 }).collect();
            let counted = Counted {
                ended: MIN_REQUESTS + 99,
                reads: 9999,
                elapsed_ns: 500_000_000,
                latencies,
                ..Counted::default()
            };
            state(ctx, &counted);
            Ok(())
        }
        let bench = Benchmark { info: Info { needs: &[], ..BENCH.info }, run: Run::Here(stated) };
        let tried = try_out(&bench, &[], None).expect("values");
        assert_eq!(tried.stated(""), Some(MIN_REQUESTS as f64 / 0.5));
        assert_eq!(["latency", "p99"].map(|name| tried.stated(name)), [Some(1e-3), Some(5e-3)]);
        assert_eq!(tried.result.fact("disk.requests"), Some(MIN_REQUESTS.to_string().as_str()));
    }

    /// Of 20000 requests 40 take 100 ms, 360 more 10 ms, and all others 1 ms: twice as many as are
    /// beyond the quantile, so that none lies where one length ends.
    #[test]
    fn a_quantile_is_what_so_many_requests_exceed() {
        let latency = |i: u32| match i {
            0..40 => 100e-3,
            40..400 => 10e-3,
            _ => 1e-3,
        };
        let all: Vec<f64> = (0..20_000).map(latency).collect();
        let quantiles = |all: &[f64]| QUANTILES.map(|(output, p)| (output, quantile_if_enough(all, p)));
        assert_eq!(quantiles(&all), [("latency", Some(1e-3)), ("p99", Some(10e-3)), ("p999", Some(100e-3))]);
        assert!(quantiles(&all[..10]).iter().any(|(_, value)| value.is_none()), "too few say nothing of the tail");
    }
}
