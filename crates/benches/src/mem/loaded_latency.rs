//! Loaded latency: the latency of memory while other CPUs keep it busy, with their bandwidth.
//!
//! **Measures:** One CPU follows a chain, and all CPUs of other cores (or `generators` of them)
//! move bytes; not the other thread of its own core, which would share more with it than memory.
//! `pace`, the cycles that a generator idles after each KiB, sets how many. The pace means nothing
//! on another machine; the result is a pair: the main value is the median latency of a load, and
//! `bandwidth` is what the chase and the generators of its NUMA node moved together meanwhile (the
//! facts `bandwidth.nodeN` have those of other nodes, in B/s). `p95` is the 95th percentile over
//! windows, each the mean of thousands of loads, and not that of single loads. `idle` is the same
//! chase just before, with the generators asleep.
//!
//! **Does not measure:** The peak bandwidth of the machine (`mem.bandwidth`, `mem.stream`), or the
//! latency of a load that is prefetched.
//!
//! **Method:** The chase is that of `mem.latency` (translation amortised, base pages) over 128 MiB
//! that were evicted, or for `l3` over four times the last private cache. Generators are processes
//! pinned to their CPUs, each with 64 MiB or more of its own (transparent huge pages), together
//! more than the caches hold, which publish the number of bytes moved on a line of their own every
//! 4 KiB. Windows are 0.4 ms. A window counts when *every*
//! generator ran at 0.9 to 1.1 times its own pace (the median of the windows in which it ran at
//! more than half of its highest rate), and when the kernel did not preempt the chase.
//!
//! **Pitfalls:**
//! - On a busy machine the generators often do not run while the chase does, and the result is the
//!   idle latency under another name. Such windows do not count, and a round without enough others
//!   is unresolved.
//! - One generator reaches only a part of the memory's bandwidth, so two CPUs show the low end of
//!   the curve.
//! - Idling by `pause` takes 10 to 140 cycles; a chain of additions takes one cycle each.
//!
//! **Sources:** Intel MLC; multichase `multiload`; lmbench3 `par_mem`. See
//! docs/methods/memory.md#loaded-latency.

mod traffic;

use self::traffic::{PIECE, Traffic};
use crate::{proofs, work};
use groma_harness::check_memory;
use groma_harness::prelude::*;
use groma_harness::rendezvous::{Control, LEAVE, Partners};
use groma_harness::stats::nearest_rank;
use groma_harness::sys::arch::{CHASE_UNROLL, add_chain};
use groma_harness::sys::chase::Chain;
use groma_harness::sys::counters::{Usage, current_cpu};
use groma_harness::sys::pages::{Map, Policy, page_size};
use groma_harness::sys::shared::Shared;
use groma_harness::sys::stream::{Op, Stream};
use groma_harness::sys::topology::{Cpu, Topology};
use groma_harness::sys::{affinity, process};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Latency of memory while the other CPUs keep it busy",
        about: about!("loaded_latency.rs"),
        iteration: "one dependent load",
        timing: Timing::Stated,
        outputs: &[
            Output::MAIN,
            Output::named("p95", "95th percentile over windows of 0.4 ms"),
            Output::named("bandwidth", "Bytes that the chase and the generators of its node moved per second")
                .quantity(Quantity::Bandwidth),
            Output::named("idle", "The same chase a moment before, with the generators asleep").detail(),
        ],
        params: &[
            Param::count("pace", "cycles that a traffic generator idles after each KiB")
                .quick(&["0"])
                .standard(&["64", "256", "4096"])
                .full(&["16", "32", "128", "512", "1024", "2048"]),
            Param::count("generators", "CPUs that generate traffic; 0 for all of other cores").quick(&["0"]),
            Param::word("mix", "traffic: reads, non-temporal writes, or copies", &["read", "write_nt", "copy"])
                .quick(&["read"]),
            Param::word("level", "what is chased: memory, or the shared cache", &["dram", "l3"]).quick(&["dram"]),
        ],
        scaling: Scaling::alone("it keeps all CPUs busy by itself"),
        needs: &[Need::Cpus(2), Need::EndOfCaches],
        target_half_width: 0.05,
        tier: Tier::Standard,
        version: 3,
        ..Info::new("mem.loaded_latency")
    },
    run: Run::Here(run),
};

/// Bytes of the chase in memory: of its 500 000 nodes no round follows more than a part.
const CHASED: usize = 128 << 20;
/// Bytes of each generator at least.
const GENERATED: usize = 64 << 20;
/// The length of a window.
const WINDOW_NS: f64 = 400_000.0;
/// Windows between two checks whether enough of them count.
const BATCH: usize = 8;
/// Windows that have to count: enough to end the round, for a 95th percentile, and for a median.
const ENOUGH_WINDOWS: usize = 24;
const FOR_P95: usize = 20;
const FOR_MEDIAN: usize = 5;
/// How far from its own pace a generator may be.
const OWN_PACE: std::ops::RangeInclusive<f64> = 0.9..=1.1;
/// Distance of two counters, in words: a line each.
const LINE: usize = 32;

/// The commands to the generators.
const SLEEP: u32 = 0;
const WORK: u32 = 1;

/// Forks a generator for each of these CPUs. Each publishes its bytes in a line of `bytes`.
fn start(ctx: &Ctx, cpus: &[u32], size: usize, bytes: &[AtomicU64], op: Op, pace: u64) -> Result<Partners, BenchError> {
    let stream = Stream::new(op, None).map_err(BenchError::Unsupported)?;
    let mut generators = Partners::new()?;
    for (&cpu, line) in cpus.iter().zip(bytes.chunks(LINE)) {
        generators.fork(ctx, format!("the generator on CPU {cpu}"), |control| {
            affinity::pin(cpu).context("pinning it")?;
            generate(control, size, &line[0], stream, op, pace)
        })?;
    }
    generators.all_ready()?;
    Ok(generators)
}

/// The main loop of a generator.
fn generate(control: &Control, size: usize, bytes: &AtomicU64, stream: Stream, op: Op, pace: u64) -> Outcome {
    let mut buffer = buffer(size, Policy::Transparent)?;
    let mut traffic = Traffic::new(stream, op, &mut buffer[..size]);
    control.arrive();
    let mut done = 0;
    loop {
        match control.command().load(Relaxed) {
            LEAVE => return Ok(()),
            SLEEP => drop(control.command().wait_while(SLEEP)),
            _ => {
                done += traffic.step().map_err(BenchError::Failed)?;
                bytes.store(done, Relaxed);
                if pace > 0 {
                    add_chain(idle_after_piece(pace));
                }
            }
        }
    }
}

/// Cycles that a generator idles after a piece, of those after each KiB.
fn idle_after_piece(pace: u64) -> u64 {
    pace * (PIECE as u64 >> 10)
}

/// A buffer whose pages are present. Generators use huge pages where available, because they move
/// twice as much with them. The chase does not: for its 128 MiB the kernel at times compacts memory
/// for up to half a second. See docs/methods/memory.md#loaded-latency.
fn buffer(bytes: usize, policy: Policy) -> Result<Map, BenchError> {
    let mapped = Map::anonymous(bytes, policy).or_else(|_| Map::anonymous(bytes, Policy::Base));
    let mut map = mapped.context("mapping a buffer")?;
    map.populate();
    Ok(map)
}

/// A window of the chase.
#[derive(Clone, Debug)]
struct Window {
    ns: f64,
    /// The bytes that each generator moved meanwhile.
    bytes: Vec<f64>,
    /// Whether the chase was not preempted.
    clean: bool,
}

/// The windows in which every generator ran at its own pace and the chase was not preempted.
fn together(windows: &[Window]) -> Vec<&Window> {
    let generators = windows.first().map_or(0, |w| w.bytes.len());
    let rate = |w: &Window, i: usize| w.bytes[i] / w.ns;
    let own: Vec<Option<f64>> = (0..generators)
        .map(|i| {
            let highest = windows.iter().map(|w| rate(w, i)).fold(0.0, f64::max);
            let ran: Vec<f64> = windows.iter().map(|w| rate(w, i)).filter(|r| *r > highest / 2.0).collect();
            nearest_rank(&ran, 0.5)
        })
        .collect();
    let at_pace = |w: &Window| {
        own.iter().enumerate().all(|(i, own)| own.is_some_and(|own| OWN_PACE.contains(&(rate(w, i) / own))))
    };
    windows.iter().filter(|w| w.clean && at_pace(w)).collect()
}

/// A CPU for generators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    cpu: u32,
    node: Option<u32>,
    /// Whether it is in the node of the chase.
    near: bool,
}

/// The CPUs of the generators: `wanted` of them, or all for 0, but no other thread of the core of
/// the chase, which `here` is on: that thread would take execution units and the private caches
/// from the chase, not memory. Those in the chase's node come first, and a thread of each core
/// before the second of any.
fn places(cpus: &[Cpu], here: u32, wanted: usize) -> Result<Vec<Place>, String> {
    let chase = cpus.iter().find(|cpu| cpu.id == here).ok_or_else(|| format!("CPU {here} is not declared"))?;
    let own = |cpu: &Cpu| cpu.id == here || cpu.core == chase.core || chase.siblings.contains(&cpu.id);
    let mut free: Vec<&Cpu> = cpus.iter().filter(|cpu| cpu.online && !own(cpu)).collect();
    free.sort_by_key(|cpu| (cpu.node != chase.node, cpu.smt, cpu.id));
    if free.len() < wanted.max(1) {
        return Err(format!("{} CPUs of other cores are not allowed, only {}", wanted.max(1), free.len()));
    }
    if wanted > 0 {
        free.truncate(wanted);
    }
    Ok(free.iter().map(|cpu| Place { cpu: cpu.id, node: cpu.node, near: cpu.node == chase.node }).collect())
}

/// Pins the chase to where it is, and finds the CPUs of the generators.
fn others(wanted: u64) -> Result<Vec<Place>, BenchError> {
    let here = current_cpu();
    affinity::pin(here).context("pinning the chase")?;
    // A worker is pinned; its supervisor has the full affinity mask.
    let allowed = affinity::allowed_to(process::parent_id()).context("reading the allowed CPUs")?;
    places(Topology::from_tree(Path::new("/"), &allowed).cpus(), here, wanted as usize).map_err(BenchError::Unsupported)
}

fn run(ctx: &mut Ctx) -> Outcome {
    let places = others(ctx.int("generators"))?;
    let cpus: Vec<u32> = places.iter().map(|place| place.cpu).collect();
    let op = Op::ALL.into_iter().find(|op| op.word() == ctx.word("mix")).unwrap_or(Op::Read);
    let chased = chased(ctx.word("level"), super::private_cache() as usize);
    let beyond = ctx.beyond_caches()?.unwrap_or(0) as usize;
    let generated_bytes = generated_bytes(beyond, cpus.len());
    check_memory((chased + cpus.len() * generated_bytes) as u64)?;
    // Forked while this process is small; they prepare their memory while it prepares its own.
    let bytes = Shared::<AtomicU64>::new(cpus.len() * LINE).context("sharing memory with the generators")?;
    let generated = || bytes.iter().step_by(LINE).map(|line| line.load(Relaxed)).collect::<Vec<u64>>();
    let mut generators = start(ctx, &cpus, generated_bytes, &bytes, op, ctx.int("pace"))?;
    let mut memory = buffer(chased, Policy::Base)?;
    ctx.fact("generators", cpus.len());
    let rng = ctx.rng();
    let area = &mut memory[..chased];
    let chain =
        Chain::translation_amortised(area, super::FAR_SPACING, super::GROUP_PAGES, page_size(), |n| rng.below(n));
    let mut chain = chain.map_err(BenchError::Unsupported)?;
    let nodes = chain.nodes();
    let in_memory = ctx.word("level") != "l3";
    if in_memory {
        super::evict(ctx, &mut chain, super::FAR_SPACING);
    } else {
        // What was just written is in a nearer cache, at the end of the lap. It is evicted by then.
        chain.walk(CHASE_UNROLL);
    }

    let idle = work::probe(ctx, 5, CHASE_UNROLL, |iters| Ok(chain.walk(iters * CHASE_UNROLL)))?;
    let idle = of_a_load(&idle);
    ctx.state_as("idle", idle);
    let meanwhile = generated().iter().sum::<u64>() as f64;
    ctx.prove("bytes that the generators moved while they were asleep", "0", meanwhile, 0.0..=0.0);
    let loads = loads_in_a_window(idle);

    generators.send_command(WORK);
    let begun = ctx.now_ns();
    let until = begun + 3 * ctx.time_limit_ns().max(10_000_000);
    let mut windows: Vec<Window> = Vec::new();
    chain.mark();
    let mut walked = 0;
    while ctx.now_ns() < until {
        for _ in 0..BATCH {
            let (usage, before) = (Usage::thread(), generated());
            let start = ctx.now_ns();
            walked += chain.walk(loads);
            let ns = ctx.now_ns().saturating_sub(start) as f64;
            let after = generated();
            let clean = is_clean(&Usage::thread().since(&usage));
            let bytes = after.iter().zip(&before).map(|(after, before)| (after - before) as f64).collect();
            windows.push(Window { ns, bytes, clean });
        }
        if together(&windows).len() >= ENOUGH_WINDOWS {
            break;
        }
        generators.check_alive()?;
    }
    ctx.sampled_since(begun);
    generators.send_command(SLEEP);
    proofs::all_left_well(ctx, "generators", &generators.end()?);

    let credited = loads * windows.len() as u64;
    work::once_each(ctx, "loads made per load credited", walked, credited);
    if in_memory {
        super::check_first_lap(ctx, "", &[walked], nodes);
    }
    let there = f64::from(u8::from(chain.leads_here(credited)));
    ctx.prove("the walk stands where the loads credited lead", "1", there, 1.0..=1.0);
    state(ctx, &windows, &places, loads);
    Ok(())
}

/// Whether the kernel did not take the CPU from the chase, by what it used in a window.
fn is_clean(used: &Usage) -> bool {
    used.involuntary == 0
}

/// Bytes of the chase: beyond the private caches, or in memory.
fn chased(level: &str, private_cache: usize) -> usize {
    if level == "l3" { private_cache * 4 } else { CHASED }
}

/// Bytes of each generator: together more than the caches hold, in whole huge pages.
fn generated_bytes(beyond_caches: usize, generators: usize) -> usize {
    (beyond_caches / generators).next_multiple_of(2 << 20).max(GENERATED)
}

/// Seconds of a load, of a probe whose iterations are turns of the unrolled loop.
fn of_a_load(turn: &Cost) -> f64 {
    turn.seconds / CHASE_UNROLL as f64
}

/// Loads of so many seconds that fill a window, in whole turns.
fn loads_in_a_window(idle: f64) -> u64 {
    ((WINDOW_NS * 1e-9 / idle) as u64).next_multiple_of(CHASE_UNROLL).max(CHASE_UNROLL)
}

/// States the latency and the bandwidth of the windows of so many loads in which all ran together.
fn state(ctx: &mut Ctx, windows: &[Window], places: &[Place], loads: u64) {
    let kept = together(windows);
    ctx.fact("windows", windows.len());
    ctx.fact("windows.together", kept.len());
    let latencies: Vec<f64> = kept.iter().map(|w| w.ns * 1e-9 / loads as f64).collect();
    let line = super::line_size() as f64;
    let moved = |w: &Window, keep: &dyn Fn(&Place) -> bool| -> f64 {
        w.bytes.iter().zip(places).filter(|(_, place)| keep(place)).map(|(bytes, _)| bytes).sum()
    };
    // Generators use memory of their own node: what those of others move does not load the node
    // whose latency is measured.
    let near = |w: &&Window| (moved(w, &|place| place.near) + loads as f64 * line) / (w.ns * 1e-9);
    let bandwidths: Vec<f64> = kept.iter().map(near).collect();
    let far: BTreeSet<u32> = places.iter().filter(|place| !place.near).filter_map(|place| place.node).collect();
    for node in far {
        let there = |w: &&Window| moved(w, &|place| place.node == Some(node)) / (w.ns * 1e-9);
        if let Some(rate) = nearest_rank(&kept.iter().map(there).collect::<Vec<_>>(), 0.5) {
            ctx.fact(&format!("bandwidth.node{node}"), format!("{rate:.0}"));
        }
    }
    if kept.len() < FOR_MEDIAN {
        return ctx.unresolved("", "not enough co-run windows: the generators did not run beside the chase");
    }
    if let (Some(latency), Some(bandwidth)) = (nearest_rank(&latencies, 0.5), nearest_rank(&bandwidths, 0.5)) {
        ctx.state(latency);
        ctx.state_as("bandwidth", bandwidth);
    }
    match nearest_rank(&latencies, 0.95) {
        Some(p95) if kept.len() >= FOR_P95 => ctx.state_as("p95", p95),
        _ => ctx.unresolved("p95", "not enough co-run windows for a 95th percentile"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::sys::pages::page_size;
    use groma_harness::testing::{Tried, stating, try_out};

    /// A page that nothing was written to is read from one page of zeros, which is in a cache.
    #[test]
    fn the_pages_of_a_buffer_are_its_own() {
        for policy in [Policy::Base, Policy::Transparent] {
            let map = buffer(4 << 20, policy).expect("memory");
            assert_eq!(map.resident_pages().expect("mincore"), (4 << 20) / page_size());
            // Those of the chase are small.
            assert!(!matches!(policy, Policy::Base) || map.huge_bytes().is_none_or(|huge| huge == 0));
        }
    }

    /// Whether base pages come where huge ones were not refused depends on the machine's setting.
    #[test]
    fn the_chase_refuses_huge_pages_and_the_generators_ask_for_them() {
        if groma_harness::sys::pages::huge_page_size().is_none() {
            return println!("skipped: no transparent huge pages here");
        }
        for (policy, flag) in [(Policy::Base, "nh"), (Policy::Transparent, "hg")] {
            let map = buffer(4 << 20, policy).expect("memory");
            let has = super::super::testing::has_flag(&map, flag);
            assert!(has.unwrap_or(true), "{policy:?}: no {flag}");
        }
    }

    /// Sizes that are no power of two, so that halves, wholes and pieces differ.
    #[test]
    fn the_sizes_of_a_round_follow_from_the_machine() {
        assert_eq!(["l3", "dram"].map(|level| chased(level, 3 << 20)), [12 << 20, CHASED]);
        assert_eq!(generated_bytes(900 << 20, 3), 300 << 20);
        assert_eq!(generated_bytes((900 << 20) + 3, 3), 302 << 20);
        assert_eq!(generated_bytes(900 << 20, 300), GENERATED);
        let turn = Cost { seconds: 6.4e-6, cycles: 19_200.0, core_hz: 3e9, clean: 5, alone: true };
        assert!((of_a_load(&turn) * 1e9 - 100.0).abs() < 1e-6);
        assert_eq!([100e-9, 130e-9, 1.0].map(loads_in_a_window), [63, 49, 1].map(|turns| turns * CHASE_UNROLL));
        // Cycles are those after each KiB, and a piece has four.
        assert_eq!(idle_after_piece(7), 28);
        let used = |voluntary, involuntary| is_clean(&Usage { voluntary, involuntary, ..Usage::default() });
        assert_eq!([used(0, 0), used(3, 0), used(0, 1)], [true, true, false]);
    }

    /// Windows of 100 us and more, in which a generator beside the chase moves 2 bytes a nanosecond
    /// and one of another node 5.
    fn states(windows: u32) -> Tried {
        fn stated<const WINDOWS: u32>(ctx: &mut Ctx) -> Outcome {
            let ns = (0..WINDOWS).map(|i| 100_000.0 + 100.0 * f64::from(i));
            let windows: Vec<Window> = ns.map(|ns| window(ns, &[2.0 * ns, 5.0 * ns], true)).collect();
            let places = [(1, 0), (2, 1)].map(|(cpu, node)| Place { cpu, node: Some(node), near: node == 0 });
            state(ctx, &windows, &places, 1000);
            Ok(())
        }
        let run: fn(&mut Ctx) -> Outcome = match windows {
            4 => stated::<4>,
            5 => stated::<5>,
            19 => stated::<19>,
            20 => stated::<20>,
            _ => stated::<40>,
        };
        try_out(&stating(run), &[], None).expect("values or reasons")
    }

    #[test]
    fn the_windows_give_the_median_the_tail_and_the_bandwidth_of_the_near_node() {
        let tried = states(40);
        let is = |name: &str, expected: f64| {
            let value = tried.stated(name).expect("stated");
            assert!((value / expected - 1.0).abs() < 1e-3, "{name}: {value}");
        };
        is("", 101.9e-9);
        is("p95", 103.7e-9);
        // The lines of 1000 loads in the middle window, and the generator beside them.
        is("bandwidth", 2e9 + 1000.0 * super::super::line_size() as f64 / 101.95e-6);
        assert_eq!(tried.result.fact("bandwidth.node1"), Some("5000000000"));
        assert_eq!(tried.result.fact("bandwidth.node0"), None);
    }

    #[test]
    fn few_windows_give_no_tail_and_fewer_no_median() {
        let told = [4, 5, 19, 20].map(|windows| {
            let tried = states(windows);
            ["", "bandwidth", "p95"].map(|name| tried.result.series(name).is_some())
        });
        assert_eq!(told, [[false; 3], [true, true, false], [true, true, false], [true; 3]]);
    }

    fn window(ns: f64, bytes: &[f64], clean: bool) -> Window {
        Window { ns, bytes: bytes.to_vec(), clean }
    }

    #[test]
    fn only_windows_with_everybody_at_work_count() {
        // Two generators: the second sleeps through most windows, the first through one, and one
        // window is interrupted.
        let mut windows: Vec<Window> = (0..20).map(|i| window(100.0, &[1000.0 + f64::from(i), 0.0], true)).collect();
        assert!(together(&windows).is_empty(), "one that never ran has no pace");
        windows.extend((0..6).map(|i| window(100.0, &[1000.0, 500.0 + f64::from(i)], true)));
        windows.push(window(100.0, &[1000.0, 260.0], true));
        windows.push(window(100.0, &[100.0, 500.0], true));
        windows.push(window(100.0, &[1000.0, 500.0], false));
        assert_eq!(together(&windows).len(), 6);
        // A longer window with as much more traffic is at the same pace.
        windows.push(window(200.0, &[2000.0, 1000.0], true));
        assert_eq!(together(&windows).len(), 7);
        assert!(together(&[]).is_empty());
    }

    /// `cores` cores of two threads in each of `nodes` nodes, the second threads numbered after all
    /// first ones, as Linux does.
    fn machine(nodes: u32, cores: u32) -> Vec<Cpu> {
        let all = nodes * cores;
        let cpu = |id: u32| {
            let core = id % all;
            let node = core / cores;
            let (l1, l2, llc) = (Some(core), Some(core), Some(node * cores));
            let siblings = vec![core, core + all];
            let (package, die, node) = (node, node * cores, Some(node));
            Cpu { id, package, die, core, siblings, smt: id / all, l1, l2, llc, node, class: 0, online: true }
        };
        (0..2 * all).map(cpu).collect()
    }

    #[test]
    fn no_generator_is_on_the_core_of_the_chase_and_those_of_its_node_come_first() {
        let chosen = |cpus: &[Cpu], here, wanted| {
            let places = places(cpus, here, wanted)?;
            let far = places.iter().filter(|place| !place.near).count();
            Ok::<_, String>((places.iter().map(|place| place.cpu).collect::<Vec<_>>(), far))
        };
        let one = machine(1, 4);
        assert_eq!(chosen(&one, 1, 0), Ok((vec![0, 2, 3, 4, 6, 7], 0)));
        assert_eq!(chosen(&one, 5, 3), Ok((vec![0, 2, 3], 0)));
        assert!(chosen(&one, 1, 7).is_err_and(|why| why.contains("only 6")));
        let two = machine(2, 2);
        assert_eq!(chosen(&two, 0, 0), Ok((vec![1, 5, 2, 3, 6, 7], 4)));
        assert_eq!(chosen(&two, 7, 3), Ok((vec![2, 6, 0], 1)));
        // Two threads of one core, and nothing else.
        assert!(chosen(&machine(1, 1), 0, 0).is_err_and(|why| why.contains("only 0")));
        // A CPU that is switched off.
        let mut off = machine(1, 2);
        off[1].online = false;
        assert_eq!(chosen(&off, 0, 0), Ok((vec![3], 0)));
    }

    #[test]
    fn a_round_states_a_pair_or_leaves_it_open() {
        for mix in ["read", "write_nt", "copy"] {
            let tried = match try_out(&BENCH, &[("level", "l3"), ("generators", "1"), ("mix", mix)], None) {
                Err(BenchError::Unsupported(why)) => {
                    eprintln!("skipped: {why}");
                    continue;
                }
                tried => tried.expect("memory"),
            };
            assert_eq!(tried.proven("generators that did not leave well"), 0.0);
            assert_eq!(tried.result.fact("chain.evicted"), None, "it is to stay in the shared cache");
            let value = |name: &str| tried.stated(name);
            assert!(value("idle").is_some_and(|idle| idle > 0.0));
            assert_eq!(value("").is_some(), value("bandwidth").is_some());
            assert!(value("").is_some() || tried.has_remark("co-run"));
            if let (Some(median), Some(p95)) = (value(""), value("p95")) {
                assert!(median <= p95);
            }
        }
    }

    /// A chain that was just written is in the caches.
    #[test]
    fn the_chase_through_memory_is_evicted_first() {
        match try_out(&BENCH, &[("generators", "1")], None) {
            Err(BenchError::Unsupported(why)) => eprintln!("skipped: {why}"),
            tried => {
                let evicts = groma_harness::sys::flush::Flush::evict().is_some().to_string();
                assert_eq!(tried.expect("memory").result.fact("chain.evicted"), Some(evicts.as_str()));
            }
        }
    }

    #[test]
    fn more_generators_than_cpus_are_refused() {
        let refused = try_out(&BENCH, &[("generators", "100000")], None).map(|_| ());
        assert!(matches!(refused, Err(BenchError::Unsupported(_))), "{refused:?}");
    }
}
