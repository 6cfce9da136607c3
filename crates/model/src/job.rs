//! One round of one metric, as the supervisor orders it and as the worker answers.

use crate::{Fact, Params, Placement, Proof, Series, State};

/// What the members of a worker group are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum WorkerKind {
    /// Forked processes.
    Processes,
    /// Threads of one process.
    Threads,
}

/// What a preflight found out about the host's instruments, given to every job so that no worker measures it again.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Host {
    /// The clock's step: the mode of its increments, in nanoseconds (harness-methods.md 3.2).
    pub clock_step_ns: f64,
    /// The median cost of two clock reads back to back, in nanoseconds.
    pub clock_cost_ns: f64,
    /// The scheduler's quantum: the median uninterrupted run of two spinners on one CPU, in nanoseconds.
    #[cfg_attr(feature = "serde", serde(rename = "quantum_ns"))]
    pub timeslice_ns: f64,
    /// Whether the quantum is the 4 ms fallback instead of a measurement.
    #[cfg_attr(feature = "serde", serde(rename = "quantum_assumed"))]
    pub timeslice_assumed: bool,
    /// The chosen length of a single worker's interval, in nanoseconds.
    pub interval_ns: f64,
    /// The largest error of the proportionality check at that length, as a fraction; `None` when it was not measured.
    pub proportionality: Option<f64>,
    /// Ticks per second of the cycle counter when it may be used to cross-check the clock.
    pub counter_hz: Option<f64>,
}

impl Host {
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
pub struct Job {
    /// The benchmark's id.
    pub id: String,
    /// Its chosen parameters.
    pub params: Params,
    /// Where it runs.
    pub placement: Placement,
    /// The CPUs that `placement` stands for here, one a side or member; empty: not pinned, or pinned where it starts.
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
    pub work_dir: Option<std::path::PathBuf>,
    /// Who the other side is when it is on another machine.
    pub remote: Option<Remote>,
    /// What the preflight found.
    pub host: Host,
}

/// How a round ended and what it brought.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct JobResult {
    /// `Ok`, or why there is nothing.
    pub state: State,
    /// The reason, empty for `Ok`.
    pub reason: String,
    /// The process that did it.
    pub pid: u32,
    /// What was sampled.
    pub series: Vec<Series>,
    /// The evidence.
    pub proofs: Vec<Proof>,
    /// Facts about the round: resident size at fork, file system, kernel chosen.
    pub facts: Vec<Fact>,
    /// Remarks: `unsteady`, `short-interval`, a retry.
    pub notes: Vec<String>,
    /// The core's clock as the frequency probe saw it in this round, in hertz.
    pub core_hz: Option<f64>,
    /// Wall time of the round as the supervisor saw it, in nanoseconds.
    pub wall_ns: u64,
}

impl JobResult {
    /// A round that brought nothing but its end.
    pub fn ended(state: State, reason: impl Into<String>) -> JobResult {
        JobResult {
            state,
            reason: reason.into(),
            pid: 0,
            series: Vec::new(),
            proofs: Vec::new(),
            facts: Vec::new(),
            notes: Vec::new(),
            core_hz: None,
            wall_ns: 0,
        }
    }

    /// The series of that name.
    pub fn series(&self, name: &str) -> Option<&Series> {
        self.series.iter().find(|s| s.name == name)
    }

    /// The value of a fact.
    pub fn fact(&self, key: &str) -> Option<&str> {
        Fact::find(&self.facts, key)
    }
}
