//! One round of one metric, as the supervisor orders it and as the worker answers.

use crate::{Fact, Params, Placement, Proof, Remark, Series, State};

/// The fact of a round that says how long it took, the start and end of its worker included, in
/// milliseconds.
pub const ROUND_WALL: &str = "round.wall_ms";

/// What the members of a worker group are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum WorkerKind {
    /// Forked processes.
    Processes,
    /// Threads of one process.
    Threads,
}

/// What a preflight found out about the host's instruments, given to every job so that no worker
/// measures it again.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Host {
    /// The clock's step: the mode of its increments, in nanoseconds
    /// (docs/methods/timing.md#clock-resolution).
    pub clock_step_ns: f64,
    /// The median cost of two clock reads back to back, in nanoseconds.
    pub clock_cost_ns: f64,
    /// The scheduler's time slice: the median uninterrupted run of two spinners on one CPU, in
    /// nanoseconds.
    #[cfg_attr(feature = "serde", serde(rename = "quantum_ns"))]
    pub timeslice_ns: f64,
    /// Whether the time slice is the 4 ms fallback instead of a measurement.
    #[cfg_attr(feature = "serde", serde(rename = "quantum_assumed"))]
    pub timeslice_assumed: bool,
    /// The chosen length of a single worker's interval, in nanoseconds.
    pub interval_ns: f64,
    /// The largest error of the proportionality check at that length, as a fraction; `None` when it
    /// was not measured.
    pub proportionality: Option<f64>,
    /// Ticks per second of the cycle counter when it may be used to cross-check the clock.
    pub counter_hz: Option<f64>,
}

impl Host {
    /// The error of the proportionality check that is accepted, as a fraction.
    pub const PROPORTIONALITY_LIMIT: f64 = 0.001;

    /// Whether time was shown to be proportional to work at the chosen interval.
    pub fn timing_is_verified(&self) -> bool {
        self.proportionality.is_some_and(|error| error <= Host::PROPORTIONALITY_LIMIT)
    }

    /// Nothing is known yet: what the preflight's own job is given.
    pub const UNKNOWN: Host = Host {
        clock_step_ns: 0.0,
        clock_cost_ns: 0.0,
        timeslice_ns: 0.0,
        timeslice_assumed: true,
        interval_ns: 0.0,
        proportionality: None,
        counter_hz: None,
    };
}

/// A `groma serve` on another machine, as the other side of network benchmarks.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Remote {
    /// Where it listens.
    pub address: std::net::SocketAddr,
    /// What it wants to hear before it does anything; may be empty.
    pub token: String,
}

impl std::fmt::Debug for Remote {
    /// Without the token: this may be printed.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Remote({})", self.address)
    }
}

/// One round of one metric: everything a worker needs to know.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Job {
    /// The benchmark's id.
    pub id: String,
    /// Its chosen parameters.
    pub params: Params,
    /// Where it runs.
    pub placement: Placement,
    /// The CPUs that `placement` stands for here, one a side or member; empty: not pinned, or
    /// pinned where it starts.
    pub cpus: Vec<u32>,
    /// Members of the worker group.
    pub workers: u32,
    /// What the members are.
    pub worker_kind: WorkerKind,
    /// Which round this is, from 0.
    pub round: u32,
    /// The seed of everything random in the round.
    pub seed: u64,
    /// Intervals wanted.
    pub intervals: u32,
    /// The longest time to spend on sampling after set-up and warm-up, in nanoseconds.
    pub time_limit_ns: u64,
    /// The shortest warm-up, in nanoseconds.
    pub warm_ns: u64,
    /// Iterations per interval found by an earlier round of the same metric, by series.
    pub frozen: Vec<(String, u64)>,
    /// The private directory that this round may write in.
    #[cfg_attr(feature = "serde", serde(with = "path"))]
    pub work_dir: Option<std::path::PathBuf>,
    /// Who the other side is when it is on another machine.
    pub remote: Option<Remote>,
    /// What the preflight found.
    pub host: Host,
}

#[cfg(feature = "serde")]
mod path {
    //! A path is a string where it is UTF-8, and the list of its bytes where it is not.
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::path::PathBuf;

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Path {
        Text(String),
        Bytes(Vec<u8>),
    }

    pub(super) fn serialize<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
        let path = path.as_ref().map(|path| match path.to_str() {
            Some(text) => Path::Text(text.to_owned()),
            None => Path::Bytes(path.as_os_str().as_bytes().to_vec()),
        });
        path.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PathBuf>, D::Error> {
        Ok(Option::<Path>::deserialize(deserializer)?.map(|path| match path {
            Path::Text(text) => PathBuf::from(text),
            Path::Bytes(bytes) => PathBuf::from(OsString::from_vec(bytes)),
        }))
    }
}

/// What a preflight found. Only the preflight's own round has one.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Preflight {
    /// What every job is given.
    pub host: Host,
    /// How much of the time went to others; `None` where no CPU could be watched.
    pub noise: Option<Noise>,
}

/// How much of the time others took from tasks that spun on all CPUs at once.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Noise {
    /// The share of the time lost in gaps of more than 5 us, from 0 to 1: the mean over CPUs.
    pub lost: f64,
    /// The same of the CPU that lost most.
    pub worst_cpu_lost: f64,
    /// The longest gap, in nanoseconds.
    pub longest_gap_ns: u64,
}

/// What a round brought beside its end: the one type from the sampler to the store.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RoundOutput {
    /// What was sampled or stated.
    pub series: Vec<Series>,
    /// The evidence.
    pub proofs: Vec<Proof>,
    /// Facts about the round: resident size at fork, file system, kernel chosen.
    pub facts: Vec<Fact>,
    /// Remarks.
    #[cfg_attr(feature = "serde", serde(rename = "notes"))]
    pub remarks: Vec<Remark>,
    /// The core's clock as the frequency probe saw it in this round, in hertz.
    pub core_hz: Option<f64>,
    /// What the round found if it was the preflight's; no such round is stored.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub preflight: Option<Preflight>,
}

impl RoundOutput {
    /// Adds what a further measurement of the same round brought. The faster core clock counts: a
    /// probe that was disturbed shows a slower one.
    pub fn append(&mut self, more: RoundOutput) {
        self.series.extend(more.series);
        self.proofs.extend(more.proofs);
        self.facts.extend(more.facts);
        self.remarks.extend(more.remarks);
        self.core_hz = match (self.core_hz, more.core_hz) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
        self.preflight = self.preflight.or(more.preflight);
    }

    /// The series of that name.
    pub fn series(&self, name: &str) -> Option<&Series> {
        self.series.iter().find(|s| s.name == name)
    }

    /// The value of a fact.
    pub fn fact(&self, key: &str) -> Option<&str> {
        Fact::find(&self.facts, key)
    }

    /// Why this very output has no value; of the empty name, why none has that gives no reason of
    /// its own.
    pub fn unresolved(&self, output: &str) -> Option<&Remark> {
        self.remarks.iter().find(|r| matches!(r, Remark::Unresolved { output: of, .. } if of == output))
    }
}

/// How a round ended and what it brought.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RoundResult {
    /// `Ok`, or why there is nothing.
    pub state: State,
    /// The reason, empty for `Ok`.
    pub reason: String,
    /// The process that did it.
    pub pid: u32,
    /// What it brought.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub output: RoundOutput,
    /// Wall time of the round as the supervisor saw it, in nanoseconds.
    pub wall_ns: u64,
}

impl RoundResult {
    /// A round that brought nothing but its end.
    pub fn ended(state: State, reason: impl Into<String>) -> RoundResult {
        RoundResult { state, reason: reason.into(), pid: 0, output: RoundOutput::default(), wall_ns: 0 }
    }

    /// A round that ended well with this output.
    pub fn ok(output: RoundOutput) -> RoundResult {
        RoundResult { output, ..RoundResult::ended(State::Ok, "") }
    }

    /// The series of that name.
    pub fn series(&self, name: &str) -> Option<&Series> {
        self.output.series(name)
    }

    /// The value of a fact.
    pub fn fact(&self, key: &str) -> Option<&str> {
        self.output.fact(key)
    }
}
