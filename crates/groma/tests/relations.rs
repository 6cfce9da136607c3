//! What the numbers of one benchmark say of each other.
//!
//! Oracles (`oracles.rs`) judge main values. Second ones, such as a phase of an operation, the CPU
//! time of a side, a rate or a percentile, have no operation in C beside them, but they follow from
//! each other: phases add up to the whole, a rate is the inverse of a time, requests in flight are
//! their rate times their latency. A wrong unit, a forgotten phase or swapped outputs break that.
//!
//! Not here are differences and ratios that the catalogue derives: `groma-analysis` tests how.

use crate::common::{Place, has_value};
use groma_sys::topology::Topology;
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
    what: &'static str,
    seen: fn(&Outputs) -> f64,
    expected: RangeInclusive<f64>,
) -> Relation {
    Relation { bench, point: "", what, seen, expected }
}

impl Relation {
    /// The same of another point than the first.
    const fn at(self, point: &'static str) -> Relation {
        Relation { point, ..self }
    }
}

const RELATIONS: &[Relation] = &[
    relation("vm.map", "map and unmap are all of it", |o| (o.of("map") + o.of("unmap")) / o.of(""), ALIKE),
    relation(
        "thread.create_join",
        "until its first instruction and from there on is all of it",
        |o| (o.of("first") + o.of("join")) / o.of(""),
        ALIKE,
    ),
    // Their sum is not the whole: where the parent runs first, both contain the fork and neither
    // contains the end of the child.
    relation("proc.fork_exit", "the child runs before the end", |o| o.of("first") / o.of(""), PART),
    relation("proc.fork_exit", "the call returns before the end", |o| o.of("return") / o.of(""), PART),
    relation("proc.vfork_exit", "the child runs before the end", |o| o.of("first") / o.of(""), PART),
    relation(
        "mix.andrew",
        "the phases are all of it",
        |o| {
            let phases = ["mkdir", "copy", "stat", "read", "compile", "link", "delete"];
            phases.map(|phase| o.of(phase)).iter().sum::<f64>() / o.of("")
        },
        ALIKE,
    ),
    relation("cpu.contention", "operations of both CPUs, each in its time", |o| o.of("rate") * o.of("") / 2.0, EXACT),
    relation("cpu.contention", "fairness is a share", |o| o.of("fairness"), 0.0..=1.0),
    relation("cpu.operation", "cycles of the clock", |o| o.of("cycles") * o.of("cycle") / o.of(""), EXACT)
        .at("op=i64.mul"),
    relation(
        "cpu.operation",
        "independent operations in cycles of the same clock",
        |o| o.of("throughput_cycles") * o.of("cycle") / o.of("throughput"),
        EXACT,
    )
    .at("op=i64.mul"),
    relation("cpu.operation", "operations in flight", |o| o.of("throughput") * o.of("parallelism") / o.of(""), EXACT)
        .at("op=i64.mul"),
    relation("mem.parallelism", "a miss loads a line", |o| o.of("bandwidth") / o.of("rate") / line_size(), EXACT),
    relation(
        "mem.hammer",
        "a line is read and written back",
        |o| o.of("traffic") / o.of("rate") / (2.0 * line_size()),
        EXACT,
    ),
    relation("mem.hammer", "the rate is the inverse of the time", |o| o.of("rate") * o.of(""), ALIKE),
    relation(
        "mem.hammer",
        "the share of the time that drawing addresses takes",
        |o| o.of("generator_share") * o.of("") / o.of("generator"),
        ALIKE,
    ),
    relation("mem.access", "writing against reading", |o| o.of("over_read") * o.of("read") / o.of(""), EXACT),
    relation("mem.loaded_latency", "the 95th percentile is above the median", |o| o.of("p95") / o.of(""), 0.99..=1e6),
    relation("disk.queue", "rate times latency is the requests in flight", |o| o.of("") * o.of("latency"), 0.3..=1.1)
        .at("depth=1"),
    relation("disk.queue", "the 99th percentile is above the median", |o| o.of("p99") / o.of("latency"), 1.0..=1e6)
        .at("depth=1"),
    relation("disk.overhead", "CPU time is a part of the time", |o| o.of("cpu") / o.of(""), 1e-6..=1.05),
    relation(
        "sched.periodic",
        "the latest wake-up is no earlier than the median",
        |o| o.of("max") / o.of(""),
        1.0..=1e9,
    ),
    // The share of the time that was lost is the gaps in a second times the mean of a gap.
    relation(
        "sched.noise",
        "the longest gap is above the mean",
        |o| if o.of("gaps") == 0.0 { 1.0 } else { o.of("longest") * o.of("gaps") / o.of("") },
        0.99..=1e9,
    ),
    relation("http.get", "the server's CPU time is a part of the time", |o| o.of("cpu_server") / o.of(""), PART),
    relation("net.udp_bandwidth", "loss is a share", |o| o.of("loss"), 0.0..=1.0),
    relation("net.tcp_accept", "accepting alone is a part of the time", |o| o.of("alone") / o.of(""), PART),
    // On one CPU the two sides share its time; GB are 1e9 B.
    relation(
        "ipc.pipe_bandwidth",
        "CPU time of both sides is the time",
        |o| busy(o, "cpu_writer", "cpu_reader"),
        SHARED,
    ),
    relation(
        "ipc.unix_bandwidth",
        "CPU time of both sides is the time",
        |o| busy(o, "cpu_writer", "cpu_reader"),
        SHARED,
    ),
    relation(
        "ipc.sendfile_bandwidth",
        "CPU time of both sides is the time",
        |o| busy(o, "cpu_writer", "cpu_reader"),
        SHARED,
    ),
    relation(
        "net.tcp_bandwidth",
        "CPU time of both sides is the time",
        |o| busy(o, "cpu_sender", "cpu_receiver"),
        SHARED,
    ),
    relation("clock.rate", "two rates, in parts per million", |o| 1e6 * o.of("error").abs(), 0.0..=1000.0),
    relation("clock.rate", "windows are alike", |o| o.of("spread"), 0.0..=0.01),
    relation(
        "cpu.frequencies",
        "the slowest is no faster than the fastest",
        |o| o.of("lowest") / o.of("highest"),
        0.0..=1.0,
    ),
    relation("cpu.frequencies", "the median is no faster than the fastest", |o| o.of("") / o.of("highest"), 0.0..=1.0),
];

/// The share of the time in which one side or the other had the CPU. Beside busy tasks it is the
/// share of what was left to them: with two such tasks on each CPU a pair had 0.26 in six rounds.
fn busy(outputs: &Outputs, one: &str, other: &str) -> f64 {
    let share = (outputs.of(one) + outputs.of(other)) * outputs.of("") / 1e9;
    if share < *SHARED.start() { (share * tasks_per_cpu()).min(1.0) } else { share }
}

/// The tasks that run or wait for a CPU now, by CPU; 1 where there are fewer.
fn tasks_per_cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let running = text.split(' ').nth(3).and_then(|tasks| tasks.split_once('/')?.0.parse::<f64>().ok());
    let cpus = groma_sys::affinity::allowed().map_or(1, |cpus| cpus.len());
    (running.unwrap_or(0.0) / cpus as f64).max(1.0)
}

/// The bytes of a cache line.
fn line_size() -> f64 {
    Topology::read().line().unwrap_or(64) as f64
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
    let metrics = run["metrics"].as_array().expect("metrics");
    let point = |m: &Value| (m["params_text"].clone(), m["placement"].clone());
    let is_meant = |m: &&Value| {
        let text = m["params_text"].as_str().expect("parameters");
        m["id"] == relation.bench && (relation.point.is_empty() || text.split(' ').any(|param| param == relation.point))
    };
    let main = metrics.iter().find(is_meant);
    let main = main.unwrap_or_else(|| panic!("{} {}: no such point", relation.bench, relation.point));
    if ["unsupported", "denied"].contains(&main["state"].as_str().expect("a state")) {
        return None;
    }
    let output = |m: &Value| {
        let name = m["id"].as_str()?.strip_prefix(relation.bench)?;
        let name = if name.is_empty() { name } else { name.strip_prefix('.')? };
        (point(m) == point(main) && has_value(m)).then_some((name.to_owned(), m["value"].as_f64()?))
    };
    Some(Outputs(metrics.iter().filter_map(output).collect()))
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
