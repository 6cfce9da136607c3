//! Memory-level parallelism: how many cache misses one core overlaps, by where they are served.
//!
//! **Measures:** Loads from random places along 1, 2, 4, ... 64 independent chains at once. The
//! main value is the time of a load on one chain over the lowest time on several: the loads that
//! overlap on average at best. `chains` is the first number of chains beyond which more of them add
//! less than 2 %, where there is one; `rate` is the highest number of loads per second, and
//! `bandwidth` the bytes of the lines that they move. The fact `limiter` names what limits the
//! value.
//!
//! **Does not measure:** The number of a core's miss buffers. The value is what they, the queues
//! behind them and the instruction window let through.
//!
//! **Method:** The nodes of one shuffled buffer are dealt to the chains in turn, anew for each
//! number of chains (a node holds a pointer for each). So chains share no node, no chain runs
//! behind another, and all are within the same 32 pages at any time: translation costs many chains
//! what it costs one. In buffers larger than the caches all lines are flushed before the search,
//! where the CPU can, and each number of chains begins at a place not visited before. Every number
//! is the fastest of some short windows, compared in cycles. Cached buffers are walked several
//! times first, all numbers are taken twice there, each after a lap of its own, and a single chain
//! is taken again at the end. Where more loads seem to overlap than there are chains, the single
//! chain was served from further away than the others, and only the rate is reported.
//!
//! A stream of loads over the same buffer, and the same loops on a buffer in the L1 cache, are
//! measured in the same round for the limiter:
//! - `bandwidth`: lines arrive at four fifths of the stream's rate or more.
//! - `instructions`: loads reach four fifths of their rate in the L1 cache.
//! - `miss buffers`: a plateau at neither.
//! - `none up to N chains`: the last step still adds 2 %. The value is a lower bound, and `chains`
//!   is left out.
//!
//! **Pitfalls:**
//! - Several starting points in one cycle: one chain finds what the other fetched.
//! - Too few chains (lmbench stops at 16, multichase at 10).
//! - Chains whose addresses are in memory: each step then takes one more store and load. That hides
//!   behind memory latency, but not where a load takes 5 or 15 cycles. Buffers of up to the private
//!   cache are therefore measured only with as many chains as there are registers, 12 on x86-64 and
//!   24 elsewhere.
//! - Lines in the L1 cache do not move, so `bandwidth` is left out there.
//!
//! **Sources:** lmbench3 `par_mem`. See docs/methods/memory.md#memory-level-parallelism.

use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::arch::parallel_chase::{PARALLEL_CHASE_UNROLL, PARALLEL_CHASES};
use groma_harness::sys::pages::{Map, Policy};
use groma_harness::sys::parallel_chase::{Chains, Link, Order};
use groma_harness::sys::stream::{Op, Stream};
use groma_harness::sys::topology::Topology;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Loads that one core overlaps at best, by working set",
        about: about!("parallelism.rs"),
        quantity: Quantity::Ratio,
        better: Some(Better::Higher),
        iteration: "16 loads on each of several chains",
        timing: Timing::Stated,
        outputs: &[
            Output::MAIN,
            Output::named("chains", "Chains beyond which more of them add less than 2 %").quantity(Quantity::Count),
            Output::named("rate", "Loads a second at best").quantity(Quantity::Rate),
            Output::named("bandwidth", "Bytes a second of the lines loaded at best")
                .quantity(Quantity::Bandwidth)
                .detail(),
        ],
        params: &[
            Param::size("size", "working set of all chains together in bytes")
                .takes(Memory::PerMember(1))
                .quick(&["128M"])
                .standard(&["16K", "512K", "8M"])
                .full(&["512M"]),
            Param::word("pages", "base pages or transparent huge pages", &["base", "huge"]).quick(&["base"]),
        ],
        scaling: Scaling::alone(
            "it searches within a round instead of taking samples that could overlap: see mem.random_read",
        ),
        target_half_width: 0.03,
        class_tier: Tier::Full,
        ..Info::new("mem.parallelism")
    },
    run: Run::Here(run),
};

/// Windows for each number of chains: 50 us each, hence at most 70000 loads at 5 ns.
const WINDOWS: u32 = 5;
/// A larger number of chains that gains less counts as no gain.
const GAIN: f64 = 1.02;
/// A rate of this share of the stream's, or of the same loop's in L1, counts as limited by it.
const ALL: f64 = 0.8;
/// The most overlapping loads per chain that can be true.
const TOO_GOOD: f64 = 1.15;
/// Laps that bring a buffer into the intended cache, and sweeps over the numbers of chains there. A
/// shared cache takes lines in over several laps; without them the first numbers would be those of
/// memory.
const LAPS: u64 = 8;
const SWEEPS: usize = 2;
/// Pointers in a line of 64 bytes.
const IN_A_LINE: usize = 8;
/// Offset of the second line with pointers in a node of 256 bytes: not the line that is fetched in
/// a pair with the first.
const SECOND: usize = 128;
/// The buffer of the same loops in the first-level cache.
const NEAR_BYTES: usize = 8 << 10;
/// Pieces in which a large buffer is streamed over.
const PIECE: usize = 64 << 10;
/// Buffers of up to this size count as cached: they are walked first, larger ones are flushed. See
/// docs/methods/memory.md#warm-up.
const WARM: u64 = 16 << 20;
/// Assumed size of the first-level data cache where none is declared.
const ASSUMED_FIRST: u64 = 32 << 10;

/// The cost of a load on a number of chains.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    chains: usize,
    seconds: f64,
    cycles: f64,
    /// Whether the sibling thread rested meanwhile.
    alone: bool,
}

/// The result of a curve over numbers of chains.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Found {
    /// The point with the fewest cycles.
    best: Point,
    /// Cycles of a load on one chain over the fewest.
    parallelism: f64,
    /// The first number of chains after which no step adds 2 %, where that is not the last.
    plateau: Option<usize>,
    /// Whether no number of chains overlaps more loads than it has. Otherwise the lines of the
    /// single chain came from another level.
    one_level: bool,
    /// Whether all points were had alone: a busy sibling takes miss buffers, and any of them may
    /// then be too slow to be the best.
    alone: bool,
}

/// Takes a point into the curve: of several sweeps one that was had alone, and of these the better
/// one, since noise only adds cycles.
fn keep_best(curve: &mut Vec<Point>, i: usize, point: Point) {
    match curve.get_mut(i) {
        Some(before) if (before.alone, -before.cycles) >= (point.alone, -point.cycles) => {}
        Some(before) => *before = point,
        None => curve.push(point),
    }
}

/// Reads a curve. Noise only adds cycles, so a disturbed point is no plateau if a point beyond it
/// is better.
fn read_curve(curve: &[Point]) -> Option<Found> {
    let first = curve.first().filter(|point| point.chains == 1)?;
    let best = *curve.iter().min_by(|a, b| a.cycles.total_cmp(&b.cycles))?;
    let plateau = curve[..curve.len() - 1].iter().position(|point| {
        // The best of all points beyond this one.
        let beyond = curve.iter().filter(|later| later.chains > point.chains).map(|later| later.cycles);
        point.cycles < beyond.fold(f64::INFINITY, f64::min) * GAIN
    });
    let one_level = curve.iter().all(|point| first.cycles / point.cycles <= point.chains as f64 * TOO_GOOD);
    let (parallelism, plateau) = (first.cycles / best.cycles, plateau.map(|i| curve[i].chains));
    Some(Found { best, parallelism, plateau, one_level, alone: curve.iter().all(|point| point.alone) })
}

/// What limits the plateau. `bytes` is the bytes per cycle of the lines at best and of the stream,
/// `loads` the loads per cycle at best and of the same loop in the L1 cache.
fn limiter(found: &Found, most: usize, bytes: (f64, f64), loads: (f64, f64)) -> String {
    if found.plateau.is_none() {
        format!("none up to {most} chains")
    } else if loads.0 >= ALL * loads.1 {
        "instructions".to_owned()
    } else if bytes.0 >= ALL * bytes.1 {
        "bandwidth".to_owned()
    } else {
        "miss buffers".to_owned()
    }
}

/// The numbers of chains that are measured: those in registers, or all.
fn numbers(in_registers: bool) -> Vec<usize> {
    let kernels = groma_harness::sys::arch::parallel_chase::parallel_chase_kernels();
    let some = kernels.iter().any(|kernel| kernel.in_registers);
    let asked = |kernel: &&_| !in_registers || !some || kernel_in_registers(kernel);
    kernels.iter().filter(asked).map(|kernel| kernel.chains).collect()
}

fn kernel_in_registers(kernel: &groma_harness::sys::arch::parallel_chase::ParallelChaseKernel) -> bool {
    kernel.in_registers
}

/// Where the pointers of each number of chains are, and where its walk begins. The pointers fill
/// one line of a node, then a second; those of one line begin in different parts of the order.
fn links(numbers: &[usize], nodes: usize) -> Vec<Link> {
    let place = |(i, &chains): (usize, &usize)| Link {
        offset: i / IN_A_LINE * SECOND + i % IN_A_LINE * size_of::<u64>(),
        chains,
        ahead: 1,
        start: i % IN_A_LINE * (nodes / IN_A_LINE),
    };
    numbers.iter().enumerate().map(place).collect()
}

fn run(ctx: &mut Ctx) -> Outcome {
    let size = ctx.int("size");
    let mut buffer = super::buffer(ctx, size as usize)?;
    let spacing = super::spacing(size);
    // Nodes of one line hold a single pointer, which is relinked for each number of chains in
    // registers.
    let near = spacing < 2 * SECOND;
    let numbers = numbers(near);
    let chains = super::grouped_chains(&mut buffer[..size as usize], spacing, ctx.rng());
    let mut chains = chains.map_err(BenchError::Unsupported)?;
    let links = links(&numbers, chains.nodes());
    ctx.fact("chain.nodes", chains.nodes());
    ctx.fact("chain.spacing", spacing);
    if !near {
        chains.link(&links).map_err(BenchError::Unsupported)?;
        if size > WARM {
            ctx.fact("chain.evicted", chains.evict());
        }
    }
    let cached = size <= WARM;
    let mut curve: Vec<Point> = Vec::new();
    let mut take = |ctx: &mut Ctx, chains: &mut Chains<'_>, i: usize| -> Outcome {
        let link = links[i];
        // Few nodes: relinked in the same place.
        let here = if near {
            chains.link(&[Link { offset: 0, ..link }]).map_err(BenchError::Unsupported)?;
            0
        } else {
            i
        };
        if cached {
            // After a lap of its own, the next line is the one loaded longest ago. After a lap that
            // began elsewhere, the first lines could still be in a cache nearer than the intended
            // one.
            chains.walk(here, (chains.nodes() / link.chains) as u64);
        }
        let cost = work::probe(ctx, WINDOWS, PARALLEL_CHASE_UNROLL, |iters| {
            Ok(chains.walk(here, iters * PARALLEL_CHASE_UNROLL))
        })?;
        let loads = (PARALLEL_CHASE_UNROLL * link.chains as u64) as f64;
        let (seconds, cycles) = (cost.seconds / loads, cost.cycles / loads);
        keep_best(&mut curve, i, Point { chains: link.chains, seconds, cycles, alone: cost.alone });
        Ok(())
    };
    for _ in 0..if cached { SWEEPS } else { 1 } {
        for i in 0..links.len() {
            // Brings in the lines that hold the pointers of this number and of the following ones,
            // with as many chains as possible.
            if cached && !near && i.is_multiple_of(IN_A_LINE) {
                let last = (i + IN_A_LINE).min(links.len()) - 1;
                chains.walk(last, LAPS * (chains.nodes() / links[last].chains) as u64);
            }
            take(ctx, &mut chains, i)?;
        }
    }
    if cached {
        // The single chain, by which all are divided, again at the end. Not beyond the caches,
        // where the other chains have loaded its lines meanwhile.
        take(ctx, &mut chains, 0)?;
    }
    let stream = stream_bytes_per_cycle(ctx, chains.bytes())?;
    state(ctx, &curve, numbers.last().copied().unwrap_or(1), stream)
}

/// States what the curve over up to `most` chains shows, beside the bytes per cycle of a stream.
fn state(ctx: &mut Ctx, curve: &[Point], most: usize, stream: f64) -> Outcome {
    let line = super::line_size();
    let Some(found) = read_curve(curve) else { return Err(BenchError::Failed("no curve".to_owned())) };
    let near_cycles = cycles_near(ctx, found.best.chains)?;
    let bytes = (line as f64 / found.best.cycles, stream);
    ctx.fact("limiter", limiter(&found, most, bytes, (1.0 / found.best.cycles, 1.0 / near_cycles)));
    ctx.fact("limiter.line_bytes_per_cycle", format!("{:.2}", bytes.0));
    ctx.fact("limiter.stream_bytes_per_cycle", format!("{:.2}", bytes.1));
    ctx.fact("limiter.near_cycles_per_load", format!("{near_cycles:.3}"));
    let in_ns: Vec<String> = curve.iter().map(|p| format!("{}={:.3}", p.chains, p.seconds * 1e9)).collect();
    ctx.fact("curve.ns", in_ns.join(" "));
    let in_cycles: Vec<String> = curve.iter().map(|p| format!("{}={:.2}", p.chains, p.cycles)).collect();
    ctx.fact("curve.cycles", in_cycles.join(" "));
    ctx.state_seen("rate", 1.0 / found.best.seconds, found.alone);
    if found.one_level {
        ctx.prove(
            "loads that overlap at best",
            "1 to the most chains",
            found.parallelism,
            1.0..=most as f64 * TOO_GOOD,
        );
        ctx.state_seen("", found.parallelism, found.alone);
        match found.plateau {
            Some(chains) => ctx.state_seen("chains", chains as f64, found.alone),
            None => ctx.unresolved("chains", &format!("no plateau up to {most} chains: the value is a lower bound")),
        }
    } else {
        ctx.unresolved(
            "",
            "more loads seemed to overlap than there were chains: other caches served the first numbers of chains",
        );
    }
    if ctx.int("size") > Topology::read().first_cache().unwrap_or(ASSUMED_FIRST) {
        ctx.state_seen("bandwidth", line as f64 / found.best.seconds, found.alone);
    } else {
        ctx.unresolved("bandwidth", "no line moves: the first-level cache holds them all");
    }
    Ok(())
}

/// Bytes per cycle of a stream of loads over the buffer.
fn stream_bytes_per_cycle(ctx: &mut Ctx, buffer: &[u8]) -> Result<f64, BenchError> {
    let stream = Stream::new(Op::Read, None).map_err(BenchError::Failed)?;
    let piece = stream.round_down(buffer.len().min(PIECE));
    let pieces = buffer.len() / piece;
    let mut at = 0;
    let cost = work::probe(ctx, WINDOWS, piece as u64, |iters| {
        let (mut left, mut bytes) = (iters, 0);
        while left > 0 {
            // A buffer of a single piece is gone over in one call.
            let passes = if pieces == 1 { left } else { 1 };
            bytes += stream.over(&mut [], &buffer[at * piece..][..piece]).map_err(BenchError::Failed)?.run(passes);
            at = (at + 1) % pieces;
            left -= passes;
        }
        Ok(bytes)
    })?;
    Ok(piece as f64 / cost.cycles)
}

/// Cycles for a load when the same loop finds everything in the first-level cache.
fn cycles_near(ctx: &mut Ctx, chains: usize) -> Result<f64, BenchError> {
    let mut buffer = Map::anonymous(NEAR_BYTES, Policy::Base).context("mapping a small buffer")?;
    buffer.populate();
    let rng = ctx.rng();
    let mut near =
        Chains::new(&mut buffer[..NEAR_BYTES], 64, Order::Anywhere, |n| rng.below(n)).map_err(BenchError::Failed)?;
    near.link(&[Link { offset: 0, chains, ahead: 1, start: 0 }]).map_err(BenchError::Failed)?;
    let cost =
        work::probe(ctx, WINDOWS, PARALLEL_CHASE_UNROLL, |iters| Ok(near.walk(0, iters * PARALLEL_CHASE_UNROLL)))?;
    Ok(cost.cycles / (PARALLEL_CHASE_UNROLL * chains as u64) as f64)
}

const _: () =
    assert!(PARALLEL_CHASES.len() <= 2 * IN_A_LINE, "two lines of a node hold a pointer for each number of chains");

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::sys::pages::page_size;
    use groma_harness::testing::{stating, try_out};
    use std::collections::BTreeSet;

    /// A core with `buffers` miss buffers: a load takes `latency` cycles, and as many overlap as
    /// there are chains or buffers.
    fn core(latency: f64, buffers: f64, most: usize, noise: impl Fn(usize) -> f64) -> Vec<Point> {
        let point = |&chains: &usize| {
            let cycles = latency / (chains as f64).min(buffers) * noise(chains);
            Point { chains, seconds: cycles / 3e9, cycles, alone: true }
        };
        PARALLEL_CHASES.iter().filter(|n| **n <= most).map(point).collect()
    }

    #[test]
    fn of_several_sweeps_the_better_point_counts() {
        let point = |chains: usize, cycles: f64| Point { chains, seconds: cycles / 3e9, cycles, alone: true };
        let mut curve = Vec::new();
        for (first, second) in [(90.0, 50.0), (100.0, 60.0), (80.0, 70.0)] {
            keep_best(&mut curve, 0, point(1, first));
            keep_best(&mut curve, 1, point(2, second));
        }
        // Beside a busy sibling no point replaces one that was had alone.
        keep_best(&mut curve, 0, Point { alone: false, ..point(1, 70.0) });
        assert_eq!(curve.iter().map(|point| (point.chains, point.cycles)).collect::<Vec<_>>(), [(1, 80.0), (2, 50.0)]);
        assert!(read_curve(&curve).is_some_and(|found| found.alone));
        curve[1].alone = false;
        assert!(read_curve(&curve).is_some_and(|found| !found.alone));
        keep_best(&mut curve, 1, point(2, 55.0));
        assert_eq!((curve[1].cycles, curve[1].alone), (55.0, true));
    }

    #[test]
    fn a_curve_shows_its_plateau() {
        let found = read_curve(&core(300.0, 20.5, 64, |_| 1.0)).expect("a curve");
        assert!((found.parallelism - 20.5).abs() < 1e-9);
        // 20 chains are within 2.5 % of the best, not within 2 %: 24 is the first without a gain
        // beyond.
        assert_eq!(found.plateau, Some(24));
        let found = read_curve(&core(300.0, 16.0, 64, |_| 1.0)).expect("a curve");
        assert_eq!((found.plateau, found.best.chains), (Some(16), 16));
        // Nothing overlaps.
        let found = read_curve(&core(300.0, 1.0, 64, |_| 1.0)).expect("a curve");
        assert_eq!((found.plateau, found.parallelism), (Some(1), 1.0));
    }

    #[test]
    fn a_disturbed_point_is_no_plateau_and_noise_moves_none() {
        // Eight and ten chains took 1.5 times as long; later ones are better nevertheless.
        let found = read_curve(&core(300.0, 16.0, 64, |n| if n == 8 || n == 10 { 1.5 } else { 1.0 })).expect("a curve");
        assert_eq!((found.plateau, found.parallelism), (Some(16), 16.0));
        // A per cent of noise everywhere.
        let found = read_curve(&core(300.0, 16.0, 64, |n| 1.0 + (n * 7 % 5) as f64 * 0.002)).expect("a curve");
        assert_eq!(found.plateau, Some(16));
        // Many chains get in each other's way: the best is in the middle.
        let found = read_curve(&core(300.0, 24.0, 64, |n| if n > 24 { 1.2 } else { 1.0 })).expect("a curve");
        assert_eq!((found.plateau, found.best.chains), (Some(24), 24));
    }

    #[test]
    fn where_the_last_step_still_adds_there_is_no_plateau() {
        let found = read_curve(&core(5.0, 1e9, 12, |_| 1.0)).expect("a curve");
        assert_eq!((found.plateau, found.best.chains), (None, 12));
        assert_eq!(limiter(&found, 12, (150.0, 100.0), (2.4, 2.4)), "none up to 12 chains");
        assert_eq!(read_curve(&[]), None);
        assert_eq!(read_curve(&core(5.0, 4.0, 64, |_| 1.0)[1..]), None);
    }

    #[test]
    fn more_loads_than_chains_are_not_believed() {
        let steady = read_curve(&core(300.0, 16.0, 64, |n| if n == 1 { 1.1 } else { 1.0 })).expect("a curve");
        assert!(steady.one_level);
        // One chain was served by memory, the others by a cache: seen at 8 MiB on a busy machine
        // (350 cycles, then 16).
        let mixed = read_curve(&core(70.0, 16.0, 64, |n| if n == 1 { 5.0 } else { 1.0 })).expect("a curve");
        assert!(!mixed.one_level);
    }

    #[test]
    fn the_limiter_is_named() {
        let found = read_curve(&core(300.0, 16.0, 64, |_| 1.0)).expect("a curve");
        assert_eq!(limiter(&found, 64, (48.0, 50.0), (0.75, 2.0)), "bandwidth");
        assert_eq!(limiter(&found, 64, (3.4, 5.0), (0.05, 2.0)), "miss buffers");
        assert_eq!(limiter(&found, 64, (3.4, 5.0), (1.9, 2.0)), "instructions");
    }

    #[test]
    fn every_number_of_chains_has_a_place_of_its_own() {
        let links = links(&PARALLEL_CHASES, 800);
        let offsets: BTreeSet<usize> = links.iter().map(|link| link.offset).collect();
        assert_eq!(offsets.len(), PARALLEL_CHASES.len());
        assert!(links.iter().all(|link| link.offset % SECOND < 64 && link.offset < 256));
        // No two of a line begin at the same place.
        let begins: BTreeSet<(usize, usize)> = links.iter().map(|link| (link.offset / SECOND, link.start)).collect();
        assert_eq!(begins.len(), PARALLEL_CHASES.len());
        assert_eq!(numbers(false), PARALLEL_CHASES);
        assert!(numbers(true).len() >= 7);
    }

    #[test]
    fn some_loads_overlap_at_every_level() {
        for size in ["16K", "512K", "8M"] {
            let tried = try_out(&BENCH, &[("size", size)], None).expect("memory");
            let stated = |name: &str| tried.result.series(name).map_or(0, |s| s.values.len());
            assert_eq!(stated("rate"), 1);
            // A neighbour may have had the shared cache meanwhile.
            let told = tried.has_remark("more loads seemed");
            assert_eq!(stated(""), usize::from(!told), "{:?}", tried.result);
            assert!(stated("chains") <= 1);
            assert_eq!(stated("bandwidth"), usize::from(size != "16K"));
            if !told {
                assert!(tried.proven("loads that overlap at best") >= 1.0);
            }
            let fact = |key: &str| tried.result.fact(key).map(str::to_owned);
            assert!(fact("limiter").is_some() && fact("curve.ns").is_some_and(|c| c.starts_with("1=")));
        }
    }

    /// Ten loads overlap on twelve chains at a clock of 3 GHz, and sixteen chains add nothing; a
    /// load of the same loop in the first-level cache takes far less than their 30 cycles.
    fn state_twelve_chains(ctx: &mut Ctx, stream_over_lines: f64) -> Outcome {
        let point = |(chains, cycles): (usize, f64)| Point { chains, seconds: cycles / 3e9, cycles, alone: true };
        let curve = [(1, 300.0), (8, 40.0), (12, 30.0), (16, 31.0)].map(point);
        state(ctx, &curve, 16, stream_over_lines * super::super::line_size() as f64 / 30.0)
    }

    #[test]
    fn each_output_is_that_of_its_name() {
        let runs: [fn(&mut Ctx) -> Outcome; 2] =
            [|ctx| state_twelve_chains(ctx, 1.1), |ctx| state_twelve_chains(ctx, 2.0)];
        for (run, limiter) in runs.into_iter().zip(["bandwidth", "miss buffers"]) {
            let bench = Benchmark { info: BENCH.info, run: Run::Here(run) };
            let tried = try_out(&bench, &[("size", "512K")], None).expect("a curve");
            let value = |name: &str| tried.stated(name).unwrap_or(f64::NAN);
            assert_eq!((value(""), value("chains")), (10.0, 12.0));
            assert!((value("rate") / 1e8 - 1.0).abs() < 1e-9, "{}", value("rate"));
            assert_eq!(tried.result.fact("limiter"), Some(limiter));
        }
    }

    /// The limiter compares loads and bytes a cycle; a cached buffer is streamed at some bytes a
    /// cycle, and its loads are those of the same loop in the first-level cache.
    #[test]
    fn what_the_limiter_compares_is_alike_in_the_first_level_cache() {
        let mut seen = Vec::new();
        for _ in 0..5 {
            let tried = try_out(&BENCH, &[("size", "8K")], None).expect("memory");
            let number = |text: &str| text.parse::<f64>().expect("a number");
            let fact = |key: &str| tried.result.fact(key).map(number).expect("told");
            let best = tried.result.fact("curve.cycles").expect("a curve").split(' ').filter_map(|p| p.split_once('='));
            let best = best.map(|(_, cycles)| number(cycles)).fold(f64::INFINITY, f64::min);
            let stream = fact("limiter.stream_bytes_per_cycle");
            let (near, line) = (fact("limiter.near_cycles_per_load"), fact("limiter.line_bytes_per_cycle"));
            seen.push((near / best, line * best / super::super::line_size() as f64, stream));
        }
        let right = |(near, line, stream): &(f64, f64, f64)| {
            [*near, *line].iter().all(|ratio| (0.4..=2.5).contains(ratio)) && (0.1..=1024.0).contains(stream)
        };
        assert!(seen.iter().any(right), "{seen:?}");
    }

    /// A piece that is gone over again and again comes from a cache. Pages are not there until they
    /// are read, and each probe has five windows and more.
    #[test]
    fn a_stream_goes_over_all_of_a_large_buffer() {
        const PIECES: usize = 3;
        fn streamed(ctx: &mut Ctx) -> Outcome {
            let map = Map::anonymous(PIECES * PIECE, Policy::Base).context("mapping memory")?;
            let bytes = stream_bytes_per_cycle(ctx, &map)?;
            ctx.state(bytes);
            ctx.fact("resident", map.resident_pages().context("mincore")? * page_size());
            Ok(())
        }
        let tried = try_out(&stating(streamed), &[], None).expect("memory");
        assert_eq!(tried.result.fact("resident"), Some((PIECES * PIECE).to_string().as_str()));
    }

    /// Writing the pointers left them in the caches, and smaller buffers are to stay there.
    #[test]
    fn what_is_beyond_the_caches_is_evicted_first() {
        let evicts = groma_harness::sys::flush::Flush::evict().is_some().to_string();
        // Few nodes of a line each, whatever the private cache, are walked and not evicted.
        for (size, expected) in [(1 << 20, None), (WARM + 4096, Some(evicts.as_str()))] {
            if super::super::spacing(size) < 2 * SECOND && size > WARM {
                return println!("skipped: the private cache holds more");
            }
            let tried = try_out(&BENCH, &[("size", &size.to_string())], None).expect("memory");
            assert_eq!(tried.result.fact("chain.evicted"), expected, "{size}");
        }
    }

    /// The two curves are of the same loads: what lies between them is the clock of the core, at
    /// each number of chains.
    #[test]
    fn nanoseconds_and_cycles_are_of_the_same_loads() {
        let tried = match try_out(&BENCH, &[("size", "16K")], None) {
            Err(BenchError::Unsupported(why)) => return println!("skipped: {why}"),
            tried => tried.expect("a curve"),
        };
        let curve = |key: &str| -> Vec<(String, f64)> {
            let points = tried.result.fact(key).expect("a curve").split(' ').filter_map(|point| point.split_once('='));
            points.map(|(chains, value)| (chains.to_owned(), value.parse().expect("a number"))).collect()
        };
        let clocks: Vec<f64> =
            curve("curve.ns").iter().zip(curve("curve.cycles")).map(|(ns, cycles)| cycles.1 / ns.1).collect();
        // Of a busy machine some windows are disturbed.
        let middle = groma_harness::stats::order::upper_median(&clocks).expect("a curve");
        let near = clocks.iter().filter(|clock| (middle / 1.5..=middle * 1.5).contains(*clock)).count();
        assert!(clocks.len() > 3 && 2 * near > clocks.len(), "{clocks:?}");
    }
}
