//! What the numbers of one benchmark say of each other.
//!
//! Oracles (`oracles.rs`) judge main values. Second ones, such as a phase of an operation, the CPU
//! time of a side, a rate or a percentile, have no operation in C beside them, but they follow from
//! each other: phases add up to the whole, a rate is the inverse of a time, requests in flight are
//! their rate times their latency. A wrong unit, a forgotten phase or swapped outputs break that.
//!
//! Not here are differences and ratios that the catalogue derives: `groma-analysis` tests how.

use crate::common::{Place, has_value};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// The outputs of one point, in SI units, by the end of their ids; the main value's is empty.
struct Outputs(BTreeMap<String, f64>);

impl Outputs {
    /// The value of an output; NaN, which is in no range, where it could not be told.
    fn of(&self, name: &str) -> f64 {
        self.0.get(name).copied().unwrap_or(f64::NAN)
    }
}

/// What holds for the outputs of a benchmark.
struct Relation {
    bench: &'static str,
    /// The point that it is about, `name=value`; the first one where it is empty.
    point: &'static str,
    what: &'static str,
    seen: fn(&Outputs) -> f64,
    expected: RangeInclusive<f64>,
}

/// Two ways to the same number, one round of each.
const EXACT: RangeInclusive<f64> = 0.999..=1.001;
/// Medians of parts against the median of the whole, or of what alternates with it.
const ALIKE: RangeInclusive<f64> = 0.8..=1.25;
/// The CPU time of two sides on one CPU against the time of both: others on it take the rest.
const SHARED: RangeInclusive<f64> = 0.3..=1.4;
/// A part of the whole. No part is less than a fiftieth.
const PART: RangeInclusive<f64> = 0.02..=1.05;

const fn relation(
    bench: &'static str,
    point: &'static str,
    what: &'static str,
    seen: fn(&Outputs) -> f64,
    expected: RangeInclusive<f64>,
) -> Relation {
    Relation { bench, point, what, seen, expected }
}

const RELATIONS: &[Relation] = &[
    relation("vm.map", "", "map and unmap are all of it", |o| (o.of("map") + o.of("unmap")) / o.of(""), ALIKE),
    relation(
        "thread.create_join",
        "",
        "until the thread runs and from its end on is all of it",
        |o| (o.of("first") + o.of("join")) / o.of(""),
        ALIKE,
    ),
    relation(
        "proc.fork_exit",
        "",
        "until the child runs and the rest is all of it",
        |o| (o.of("first") + o.of("return")) / o.of(""),
        ALIKE,
    ),
    relation("proc.vfork_exit", "", "until the child runs is a part", |o| o.of("first") / o.of(""), PART),
    relation(
        "mix.andrew",
        "",
        "the phases are all of it",
        |o| {
            let phases = ["mkdir", "copy", "stat", "read", "compile", "link", "delete"];
            phases.map(|phase| o.of(phase)).iter().sum::<f64>() / o.of("")
        },
        ALIKE,
    ),
    relation(
        "cpu.contention",
        "",
        "operations of two CPUs in the time of one",
        |o| o.of("rate") * o.of("") / 2.0,
        EXACT,
    ),
    relation("cpu.contention", "", "the slower against the faster CPU", |o| o.of("fairness"), 0.0..=1.0),
    relation(
        "cpu.operation",
        "op=i64.mul",
        "cycles of the clock",
        |o| o.of("cycles") * o.of("cycle") / o.of(""),
        EXACT,
    ),
    relation(
        "cpu.operation",
        "op=i64.mul",
        "independent operations in the same clock",
        |o| o.of("throughput_cycles") * o.of("cycle") / o.of("throughput"),
        EXACT,
    ),
    relation(
        "cpu.operation",
        "op=i64.mul",
        "operations under way at a time",
        |o| o.of("throughput") * o.of("parallelism") / o.of(""),
        EXACT,
    ),
    relation(
        "mem.parallelism",
        "",
        "bytes of a miss are a line's",
        |o| o.of("bandwidth") / o.of("rate") / line_size(),
        EXACT,
    ),
    relation(
        "mem.hammer",
        "",
        "a line is read and written back",
        |o| o.of("traffic") / o.of("rate") / (2.0 * line_size()),
        EXACT,
    ),
    relation("mem.hammer", "", "stores in their time, and another pause of theirs", |o| o.of("rate") * o.of(""), ALIKE),
    relation(
        "mem.hammer",
        "",
        "what drawing addresses costs",
        |o| o.of("generator_share") * o.of("") / o.of("generator"),
        ALIKE,
    ),
    relation("mem.access", "", "what over-reads", |o| o.of("over_read") * o.of("read") / o.of(""), EXACT),
    relation("mem.loaded_latency", "", "windows that are slower", |o| o.of("p95") / o.of(""), 0.99..=1e6),
    relation("disk.queue", "depth=1", "one request at a time, in its time", |o| o.of("") * o.of("latency"), 0.3..=1.1),
    relation("disk.queue", "depth=1", "the slower requests", |o| o.of("p99") / o.of("latency"), 1.0..=1e6),
    relation("disk.overhead", "", "the CPU works for a part of a request", |o| o.of("cpu") / o.of(""), 1e-6..=1.05),
    relation("sched.periodic", "", "the latest wake-up", |o| o.of("max") / o.of(""), 1.0..=1e9),
    // The share of the time that was lost is the gaps in a second times the mean of a gap.
    relation(
        "sched.noise",
        "",
        "the longest gap is above the mean",
        |o| if o.of("gaps") == 0.0 { 1.0 } else { o.of("longest") * o.of("gaps") / o.of("") },
        0.99..=1e9,
    ),
    relation("http.get", "", "the server's part", |o| o.of("cpu_server") / o.of(""), PART),
    relation("net.udp_bandwidth", "", "datagrams that are lost", |o| o.of("loss"), 0.0..=1.0),
    relation("net.tcp_accept", "", "accept is a part of connecting as well", |o| o.of("alone") / o.of(""), PART),
    // On one CPU the two sides share its time; GB are 1e9 B.
    relation("ipc.pipe_bandwidth", "", "CPU time of the sides", |o| busy(o, "cpu_writer", "cpu_reader"), SHARED),
    relation("ipc.unix_bandwidth", "", "CPU time of the sides", |o| busy(o, "cpu_writer", "cpu_reader"), SHARED),
    relation("ipc.sendfile_bandwidth", "", "CPU time of the sides", |o| busy(o, "cpu_writer", "cpu_reader"), SHARED),
    relation("net.tcp_bandwidth", "", "CPU time of the sides", |o| busy(o, "cpu_sender", "cpu_receiver"), SHARED),
    relation("clock.rate", "", "parts of a million that two rates differ", |o| 1e6 * o.of("error").abs(), 0.0..=1000.0),
    relation("clock.rate", "", "what windows differ", |o| o.of("spread"), 0.0..=0.01),
    relation("cpu.frequencies", "", "the slowest CPU and the fastest", |o| o.of("lowest") / o.of("highest"), 0.0..=1.0),
    relation("cpu.frequencies", "", "the median CPU and the fastest", |o| o.of("") / o.of("highest"), 0.0..=1.0),
];

/// The share of the time in which one side or the other had the CPU.
fn busy(outputs: &Outputs, one: &str, other: &str) -> f64 {
    (outputs.of(one) + outputs.of(other)) * outputs.of("") / 1e9
}

/// The bytes of a line of the first cache.
fn line_size() -> f64 {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size");
    text.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(64.0)
}

/// One round of these benchmarks. What takes long to set up is smaller than usual.
fn round(place: &Place, benches: &[&str]) -> Value {
    let settings = [
        ("disk.queue", "disk.queue:size=16M"),
        ("disk.queue", "disk.queue:depth=1"),
        ("disk.overhead", "disk.overhead:size=16M"),
    ];
    let mut args: Vec<&str> =
        "run --profile quick --rounds 1 --budget 10m --deadline 2m --no-store --json".split(' ').collect();
    args.extend(benches);
    args.extend(
        settings.iter().filter(|(bench, _)| benches.contains(bench)).flat_map(|(_, setting)| ["--param", setting]),
    );
    place.json(&args)
}

/// The outputs of the point that a relation is about. `None` where this machine does not measure
/// it.
fn outputs(run: &Value, relation: &Relation) -> Option<Outputs> {
    let all = run["metrics"].as_array().expect("metrics").iter();
    let mut of_it = all
        .filter(|m| {
            let id = m["id"].as_str().expect("an id");
            let is_output =
                id.strip_prefix(relation.bench).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
            is_output
                && m["params_text"]
                    .as_str()
                    .expect("parameters")
                    .split(' ')
                    .any(|p| relation.point.is_empty() || p == relation.point)
        })
        .peekable();
    let first = of_it.peek().unwrap_or_else(|| panic!("{} {}: no such point", relation.bench, relation.point));
    let here = |m: &Value| (m["params_text"].clone(), m["placement"].clone());
    let point = here(first);
    if ["unsupported", "denied"].contains(&first["state"].as_str().expect("a state")) {
        return None;
    }
    let name = |m: &Value| m["id"].as_str().expect("an id")[relation.bench.len()..].trim_start_matches('.').to_owned();
    let value = |m: &Value| has_value(m).then(|| m["value"].as_f64()).flatten();
    Some(Outputs(of_it.filter(|m| here(m) == point).filter_map(|m| Some((name(m), value(m)?))).collect()))
}

/// A relation that a busy machine breaks, or a value that it hides, is looked at again. What stays
/// hidden is not judged.
#[test]
fn outputs_of_a_benchmark_agree_with_each_other() {
    let place = Place::new();
    let mut open: Vec<&Relation> = RELATIONS.iter().collect();
    let (mut not_here, mut hidden, mut broken) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..6 {
        let mut benches: Vec<&str> = open.iter().map(|relation| relation.bench).collect();
        benches.dedup();
        let run = round(&place, &benches);
        (hidden, broken) = (Vec::new(), Vec::new());
        open.retain(|relation| {
            let what = format!("{}: {}", relation.bench, relation.what);
            let Some(outputs) = outputs(&run, relation) else {
                not_here.push(what);
                return false;
            };
            let seen = (relation.seen)(&outputs);
            println!("{what}: {seen:.4}");
            if relation.expected.contains(&seen) {
                return false;
            }
            if seen.is_nan() {
                hidden.push(what);
            } else {
                broken.push(format!("{what}: {seen}, not in {:?}: {:?}", relation.expected, outputs.0));
            }
            true
        });
        if open.is_empty() {
            break;
        }
    }
    println!("not here: {not_here:?}; could not be told: {hidden:?}");
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(2 * (not_here.len() + hidden.len()) < RELATIONS.len(), "not here: {not_here:?}, hidden: {hidden:?}");
}
