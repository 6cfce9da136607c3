//! Jobs and results: what the supervisor sends to a worker for a round, and the answer.

use crate::{CoreProbe, CoreRates, CpuLimit, Fact, Params, Phases, Placement, Proof, Remark, Series, State};

/// The key of a round's fact: its wall time including start and end of the worker, in milliseconds.
pub const ROUND_WALL: &str = "round.wall_ms";

/// The key of a round's fact: the part of [`ROUND_WALL`] that no later round repeats (filling the
/// [`RunFile`]), in milliseconds.
pub const ROUND_ONCE: &str = "round.once_ms";

/// What the keys of a run's facts begin with that a worker knows of itself: `process.tracer`.
pub const OF_PROCESS: &str = "process.";
/// What the same facts of a round begin with: `worker.tracer`.
pub const OF_WORKER: &str = "worker.";

/// A file that all rounds of a run share, because writing it takes seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RunFile {
    /// The path by which a worker opens it. It has no name in any directory.
    pub path: String,
    /// How long the round may write to extend it, in nanoseconds.
    pub fill_ns: u64,
}

/// What the members of a worker group are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum WorkerKind {
    /// Forked processes.
    Processes,
    /// Threads of one process.
    Threads,
}

impl WorkerKind {
    /// The word used in records and views.
    pub const fn word(self) -> &'static str {
        match self {
            WorkerKind::Processes => "processes",
            WorkerKind::Threads => "threads",
        }
    }
}

/// The properties of the host's clocks that the preflight measured. Every job contains them, so
/// that no worker measures them again.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Host {
    /// The clock's step: the mode of its increments, in nanoseconds
    /// (docs/methods/timing.md#clock-resolution).
    pub clock_step_ns: f64,
    /// The median cost of a clock read, from consecutive reads, in nanoseconds.
    pub clock_cost_ns: f64,
    /// The scheduler's time slice: the median uninterrupted run of two spinners on one CPU, in
    /// nanoseconds.
    #[cfg_attr(feature = "serde", serde(rename = "quantum_ns"))]
    pub timeslice_ns: f64,
    /// Whether the time slice is the 4 ms fallback instead of a measurement.
    #[cfg_attr(feature = "serde", serde(rename = "quantum_assumed"))]
    pub timeslice_assumed: bool,
    /// The length of an interval of a worker that runs alone, in nanoseconds.
    pub interval_ns: f64,
    /// The largest error of the proportionality check at that length, as a fraction; `None` when it
    /// was not measured.
    pub proportionality: Option<f64>,
    /// Ticks per second of the cycle counter, if it may be used to cross-check the clock.
    pub counter_hz: Option<f64>,
    /// The number of bytes that displace most of the caches that one CPU reaches, for `size=auto`
    /// (docs/methods/memory.md#beyond-the-caches). `None` if it is unknown.
    #[cfg_attr(feature = "serde", serde(default))]
    pub beyond_caches: Option<u64>,
    /// The probe for a shared core (docs/methods/neighbour.md#probe). `None` without a cycle
    /// counter.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub core: Option<CoreProbe>,
}

impl Host {
    /// The largest accepted error of the proportionality check, as a fraction.
    pub const PROPORTIONALITY_LIMIT: f64 = 0.001;

    /// Whether time was shown to be proportional to work at the chosen interval.
    pub fn timing_is_verified(&self) -> bool {
        self.proportionality.is_some_and(|error| error <= Host::PROPORTIONALITY_LIMIT)
    }

    /// All unknown: the value in the preflight's own job.
    pub const UNKNOWN: Host = Host {
        clock_step_ns: 0.0,
        clock_cost_ns: 0.0,
        timeslice_ns: 0.0,
        timeslice_assumed: true,
        interval_ns: 0.0,
        proportionality: None,
        counter_hz: None,
        beyond_caches: None,
        core: None,
    };
}

/// A `groma serve` on another machine, which runs the peers of network benchmarks.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Remote {
    /// The address that it listens on.
    pub address: std::net::SocketAddr,
    /// The token that both sides must have; may be empty.
    pub token: String,
}

impl std::fmt::Debug for Remote {
    /// Without the token, because this may be printed.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Remote({})", self.address)
    }
}

/// Everything that a worker needs for one round of one point.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Job {
    /// The benchmark's id.
    pub id: String,
    /// Its parameters.
    pub params: Params,
    /// Where it runs.
    pub placement: Placement,
    /// The CPUs of `placement`, one for each side or member. Empty: not pinned, except for a single
    /// task, which is pinned to the CPU on which it starts.
    pub cpus: Vec<u32>,
    /// The number of members of the worker group.
    pub workers: u32,
    /// Whether it runs as a worker group: of several members, or of one as the baseline of a
    /// scaling run.
    pub group: bool,
    /// What the members are.
    pub worker_kind: WorkerKind,
    /// The number of the round, from 0.
    pub round: u32,
    /// The seed of all random choices in the round.
    pub seed: u64,
    /// The number of intervals to take.
    pub intervals: u32,
    /// The longest time to spend on sampling after set-up and warm-up, in nanoseconds.
    pub time_limit_ns: u64,
    /// How long the round may wait for a core that nobody shares, in nanoseconds.
    #[cfg_attr(feature = "serde", serde(default))]
    pub wait_ns: u64,
    /// The shortest warm-up, in nanoseconds.
    pub warm_ns: u64,
    /// Iterations per interval, by series, chosen by an earlier round of the same point.
    pub frozen: Vec<(String, u64)>,
    /// The directory in which this round may write.
    #[cfg_attr(feature = "serde", serde(with = "path"))]
    pub work_dir: Option<std::path::PathBuf>,
    /// The file that all rounds share.
    pub run_file: Option<RunFile>,
    /// The machine of the peer, if it is another one.
    pub remote: Option<Remote>,
    /// The results of the preflight.
    pub host: Host,
}

#[cfg(feature = "serde")]
mod path {
    //! A path is written as a string if it is UTF-8, and as a list of bytes if it is not.
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

/// The results of a preflight. Only the preflight's own round contains them.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Preflight {
    /// The part that is copied into every job.
    pub host: Host,
    /// The time lost to other tasks; `None` if no CPU could be observed.
    pub noise: Option<Noise>,
    /// The share of time lost to others on each observed CPU, with its number.
    pub lost: Vec<(u32, f64)>,
    /// The quota of this process's own control groups and what it took meanwhile; `None` without
    /// one.
    #[cfg_attr(feature = "serde", serde(default))]
    pub cpu_limit: Option<CpuLimit>,
}

/// The time that threads spinning on all CPUs at once lost to other tasks
/// (docs/methods/timing.md#host-noise).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Noise {
    /// The share of the time lost in gaps of more than 5 us, from 0 to 1: the mean over CPUs.
    pub lost: f64,
    /// The share on the CPU that lost most.
    pub worst_cpu_lost: f64,
    /// The longest gap, in nanoseconds.
    pub longest_gap_ns: u64,
}

/// The results of a round: one type from the sampler to the store.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct RoundOutput {
    /// The series.
    pub series: Vec<Series>,
    /// The evidence.
    pub proofs: Vec<Proof>,
    /// Facts about the round: resident size at fork, file system, kernel chosen.
    pub facts: Vec<Fact>,
    /// Remarks.
    #[cfg_attr(feature = "serde", serde(rename = "notes"))]
    pub remarks: Vec<Remark>,
    /// The core clock in this round as the frequency probe measured it, in hertz.
    pub core_hz: Option<f64>,
    /// The results of the core probes.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "CoreRates::is_empty"))]
    pub core: CoreRates,
    /// Where the wall time went.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Phases::is_empty"))]
    pub phases: Phases,
    /// Set only in the preflight's round, which is not stored.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub preflight: Option<Box<Preflight>>,
}

impl RoundOutput {
    /// Appends the results of a further measurement of the same round. The faster core clock is
    /// kept, because a disturbed probe shows a slower one.
    pub fn append(&mut self, more: RoundOutput) {
        self.series.extend(more.series);
        self.proofs.extend(more.proofs);
        self.facts.extend(more.facts);
        self.remarks.extend(more.remarks);
        self.core_hz = match (self.core_hz, more.core_hz) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
        self.core.add(&more.core);
        self.phases.append(&more.phases);
        self.preflight = self.preflight.take().or(more.preflight);
    }

    /// Whether the round could not determine an output.
    pub fn is_unresolved(&self) -> bool {
        self.remarks.iter().any(|remark| matches!(remark, Remark::Unresolved { .. }))
    }

    /// The series of that name.
    pub fn series(&self, name: &str) -> Option<&Series> {
        self.series.iter().find(|s| s.name == name)
    }

    /// The value of a fact.
    pub fn fact(&self, key: &str) -> Option<&str> {
        Fact::find(&self.facts, key)
    }

    /// The reason why this output has no value; with the empty name, the reason of all outputs
    /// without their own.
    pub fn unresolved(&self, output: &str) -> Option<&Remark> {
        self.remarks.iter().find(|r| matches!(r, Remark::Unresolved { output: of, .. } if of == output))
    }
}

/// How a round ended, and its results.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(from = "flat::Flat"))]
pub struct RoundResult {
    /// `Ok`, or the kind of failure.
    pub state: State,
    /// The reason, empty for `Ok`.
    pub reason: String,
    /// The process id of the worker.
    pub pid: u32,
    /// The results.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub output: RoundOutput,
    /// Wall time of the round as measured by the supervisor, in nanoseconds.
    pub wall_ns: u64,
}

#[cfg(feature = "serde")]
mod flat {
    //! The form in which a result is read: one struct with the fields of its output. For a
    //! flattened field, serde would buffer every sample first, which took most of the time.
    use super::{CoreRates, Fact, Phases, Preflight, Proof, Remark, RoundOutput, RoundResult, Series, State};

    #[derive(serde::Deserialize)]
    pub(super) struct Flat {
        state: State,
        reason: String,
        pid: u32,
        series: Vec<Series>,
        proofs: Vec<Proof>,
        facts: Vec<Fact>,
        notes: Vec<Remark>,
        core_hz: Option<f64>,
        #[serde(default)]
        core: CoreRates,
        #[serde(default)]
        phases: Phases,
        #[serde(default)]
        preflight: Option<Box<Preflight>>,
        wall_ns: u64,
    }

    impl From<Flat> for RoundResult {
        fn from(flat: Flat) -> RoundResult {
            let Flat { state, reason, pid, series, proofs, facts, notes, core_hz, core, phases, preflight, wall_ns } =
                flat;
            let output = RoundOutput { series, proofs, facts, remarks: notes, core_hz, core, phases, preflight };
            RoundResult { state, reason, pid, output, wall_ns }
        }
    }
}

impl RoundResult {
    /// A round without results.
    pub fn ended(state: State, reason: impl Into<String>) -> RoundResult {
        RoundResult { state, reason: reason.into(), pid: 0, output: RoundOutput::default(), wall_ns: 0 }
    }

    /// A round that ended `ok` with this output.
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
