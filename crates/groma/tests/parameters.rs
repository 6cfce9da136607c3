//! No benchmark ignores a parameter.
//!
//! A value that is read and forgotten, or taken for the usual one, keeps all proofs and reports the
//! cost of something else. Here each value of each parameter runs for a moment in a worker under
//! `strace`, and must leave a trace that the usual value does not leave, or lack one that it
//! leaves: in its system calls with their arguments. That it is the right trace, `words.rs` says
//! for those whose values choose the system call.
//!
//! The calls that the operation consists of, and their order, are also compared with those of the
//! last time (`parameters/calls.rs`).
//!
//! Not here are benchmarks of instructions and memory, whose values choose code (the kernels' own
//! tests), and whole mixes, which take too long. Without `strace`, or where it may not trace, the
//! test prints that and passes.
#![cfg(target_os = "linux")]

mod calls;
mod order;

use crate::common::{Place, eight_at_a_time, trace};
use groma_harness::Benchmark;
use groma_harness::model::{Param, ParamKind, Params, Placement, Tier, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

/// Groups that are not here.
const ELSEWHERE: [&str; 4] = ["cpu", "mem", "mix", "selftest"];
/// The size of files of disks, which take seconds to write otherwise.
const OF_DISKS: &str = "8M";
/// Groups and benchmarks that measure page faults: where these are made is part of the order.
const OF_FAULTS: [&str; 2] = ["vm", "file.mmap_reread"];
/// How long the rounds sample, the first and the next ones: what is made as often in all of them is
/// no part of the loop.
const LIMITS_MS: [u64; 3] = [2, 4, 7];
/// Sizes in bytes and times in nanoseconds up to this are tried, and counts up to [`FEW`]: what is
/// larger takes long to set up.
const SMALL: u64 = 1 << 20;
const FEW: u64 = 100;

/// Benchmarks whose clock stays invisible: programs that they start would load it as well, or they
/// do not run where reading the clock enters the kernel.
const WITHOUT_CLOCK: [&str; 5] = ["proc.exec", "proc.shell", "proc.spawn", "sched.noise", "vdso.clock_gettime"];

/// Values that leave no trace, and why.
const SILENT: &[(&str, &str, &str)] = &[
    ("ctx.switch", "access", "memory is read or written to"),
    ("disk.queue", "access", "requests are read by the kernel from memory"),
    ("file.reread", "mode", "what was read is summed up or not"),
    ("ipc.sendfile_bandwidth", "touch", "pages are read or not"),
    ("sched.periodic", "cpus", "the calls that choose CPUs are left out"),
    ("timer.sleep", "interface", "usleep is nanosleep for the kernel"),
    ("vm.brk", "size", "the end of the heap is an address"),
    ("vm.brk", "pages", "pages are written to or not"),
    ("vm.remap", "pages", "pages are written to or not"),
    ("vm.fault", "kind", "pages are read or written to"),
    ("vm.fault", "object", "it is of files, and the usual kind has none"),
];

/// The calls of a round, and how often each was made.
type Calls = BTreeMap<String, usize>;

/// What a round did.
struct Traced {
    calls: Calls,
    /// Which call follows which ([`order`]), and how often.
    order: Calls,
}

/// A round to be traced.
#[derive(Clone, Debug)]
struct Trial<'a> {
    bench: &'static Benchmark,
    /// The parameter and its value; nothing for the usual values.
    other: Option<(&'static str, &'static str)>,
    /// More options of `strace`.
    options: &'a [String],
}

impl Trial<'_> {
    /// All of its parameters.
    fn params(&self) -> Option<Params> {
        let value = |param: &Param| {
            let text = match self.other {
                Some((name, text)) if name == param.name => text,
                _ if group(self.bench) == "disk" && param.name == "size" => OF_DISKS,
                _ => small(param)?,
            };
            Some((param.name.to_owned(), param.parse(text).ok()?))
        };
        self.bench.info.params.iter().map(value).collect::<Option<_>>().map(Params)
    }

    /// What can be told of a round, without what differs between any two of them, and how often.
    fn trace(&self, limit_ms: u64) -> Option<Traced> {
        let two_sides = self.bench.info.placements.contains(&Placement::SameCpu);
        // Always the same for a benchmark, and not the same for all: they would wait for it.
        let cpus = groma_sys::affinity::allowed().expect("CPUs");
        let on = two_sides.then(|| cpus[self.bench.info.id.len() % cpus.len()]);
        let of_faults = OF_FAULTS.iter().any(|of| [group(self.bench), self.bench.info.id].contains(of));
        let mut options = if WITHOUT_CLOCK.contains(&self.bench.info.id) { Vec::new() } else { self.options.to_vec() };
        if of_faults && !options.is_empty() {
            options.extend(trace::WITH_FAULTS.map(str::to_owned));
        }
        let traced = trace::traced(self.bench.info.id, &self.params()?, on, limit_ms, &options)?;
        let pids: BTreeSet<&str> = traced.lines.iter().map(|(pid, _)| pid.as_str()).collect();
        let mut calls = Calls::new();
        for call in traced.calls().filter(|call| is_own(call)) {
            *calls.entry(plain(call, &traced.dir, &pids)).or_default() += 1;
        }
        Some(Traced { calls, order: order::pairs(&traced) })
    }
}

/// The group of a benchmark.
fn group(bench: &Benchmark) -> &'static str {
    bench.info.id.split('.').next().unwrap_or_default()
}

/// Whether a value takes no long time to set up.
fn is_small(param: &Param, text: &str) -> bool {
    let most = if param.kind.is_size() || param.kind == ParamKind::Time { SMALL } else { FEW };
    param.parse(text).is_ok_and(|value| !matches!(value, Value::Int(n) if n > most))
}

/// The usual value of a parameter, or a smaller one where that takes long.
fn small(param: &Param) -> Option<&'static str> {
    let is_small = |text: &&str| is_small(param, text);
    let usual = param.usual().filter(is_small);
    usual.or_else(|| param.values(Tier::Full).into_iter().rfind(is_small)).or(param.usual())
}

/// The other values that are tried: all words, and of the small numbers the greatest, or the least
/// where that is the usual one.
fn others(param: &Param) -> Vec<&'static str> {
    let usual = small(param);
    match param.kind {
        ParamKind::Text => Vec::new(),
        ParamKind::Word(words) => words.iter().copied().filter(|text| Some(*text) != usual).collect(),
        _ => {
            let mut all = param.values(Tier::Full).into_iter();
            let is_tried = |text: &&str| {
                Some(*text) != usual && is_small(param, text) && matches!(param.parse(text), Ok(Value::Int(_)))
            };
            all.rfind(is_tried).into_iter().collect()
        }
    }
}

/// Calls that the harness and the libraries make as it comes: they give times, sizes of directories
/// or CPUs, or close what was opened.
const CHANCE: [&str; 15] = [
    "getrusage(",
    "getrandom(",
    "times(",
    "brk(",
    "close(",
    "sched_getaffinity(",
    "sched_setaffinity(",
    "statfs(",
    "fstatfs(",
    "getdents64(",
    "restart_syscall(",
    "clock_gettime(CLOCK_MONOTONIC,",
    "clock_gettime(CLOCK_PROCESS_CPUTIME_ID,",
    "clock_gettime(CLOCK_THREAD_CPUTIME_ID,",
    "readlink(",
];

/// Whether a line is of the benchmark: not the job or the result, whose length has the value, and
/// not a time.
fn is_own(call: &str) -> bool {
    !call.contains("\"{")
        && !call.starts_with("+++")
        && !call.contains("F_GETFL")
        && !CHANCE.iter().any(|of| call.starts_with(of))
        && !is_end(call)
        && call != trace::FAULTS
}

/// Whether this read found the end of a file: the room that was left for more says how long the
/// file is, and that of the load has a digit more on a busy machine.
fn is_end(call: &str) -> bool {
    call.starts_with("read(") && call.ends_with(" = 0")
}

/// Whether this call reads.
fn reads(call: &str) -> bool {
    ["read", "pread", "recv"].iter().any(|of| call.starts_with(of))
}

/// A call without its result, and without what differs between two runs of the same: addresses,
/// process ids, ports, points in time, what was read, the test's directory.
fn plain(call: &str, dir: &str, pids: &BTreeSet<&str>) -> String {
    if let Some(signal) = call.strip_prefix("--- ") {
        return signal.split(' ').next().unwrap_or_default().to_owned();
    }
    if call.starts_with("clock_gettime(") || call.starts_with("wait4(") {
        return call.split(',').next().unwrap_or_default().to_owned();
    }
    let call = call.replace(dir, "DIR/");
    let call = call.rsplit_once(" = ").map_or(call.as_str(), |(call, _)| call).trim_end();
    // What was read, from another process or a file of the kernel.
    let call = if reads(call) { call.split('"').step_by(2).collect::<String>() } else { call.to_owned() };
    let until = call.contains("TIMER_ABSTIME");
    let (mut out, mut word) = (String::new(), String::new());
    for c in call.chars().chain([' ']) {
        if c.is_ascii_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        let after = |of: &str| out.ends_with(of);
        // Objects of System V have a number for each use.
        let of_ipc = ["msg", "sem", "shm"].iter().any(|of| out.starts_with(of)) && !out.contains(',');
        let moves = of_ipc
            || word.starts_with("0x")
            || pids.contains(word.as_str())
            || word.starts_with(|c: char| c.is_ascii_digit())
                && (["htons(", "_pid=", "_uid="].iter().any(|of| after(of)) || until && after("sec="));
        out.push_str(if moves { "N" } else { &word });
        word.clear();
        out.push(c);
    }
    out
}

/// Whether the other value shows in traces: in all of the usual value there is something that it
/// lacks, or in all of its own something that no usual one has. What differs by chance is in some
/// of them only.
fn shows(usual: &[Traced], first: &Traced, other: &Trial) -> Option<bool> {
    let (usual, first): (Vec<&Calls>, _) = (usual.iter().map(|of| &of.calls).collect(), &first.calls);
    let lacks = |line: &String| usual[1..].iter().all(|more| more.contains_key(line)) && !first.contains_key(line);
    if usual[0].keys().any(lacks) {
        return Some(true);
    }
    let second = other.trace(LIMITS_MS[1])?.calls;
    Some(first.keys().any(|line| second.contains_key(line) && !usual.iter().any(|of| of.contains_key(line))))
}

#[test]
fn every_value_leaves_a_trace() {
    let benches = groma_benches::all().into_iter().filter(|bench| !ELSEWHERE.contains(&group(bench)));
    let place = Place::new();
    let clock = trace::with_a_visible_clock(&place);
    let options = clock.as_deref().unwrap_or_default();
    let usual = Mutex::new(BTreeMap::new());
    eight_at_a_time(benches.clone().collect(), |bench: &'static Benchmark| {
        let traces: Option<Vec<_>> =
            LIMITS_MS.map(|limit| Trial { bench, other: None, options }.trace(limit)).into_iter().collect();
        usual.lock().expect("no panic holds it").insert(bench.info.id, traces);
    });
    let usual = usual.into_inner().expect("no panic holds it");
    let table = calls::Table::of_this_machine(&usual, clock.is_some());
    for bench in benches.clone() {
        let trial = Trial { bench, other: None, options };
        usual[bench.info.id].iter().for_each(|traces| table.of_usual(&trial, traces));
    }
    let others = benches.flat_map(|bench| {
        let params = bench.info.params.iter();
        let known = |param: &&Param| SILENT.iter().any(|(id, name, _)| (*id, *name) == (bench.info.id, param.name));
        let values = params
            .filter(move |param| !known(param))
            .flat_map(|param| others(param).into_iter().map(|text| (param.name, text)));
        values.map(|other| Trial { bench, other: Some(other), options })
    });
    let silent = Mutex::new(Vec::new());
    eight_at_a_time(others.collect(), |trial: Trial| {
        let id = trial.bench.info.id;
        let Some(usual) = &usual[id] else { return };
        let Some(first) = trial.trace(LIMITS_MS[0]) else { return };
        table.of_value(&trial, usual, &first);
        if shows(usual, &first, &trial) == Some(false) {
            silent.lock().expect("no panic holds it").push(format!("{id} {:?}: no trace", trial.other));
        }
    });
    let mut wrong = silent.into_inner().expect("no panic holds it");
    wrong.extend(table.differences());
    assert!(wrong.is_empty(), "{wrong:#?}");
}
