//! No benchmark ignores a parameter.
//!
//! A value that is read and then ignored, or replaced by the default, keeps all proofs and reports
//! the cost of something else. Here a worker runs each value of each parameter briefly under
//! `strace`. Its system calls and their arguments must include one that the default value does not
//! make, or lack one that it makes, unless the benchmark's header says why its values leave no
//! trace. `words.rs` checks that the difference is the right one, for values that choose the system
//! call.
//!
//! Benchmarks of instructions and memory are not run, since their values choose code (the tests of
//! the assembly kernels cover it), nor are whole mixes, which take too long. Without `strace`, or
//! where it may not trace, the test prints that and passes.
#![cfg(target_os = "linux")]

use crate::common::{eight_at_a_time, trace};
use crate::words::calls::{self, Says};
use groma_harness::Benchmark;
use groma_harness::model::{Param, ParamKind, Params, Placement, Tier, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

/// Families that are not run.
const SKIPPED: [&str; 4] = ["cpu", "mem", "mix", "selftest"];
/// The size of the files of disks: larger ones take seconds to write.
const DISK_FILE: &str = "8M";
/// How long a round samples.
const LIMIT_MS: u64 = 4;
/// The largest sizes in bytes and times in nanoseconds that are tried, and the largest counts:
/// larger ones take long to set up.
const SMALL: u64 = 1 << 20;
const SMALL_COUNT: u64 = 100;

/// The calls of a round, without what differs between any two rounds.
type Calls = BTreeSet<String>;

/// A value to be traced.
#[derive(Clone, Copy, Debug)]
struct Trial {
    bench: &'static Benchmark,
    /// A parameter and its value; the others, or all if `None`, have their defaults.
    other: Option<(&'static str, &'static str)>,
}

impl Trial {
    /// All parameters.
    fn params(self) -> Option<Params> {
        let value = |param: &Param| {
            let text = match self.other {
                Some((name, text)) if name == param.name => text,
                _ if self.bench.info.family() == "disk" && param.name == "size" => DISK_FILE,
                _ => small(param)?,
            };
            Some((param.name.to_owned(), param.parse(text).ok()?))
        };
        self.bench.info.params.iter().map(value).collect::<Option<_>>().map(Params)
    }

    /// The calls of a new round; `None` where the benchmark cannot run.
    fn trace(self) -> Option<Calls> {
        let two_sides = self.bench.info.placements.contains(&Placement::SameCpu);
        // The same CPU in each round of a benchmark, since its number is in the calls, but not the
        // same for all benchmarks, which would wait for it.
        let cpus = groma_sys::affinity::allowed().expect("CPUs");
        let on = two_sides.then(|| cpus[self.bench.info.id.len() % cpus.len()]);
        let traced = trace::traced(self.bench.info.id, &self.params()?, on, LIMIT_MS, &[])?;
        let pids: BTreeSet<&str> = traced.lines.iter().map(|(pid, _)| pid.as_str()).collect();
        let own = traced.calls().filter(|call| is_own(call));
        Some(own.map(|call| plain(call, &traced.dir, &pids)).collect())
    }
}

/// Whether a value is quick to set up.
fn is_small(param: &Param, text: &str) -> bool {
    let most = if param.kind.is_size() || param.kind == ParamKind::Time { SMALL } else { SMALL_COUNT };
    param.parse(text).is_ok_and(|value| !matches!(value, Value::Int(n) if n > most))
}

/// The default value of a parameter, or a smaller one where it takes long to set up.
fn small(param: &Param) -> Option<&'static str> {
    let is_small = |text: &&str| is_small(param, text);
    let usual = param.usual().filter(is_small);
    usual.or_else(|| param.values(Tier::Full).into_iter().rfind(is_small)).or(param.usual())
}

/// The other values that are tried: all words, or the largest of the small numbers.
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

/// Calls of the harness and the libraries that come and go by chance.
const CHANCE: [&str; 14] = [
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
    "readlink(",
    "clock_gettime(CLOCK_PROCESS_CPUTIME_ID,",
    "clock_gettime(CLOCK_THREAD_CPUTIME_ID,",
];

/// Whether a line belongs to the benchmark. The job and the result do not: they contain the value,
/// and their lengths depend on it.
fn is_own(call: &str) -> bool {
    !call.contains("\"{")
        && !call.starts_with("+++")
        && !call.contains("F_GETFL")
        && !CHANCE.iter().any(|of| call.starts_with(of))
        && !is_end(call)
}

/// Whether this read found the end of a file. The buffer space that was left tells the length of
/// the file, and /proc/loadavg has one more digit on a busy machine.
fn is_end(call: &str) -> bool {
    call.starts_with("read(") && call.ends_with(" = 0")
}

fn reads(call: &str) -> bool {
    ["read", "pread", "recv"].iter().any(|of| call.starts_with(of))
}

/// A call without its result and whatever differs between two rounds of the same value: addresses,
/// process ids, ports, deadlines, data that was read, the test's directory.
fn plain(call: &str, dir: &str, pids: &BTreeSet<&str>) -> String {
    if let Some(signal) = call.strip_prefix("--- ") {
        return signal.split(' ').next().unwrap_or_default().to_owned();
    }
    if call.starts_with("clock_gettime(") || call.starts_with("wait4(") {
        return call.split(',').next().unwrap_or_default().to_owned();
    }
    let call = call.replace(dir, "DIR/");
    let call = call.rsplit_once(" = ").map_or(call.as_str(), |(call, _)| call).trim_end();
    // Data comes from another process or a file of the kernel. It may contain quotes.
    let call = match reads(call) {
        true => call.replace(r"\\", "").replace(r#"\""#, "").split('"').step_by(2).collect(),
        false => call.to_owned(),
    };
    let until = call.contains("TIMER_ABSTIME");
    let (mut out, mut word) = (String::new(), String::new());
    for c in call.chars().chain([' ']) {
        if c.is_ascii_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        let after = |of: &str| out.ends_with(of);
        // Each new object of System V has another number.
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

/// Whether the other value shows in its calls: it lacks a call that all rounds of the default value
/// make, or two of its rounds make one that no such round makes. A call in only some of the rounds
/// comes by chance. Some more rounds are tried: on a busy machine a disk makes few calls, and a
/// waiter may not sleep.
fn shows(usual: &[Calls], other: Trial) -> Option<bool> {
    for _ in 0..5 {
        let first = other.trace()?;
        if usual[0].iter().any(|call| usual.iter().all(|of| of.contains(call)) && !first.contains(call)) {
            return Some(true);
        }
        let second = other.trace()?;
        if first.intersection(&second).any(|call| !usual.iter().any(|of| of.contains(call))) {
            return Some(true);
        }
    }
    Some(false)
}

#[test]
fn every_value_leaves_a_trace() {
    let benches = || groma_benches::all().into_iter().filter(|bench| !SKIPPED.contains(&bench.info.family()));
    let without_a_trace: BTreeSet<(&str, String)> = calls::all()
        .into_iter()
        .filter_map(|item| if let Says::Silent(names) = item.says { Some((item.bench.info.id, names)) } else { None })
        .flat_map(|(id, names)| names.into_iter().map(move |name| (id, name)))
        .collect();
    let is_silent = |id: &'static str, name: &str| without_a_trace.contains(&(id, name.to_owned()));
    let others: Vec<Trial> = benches()
        .flat_map(|bench| {
            let params = bench.info.params.iter().filter(|param| !is_silent(bench.info.id, param.name));
            let values = params.flat_map(|param| others(param).into_iter().map(|text| (param.name, text)));
            values.map(move |other| Trial { bench, other: Some(other) })
        })
        .collect();
    // One without another value need not be traced.
    let compared = |bench: &&'static Benchmark| others.iter().any(|trial| trial.bench.info.id == bench.info.id);
    let usual = Mutex::new(BTreeMap::new());
    eight_at_a_time(benches().filter(compared).collect(), |bench: &'static Benchmark| {
        let trial = Trial { bench, other: None };
        let rounds: Option<Vec<Calls>> = (0..3).map(|_| trial.trace()).collect();
        usual.lock().expect("no panic holds it").insert(bench.info.id, rounds);
    });
    let usual = usual.into_inner().expect("no panic holds it");
    let silent = Mutex::new(Vec::new());
    eight_at_a_time(others, |trial: Trial| {
        let Some(usual) = &usual[trial.bench.info.id] else { return };
        if shows(usual, trial) == Some(false) {
            let (info, (name, value)) = (&trial.bench.info, trial.other.expect("another value"));
            let add = format!("or add to **Calls:** of {} the line '//! - no trace of `{name}`: WHY'", info.about.file);
            silent.lock().expect("no panic holds it").push(format!("{} {name}={value}: use it, {add}", info.id));
        }
    });
    let silent = silent.into_inner().expect("no panic holds it");
    assert!(silent.is_empty(), "no trace: {silent:#?}");
}
