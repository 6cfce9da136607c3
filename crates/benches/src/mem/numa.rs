//! NUMA: latency and bandwidth of one node's memory for a CPU of another node, or of the same.
//!
//! **Measures:** Each node with CPUs against each node with memory, including nodes without CPUs
//! (CXL, HBM); the two directions between two nodes are two points. The main value is the latency
//! of a chase that pays translation once per page. `read` and `write_nt` are the bytes per second
//! that one CPU reads, and writes past the caches.
//!
//! **Does not measure:** All CPUs of a node at once.
//!
//! **Method:** Memory is bound to its node (`mbind`, `MPOL_BIND`, strict), in transparent huge
//! pages unless `pages=base` says otherwise. The chase of `mem.latency` and the streams of
//! `mem.bandwidth` run in turn. The chain is evicted before it is followed, once round at most.
//!
//! **Proofs:** `move_pages` finds every page that it is asked about on the wanted node; the CPU
//! belongs to the other one.
//!
//! **Pitfalls:**
//! - Memory lands on the node of first touch.
//! - A kernel that balances nodes moves pages (`numa_balancing`).
//! - The distance that the firmware declares (fact `declared`, SLIT: 10 is near) has no unit and
//!   may be copied from another board.
//!
//! **Sources:** docs/methods/memory.md#numa.

use crate::work;
use groma_harness::model::Placement;
use groma_harness::prelude::*;
use groma_harness::sys::arch::{CHASE_UNROLL, Op};
use groma_harness::sys::chase::Chain;
use groma_harness::sys::numa;
use groma_harness::sys::pages::{Map, page_size};
use groma_harness::sys::stream::Stream;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Latency and bandwidth of memory, by nodes of CPU and memory",
        about: about!("numa.rs"),
        iteration: "64 dependent loads, and 64 KiB of a stream beside them",
        timing: Timing::Floor,
        outputs: &[
            Output::MAIN,
            Output::named("read", "Bytes that one CPU reads per second").quantity(Quantity::Bandwidth),
            Output::named("write_nt", "Bytes that one CPU writes past the caches per second")
                .quantity(Quantity::Bandwidth),
        ],
        params: &[
            Param::size("size", "bytes of the pointer chase, and of each stream")
                .takes(Memory::PerMember(3))
                .or_auto(Auto::BeyondCaches(1))
                .quick(&["auto"])
                .full(&["256M"]),
            Param::word("pages", "transparent huge pages or base pages", &["huge", "base"]).quick(&["huge"]),
        ],
        version: 3,
        scaling: Scaling::alone("it is about one CPU; worker groups have mem.bandwidth"),
        placements: &[Placement::EveryNodePair],
        target_half_width: 0.05,
        tier: Tier::Standard,
        ..Info::new("mem.numa")
    },
    run: Run::Here(run),
};

/// Bytes of a stream in one iteration.
const PIECE: usize = 64 << 10;
/// Pages whose node is checked, evenly spaced.
const ASKED: usize = 256;

fn run(ctx: &mut Ctx) -> Outcome {
    let Placement::Nodes { cpu: from, memory: node } = *ctx.placement() else {
        return Err(BenchError::Unsupported("one NUMA node".to_owned()));
    };
    over(ctx, from, node)
}

/// Measures a CPU of node `from` on the memory of node `node`.
fn over(ctx: &mut Ctx, from: u32, node: u32) -> Outcome {
    let size = (ctx.int("size") as usize).next_multiple_of(PIECE);
    let mut chased = bound_memory(ctx, size, node)?;
    let read = bound_memory(ctx, size, node)?;
    let mut written = bound_memory(ctx, size, node)?;
    for map in [&chased, &read, &written] {
        let offsets: Vec<usize> = (0..ASKED).map(|i| i * (size / ASKED)).collect();
        let nodes = numa::nodes_of(map, &offsets).context("asking where pages are (move_pages)")?;
        let elsewhere = nodes.iter().filter(|found| **found != Some(node)).count();
        ctx.prove("pages on another node", "0", elsewhere as f64, 0.0..=0.0);
    }
    if let Some(declared) = numa::distance(from, node) {
        ctx.fact("declared", declared);
        ctx.fact("slit.distance", declared);
    }
    let rng = ctx.rng();
    let area = &mut chased[..size];
    let chain =
        Chain::translation_amortised(area, super::FAR_SPACING, super::GROUP_PAGES, page_size(), |n| rng.below(n));
    let mut chain = chain.map_err(BenchError::Unsupported)?;
    super::evict(ctx, &mut chain, super::FAR_SPACING);
    let nodes = chain.nodes();
    let reading = Stream::new(Op::Read, None).map_err(BenchError::Unsupported)?;
    let writing = Stream::new(Op::WriteNt, None);
    let (mut at_read, mut at_written) = (0, 0);
    let (mut walked, mut bytes_read, mut bytes_written) = (0, 0, 0);
    let mut variants = vec![
        Variant::new("", |iters| {
            walked += chain.walk(iters * CHASE_UNROLL);
            Ok(())
        })
        .per_iter(CHASE_UNROLL as f64),
        Variant::new("read", |iters| {
            for _ in 0..iters {
                bytes_read +=
                    reading.over(&mut [], &read[at_read..at_read + PIECE]).map_err(BenchError::Failed)?.run(1);
                at_read = (at_read + PIECE) % size;
            }
            Ok(())
        })
        .per_iter(PIECE as f64),
    ];
    match &writing {
        Ok(writing) => variants.push(
            Variant::new("write_nt", |iters| {
                for _ in 0..iters {
                    let piece = &mut written[at_written..at_written + PIECE];
                    bytes_written += writing.over(piece, &[]).map_err(BenchError::Failed)?.run(1);
                    at_written = (at_written + PIECE) % size;
                }
                Ok(())
            })
            .per_iter(PIECE as f64),
        ),
        Err(why) => ctx.unresolved("write_nt", why),
    }
    ctx.measure_variants(&mut variants)?;
    drop(variants);
    // A stream that stood still would be read from a cache.
    let place = |name: &str| ctx.iterations_of(name) as usize % (size / PIECE) * PIECE;
    let apart = at_read.abs_diff(place("read")) + at_written.abs_diff(place("write_nt"));
    ctx.prove("bytes between the streams' places and those credited", "0", apart as f64, 0.0..=0.0);
    work::once_each(ctx, "loads made per load credited", walked, ctx.iterations_of("") * CHASE_UNROLL);
    super::check_first_lap(ctx, "", &[walked], nodes);
    work::once_each(ctx, "bytes read per byte credited", bytes_read, ctx.iterations_of("read") * PIECE as u64);
    if writing.is_ok() {
        let credited = ctx.iterations_of("write_nt") * PIECE as u64;
        work::once_each(ctx, "bytes written per byte credited", bytes_written, credited);
    }
    Ok(())
}

/// Memory bound to a node, with all pages present, and of the kind asked for.
fn bound_memory(ctx: &mut Ctx, size: usize, node: u32) -> Result<Map, BenchError> {
    super::buffer_from(ctx, size, |map| {
        numa::bind(map, node).map_err(|e| BenchError::from_io(&format!("binding memory to node {node} (mbind)"), &e))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::{try_out, try_placed};

    #[test]
    fn without_a_pair_of_nodes_it_says_so() {
        let tried = try_out(&BENCH, &[], None).map(|_| ());
        assert!(matches!(&tried, Err(BenchError::Unsupported(why)) if why == "one NUMA node"), "{tried:?}");
    }

    #[test]
    fn node_0_against_itself_is_measured() {
        static NEAR: Benchmark = Benchmark { info: BENCH.info, run: Run::Here(|ctx| over(ctx, 0, 0)) };
        let tried = match try_out(&NEAR, &[("size", "2M")], None) {
            Err(BenchError::Unsupported(why) | BenchError::Denied(why)) => return eprintln!("skipped: {why}"),
            tried => tried.expect("memory"),
        };
        assert!(tried.samples("") >= 3 && tried.samples("read") >= 3);
        assert_eq!(tried.proven("pages on another node"), 0.0);
        // A chain that was just written is in the caches.
        let evicts = groma_harness::sys::flush::Flush::evict().is_some().to_string();
        assert_eq!(tried.result.fact("chain.evicted"), Some(evicts.as_str()));
    }

    /// No machine has such a node, so that the one that memory is bound to is told.
    #[test]
    fn memory_is_that_of_the_placement_s_second_node() {
        let placement = Placement::Nodes { cpu: 0, memory: 1023 };
        let cpus = &groma_harness::sys::affinity::allowed().expect("a mask")[..1];
        let refused = try_placed(&BENCH, &[("size", "2M"), ("pages", "base")], None, placement, cpus);
        let why = refused.expect_err("no such node").to_string();
        assert!(why.contains("binding memory to node 1023"), "{why}");
    }
}
