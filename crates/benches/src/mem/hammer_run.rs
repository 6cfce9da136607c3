//! A fixed number of random stores by writers that start together: `groma hammer`.
//!
//! **Measures:** For each writer, the time from its first operation to its last, as Closson's SLB
//! prints it. `mem.hammer` describes the operation, whose time is a throughput. All writers do the
//! same number of operations, so a slower one is alone at the end; `overlap` is the part of the
//! whole time in which all were working. The time includes waiting for a CPU that others use: see
//! the fact `hammer.preemptions`.
//!
//! **Does not measure:** How long one store takes, or stores in order (`mem.bandwidth`). Its runs
//! are compared with other runs of the same numbers only.
//!
//! **Method:** A process for each writer, pinned to a CPU, with memory on that CPU's node or on the
//! named one (`mbind`, checked with `move_pages`). Before a writer reports that it is ready, every
//! page is present and its first operations have been compared with a reference. The worker opens
//! the gate when all are ready, and sleeps until they have finished. Each does PAGES x LOOPS
//! operations, as in the SLB, where 262144 pages and 6000 loops are 1572864000.
//!
//! **Pitfalls:**
//! - A writer that starts while others still make their pages present.
//! - Memory on another node than intended.
//! - One number for all writers, where one of them is starved.
//!
//! **Sources:** Kevin Closson's SLB (`memhammer`, `create_sem`, `trigger`, `cpu_bind`). See
//! docs/methods/memory.md#random-stores.

use super::hammer::{VARIANT, check_pages, kind, wrong_in_first};
use groma_harness::prelude::*;
use groma_harness::rendezvous::{Control, Partners};
use groma_harness::sys::arch::hammer::HAMMER_PAGE;
use groma_harness::sys::clock::{Clock, Monotonic};
use groma_harness::sys::counters::{Usage, current_cpu};
use groma_harness::sys::cpu_list::parse_cpus;
use groma_harness::sys::hammer::{Hammer, Kind};
use groma_harness::sys::pages::{Map, Policy};
use groma_harness::sys::shared::Shared;
use groma_harness::sys::{affinity, numa, process};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "A fixed number of random stores by writers that start together: time per store",
        about: about!("hammer_run.rs"),
        iteration: "PAGES x LOOPS operations by each writer",
        timing: Timing::Stated,
        outputs: &[
            Output::MAIN,
            Output::named("rate", "operations of all writers over the time from the first start to the last end")
                .quantity(Quantity::Rate),
            Output::named("overlap", "share of that time in which all writers were at work")
                .quantity(Quantity::Ratio)
                .detail(),
            Output::named("unfairness", "time of the slowest writer over that of the fastest")
                .quantity(Quantity::Ratio)
                .detail(),
        ],
        params: &[
            VARIANT,
            Param::count("writers", "how many writers").quick(&["1"]),
            Param::count("pages", "4 KiB pages of memory for each")
                .takes(Memory::Times(4096, "writers"))
                .quick(&["32768"]),
            Param::count("loops", "operations per page, for each").quick(&["100"]),
            Param::text("cpus", "the CPUs of the writers in their order, such as 0,2, or any").quick(&["any"]),
            Param::text("nodes", "the nodes of their memory in their order, again and again, or local")
                .quick(&["local"]),
        ],
        scaling: Scaling::alone("it has writers of its own (writers=2)"),
        placements: &[Placement::Free],
        interference: Interference::Tasks,
        target_half_width: 0.05,
        tier: Tier::Named,
        ..Info::new("mem.hammer_run")
    },
    run: Run::Here(run),
};

/// Pages whose node is checked.
const NODE_SAMPLES: usize = 256;

/// The command to begin.
const BEGIN: u32 = 1;

/// The results of a writer: the words of its row in shared memory.
#[derive(Clone, Copy)]
enum Found {
    /// The step that failed (an index of [`STEPS`], plus 1), and its errno.
    Step,
    Errno,
    /// Nanoseconds of the monotonic clock.
    Start,
    End,
    /// Operations, by the generator's counter.
    Ops,
    WrongWords,
    ElsewhereOnCpu,
    ElsewhereOnNode,
    Preempted,
    Faults,
    /// The number of words.
    All,
}

/// The steps of a writer before it is ready, as texts of errors.
const STEPS: [&str; 3] = ["pinning a writer", "mapping its memory", "putting its memory on the node"];

/// One of the writers.
#[derive(Clone, Copy, Debug)]
struct Writer {
    cpu: u32,
    node: Option<u32>,
    kind: Kind,
    bytes: usize,
    ops: u64,
    seed: u64,
}

impl Writer {
    /// Prepares the memory, waits for the command, runs the operations and stores the results.
    fn work(&self, control: &Control, row: &[AtomicU64]) -> Result<(), String> {
        let put = |place: Found, value: u64| row[place as usize].store(value, SeqCst);
        let mut map = match self.prepare() {
            Ok(map) => map,
            Err((step, error)) => {
                put(Found::Errno, error.raw_os_error().unwrap_or(0) as u64);
                put(Found::Step, step as u64 + 1);
                return Err(format!("{}: {error}", STEPS[step]));
            }
        };
        if let Some(node) = self.node {
            // Pages whose node cannot be read do not count as wrong.
            let seen = numa::nodes(&map, NODE_SAMPLES).unwrap_or_default();
            put(Found::ElsewhereOnNode, seen.iter().filter(|n| **n != Some(node)).count() as u64);
        }
        let mut hammer = Hammer::new(&mut map[..self.bytes], self.kind, self.seed)?;
        put(Found::WrongWords, wrong_in_first(&mut hammer) as u64);
        control.await_command();
        let (before, used) = (hammer.standing(), Usage::thread());
        let start = Monotonic.now_ns();
        hammer.run(self.ops);
        let end = Monotonic.now_ns();
        let used = Usage::thread().since(&used);
        put(Found::Start, start);
        put(Found::End, end);
        put(Found::Ops, hammer.ops_since(before));
        put(Found::Preempted, used.involuntary);
        put(Found::Faults, used.minor_faults + used.major_faults);
        put(Found::ElsewhereOnCpu, u64::from(current_cpu() != self.cpu));
        Ok(())
    }

    fn prepare(&self) -> Result<Map, (usize, io::Error)> {
        affinity::pin(self.cpu).map_err(|e| (0, e))?;
        process::refuse_huge_pages();
        let mut map = Map::anonymous(self.bytes, Policy::Base).map_err(|e| (1, e))?;
        if let Some(node) = self.node {
            numa::bind(&mut map, node).map_err(|e| (2, e))?;
        }
        map.populate();
        Ok(map)
    }
}

/// The writers' CPUs: the named ones, or those of the run. They are read from the supervisor,
/// because this process may be pinned.
fn cpus(text: &str, writers: usize) -> Result<Vec<u32>, BenchError> {
    let named = match text {
        "any" => {
            affinity::allowed_to(process::parent_id()).or_else(|_| affinity::allowed()).context("reading the CPUs")?
        }
        list => in_order(list).map_err(|why| BenchError::Unsupported(format!("cpus={list}: {why}")))?,
    };
    if writers > named.len() {
        return Err(BenchError::Unsupported(format!(
            "{writers} writers for {} CPUs: each has one of its own",
            named.len()
        )));
    }
    Ok(named[..writers].to_vec())
}

/// Parses a list such as `2,0` or `4-6,1`, and keeps its order.
fn in_order(list: &str) -> Result<Vec<u32>, String> {
    let parts: Vec<Vec<u32>> = list.split(',').map(parse_cpus).collect::<Result<_, _>>()?;
    Ok(parts.concat())
}

/// The node of a writer's memory: the named ones in their order, again and again.
fn node_of(nodes: &[u32], writer: usize) -> Option<u32> {
    nodes.iter().cycle().nth(writer).copied()
}

/// How the writers' times relate.
#[derive(Debug, PartialEq)]
struct Together {
    /// Nanoseconds from the first start to the last end.
    wall: f64,
    /// The share of `wall` in which all were working; 0 when one ended before another began.
    overlap: f64,
    /// The longest time of a writer over the shortest.
    unfairness: f64,
}

fn together(spans: &[(u64, u64)]) -> Option<Together> {
    let (first, last_start) = (spans.iter().map(|s| s.0).min()?, spans.iter().map(|s| s.0).max()?);
    let (first_end, last) = (spans.iter().map(|s| s.1).min()?, spans.iter().map(|s| s.1).max()?);
    let took = |s: &(u64, u64)| (s.1 - s.0) as f64;
    let longest = spans.iter().map(took).fold(0.0, f64::max);
    let shortest = spans.iter().map(took).fold(f64::INFINITY, f64::min);
    let wall = (last - first) as f64;
    (shortest > 0.0).then(|| Together {
        wall,
        overlap: first_end.saturating_sub(last_start) as f64 / wall,
        unfairness: longest / shortest,
    })
}

fn run(ctx: &mut Ctx) -> Outcome {
    let (kind, pages, loops) = (kind(ctx), ctx.int("pages"), ctx.int("loops"));
    let writers = ctx.int("writers") as usize;
    let cpus = cpus(ctx.word("cpus"), writers)?;
    let nodes = match ctx.word("nodes") {
        "local" => Vec::new(),
        list => in_order(list).map_err(|why| BenchError::Unsupported(format!("nodes={list}: {why}")))?,
    };
    let bytes = pages.saturating_mul(HAMMER_PAGE as u64);
    check_pages(bytes)?;
    let Some(ops) = pages.checked_mul(loops).filter(|ops| *ops > 0) else {
        return Err(BenchError::Unsupported(format!(
            "{pages} pages x {loops} loops is not a valid number of operations"
        )));
    };
    // Stores come in pairs.
    let ops = if kind == Kind::Own { ops } else { ops.next_multiple_of(2) };
    ctx.fact("hammer.cpus", cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(","));
    ctx.fact("hammer.ops", ops);
    ctx.fact("hammer.instruction", kind.instruction());

    let width = Found::All as usize;
    let rows = Shared::<AtomicU64>::new(writers * width).context("sharing memory with the writers")?;
    let mut partners = Partners::new()?;
    for (i, row) in rows.chunks(width).enumerate() {
        let node = node_of(&nodes, i);
        let writer = Writer { cpu: cpus[i], node, kind, bytes: bytes as usize, ops, seed: ctx.rng().next_u64() };
        partners.fork(ctx, format!("the writer on CPU {}", writer.cpu), |control| writer.work(control, row))?;
    }
    let at = |i: usize, place: Found| rows[i * width + place as usize].load(SeqCst);
    // Of a step that failed, the writer left the reason.
    let reason = |ended: BenchError| {
        let failed = (0..writers).find(|i| at(*i, Found::Step) > 0);
        failed.map_or(ended, |i| {
            let error = io::Error::from_raw_os_error(at(i, Found::Errno) as i32);
            let step = STEPS[at(i, Found::Step) as usize - 1];
            BenchError::from_io(&format!("{step} (CPU {})", cpus[i]), &error)
        })
    };
    partners.all_ready().map_err(reason)?;
    partners.send_command(BEGIN);
    partners.wait_for_success()?;

    let spans: Vec<(u64, u64)> = (0..writers).map(|i| (at(i, Found::Start), at(i, Found::End))).collect();
    let Some(all) = together(&spans) else {
        return Err(BenchError::Failed("the operations took no time".to_owned()));
    };
    for (start, end) in &spans {
        let seconds = (end - start) as f64 * 1e-9;
        ctx.state(seconds / ops as f64);
        ctx.state_as("elapsed", seconds);
    }
    let wall = all.wall * 1e-9;
    ctx.state_as("wall", wall);
    ctx.state_as("rate", (ops * writers as u64) as f64 / wall);
    ctx.state_as("overlap", all.overlap);
    ctx.state_as("unfairness", all.unfairness);
    let total = |place: Found| (0..writers).map(|i| at(i, place)).sum::<u64>();
    let share = total(Found::Ops) as f64 / (ops * writers as u64) as f64;
    ctx.prove("operations that the counters went through, per operation", "exactly 1", share, 1.0..=1.0);
    let wrong = total(Found::WrongWords) as f64;
    ctx.prove("words that are not what the reference stored", "0", wrong, 0.0..=0.0);
    let elsewhere = total(Found::ElsewhereOnCpu) as f64;
    ctx.prove("writers that were found on another CPU", "0", elsewhere, 0.0..=0.0);
    if !nodes.is_empty() {
        let strange = total(Found::ElsewhereOnNode) as f64;
        ctx.prove("pages that were found on another node", "0", strange, 0.0..=0.0);
    }
    ctx.fact("hammer.preemptions", total(Found::Preempted));
    ctx.fact("hammer.faults", total(Found::Faults));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::sys::pages::page_size;
    use groma_harness::testing::try_out;

    #[test]
    fn writers_do_what_was_ordered() {
        let all = affinity::allowed().expect("a mask");
        for (variant, writers) in [("store", 1), ("line", all.len().min(2)), ("own", 1)] {
            let many = writers.to_string();
            let chosen = [("variant", variant), ("writers", &*many), ("pages", "64"), ("loops", "33")];
            let tried = try_out(&BENCH, &chosen, None).expect("a few pages");
            let values = |name: &str| tried.result.series(name).expect("stated").values.clone();
            assert_eq!((values("").len(), values("elapsed").len(), values("rate").len()), (writers, writers, 1));
            for (per_op, elapsed) in values("").iter().zip(values("elapsed")) {
                assert!((per_op * 64.0 * 33.0 / elapsed - 1.0).abs() < 1e-9);
            }
            // The rate is that of all of them: their operations over the time of the longest span.
            let together = values("rate")[0] * values("wall")[0] / (64.0 * 33.0 * writers as f64);
            assert!((together - 1.0).abs() < 1e-9, "{together}");
            assert!(values("overlap")[0] <= 1.0 && values("unfairness")[0] >= 1.0);
            assert_eq!(tried.proven("operations that the counters went through, per operation"), 1.0);
            assert_eq!(tried.proven("words that are not what the reference stored"), 0.0);
            assert_eq!(tried.proven("writers that were found on another CPU"), 0.0);
        }
    }

    #[test]
    fn memory_is_on_the_node_that_was_named_or_it_is_said() {
        match try_out(&BENCH, &[("pages", "64"), ("loops", "1"), ("nodes", "0")], None) {
            Ok(tried) => assert_eq!(tried.proven("pages that were found on another node"), 0.0),
            Err(BenchError::Unsupported(why) | BenchError::Denied(why)) => println!("skipped: {why}"),
            Err(stop) => panic!("{stop}"),
        }
        let refused = try_out(&BENCH, &[("pages", "64"), ("nodes", "1023")], None).expect_err("no such node");
        assert!(refused.to_string().starts_with("putting its memory on the node (CPU "), "{refused}");
    }

    #[test]
    fn orders_that_cannot_be_are_refused() {
        for (name, value) in [("writers", "100000"), ("pages", "9223372036854775807"), ("cpus", "x")] {
            let refused = try_out(&BENCH, &[(name, value), ("pages", "64")][..1], None).expect_err("impossible");
            assert!(matches!(refused, BenchError::Unsupported(_)), "{name}={value}: {refused}");
        }
    }

    #[test]
    fn overlap_is_what_all_had_of_the_whole() {
        let found = together(&[(100, 300), (150, 500)]).expect("times");
        assert_eq!(found, Together { wall: 400.0, overlap: 150.0 / 400.0, unfairness: 350.0 / 200.0 });
        // One after the other.
        assert_eq!(together(&[(0, 10), (30, 40)]).expect("times").overlap, 0.0);
        assert_eq!(together(&[(0, 10)]), Some(Together { wall: 10.0, overlap: 1.0, unfairness: 1.0 }));
        assert_eq!(together(&[(5, 5)]), None);
    }

    #[test]
    fn writers_are_on_the_cpus_and_nodes_that_were_named_in_their_order() {
        assert_eq!(cpus("5,3,4", 2).expect("three for two"), [5, 3]);
        assert!(cpus("5,3,4", 4).is_err());
        let nodes = |named: &[u32]| [0, 1, 2, 3, 4].map(|writer| node_of(named, writer));
        assert_eq!(nodes(&[3, 1]), [3, 1, 3, 1, 3].map(Some));
        assert_eq!(nodes(&[]), [None; 5]);
    }

    /// A page that is touched first in the timed part costs a fault.
    #[test]
    fn a_writer_prepares_all_of_its_memory_on_its_cpu() {
        let cpu = *affinity::allowed().expect("a mask").last().expect("a CPU");
        let writer = Writer { cpu, node: None, kind: Kind::Line, bytes: 64 * HAMMER_PAGE, ops: 0, seed: 1 };
        let prepared = sys::thread::spawn(256 << 10, move || {
            let map = writer.prepare().expect("a few pages");
            (map.resident_pages().expect("mincore"), map.len() / page_size(), current_cpu())
        });
        let (there, pages, on) = prepared.expect("a thread").join().expect("no panic");
        assert_eq!((there, on), (pages, cpu));
        assert!(pages * page_size() >= 64 * HAMMER_PAGE);
    }

    #[test]
    fn stores_come_in_pairs() {
        for (variant, ops) in [("store", "10990"), ("line", "10990"), ("own", "10989")] {
            let chosen = [("variant", variant), ("pages", "33"), ("loops", "333")];
            let tried = try_out(&BENCH, &chosen, None).expect("a few pages");
            assert_eq!(tried.result.fact("hammer.ops"), Some(ops), "{variant}");
            assert_eq!(tried.proven("operations that the counters went through, per operation"), 1.0);
        }
    }

    #[test]
    fn lists_keep_their_order() {
        assert_eq!(in_order("2,0"), Ok(vec![2, 0]));
        assert_eq!(in_order("4-6,1"), Ok(vec![4, 5, 6, 1]));
        assert!(in_order("a").is_err());
    }
}
